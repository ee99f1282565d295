"""Which model writes candidates, and whether it writes SQL or points with handles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from relserve.engines.registry import is_local
from relserve.errors import UsageError
from relserve.session.session import Session
from relserve.text2sql.options import Text2SqlOptions

POINTER_MODEL = "tiny-sql"
MARK = "text2sql.json"  # in the folder of a model that writes handles


def model_of(session: Session, options: Text2SqlOptions) -> str | None:
    """The model to ask: the one named; in the place of the embedded one for text that for SQL."""
    if options.model is None and session.find_engine(None).model == "tiny":
        return POINTER_MODEL
    return options.model


def reads_question_alone(model: str) -> bool:
    """Whether a model, or the one that writes SQL in its place, takes neither evidence nor examples."""
    return model == "tiny" or writes_handles(model)


def check_pointing(options: Text2SqlOptions, evidence: Sequence[str | None]) -> None:
    """Refuse what a model that writes handles cannot read.

    Raises:
        UsageError: evidence or examples are given.
    """
    given = "evidence" if any(evidence) else "examples" if options.examples is not None else None
    if given is not None:
        raise UsageError(
            f"{options.model or POINTER_MODEL} reads the question alone, and takes no {given}; name another "
            "model with model := '..'"
        )


def takes_grammar(model: str, options: Text2SqlOptions) -> bool:
    """Whether SQL is decoded under a grammar: as the options say, else where vLLM here runs the model."""
    return is_local(model) if options.grammar is None else options.grammar


def writes_handles(model: str) -> bool:
    """Whether a model answers with handles of columns, tables and values, which code turns into SQL."""
    if model == POINTER_MODEL:
        return True
    try:
        found = json.loads((Path(model).expanduser() / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("writes") == "handles"
