"""CREATE INDEX over an llm call, which DuckDB refuses by naming a function that the user has not written."""

from __future__ import annotations

import re

from relserve_duckdb.text.call_limits import CALLED
from relserve_duckdb.text.lexical import LEAD

_INDEX = re.compile(LEAD + r"create\s++(?:unique\s++)?+index\b")
_CALL = re.compile(rf"(?i)\b(?:{'|'.join(CALLED)})\s*+\(")

REFUSED = (
    "an index cannot call an llm function, for it would ask a model on every INSERT; keep the answers in a "
    "column and make the index over that: CREATE TABLE answered AS SELECT *, llm(..) AS answer FROM ..; "
    "CREATE INDEX .. ON answered (answer)"
)


def indexes_calls(text: str, definitions: str) -> bool:
    """Whether a text is CREATE INDEX with an llm call in it.

    Args:
        definitions: of the macros in the text that call.
    """
    return _INDEX.match(text) is not None and (bool(definitions) or _CALL.search(text) is not None)
