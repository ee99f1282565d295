"""CREATE INDEX over an llm call, which DuckDB refuses by naming a function that the user has not written."""

from __future__ import annotations

import re
from collections.abc import Callable

from relserve_duckdb.text.call_limits import CALLED
from relserve_duckdb.text.lexical import LEAD, NAME

_PLACE = rf"(?:{NAME}|\w++)"
_INDEX = re.compile(LEAD + rf"create\s++(?:unique\s++)?+index\b.*?\bon\s++{_PLACE}(?:\.{_PLACE})*+(.*)")
_WORD = re.compile(rf"({_PLACE})\s*+(\()?")  # reads each character once
_OURS = re.compile(rf"(?i)\"?(?:{'|'.join(CALLED)})\"?")

REFUSED = (
    "an index cannot call an llm function, for it would ask a model on every INSERT; keep the answers in a "
    "column and make the index over that: CREATE TABLE answered AS SELECT *, llm(..) AS answer FROM ..; "
    "CREATE INDEX .. ON answered (answer)"
)


def indexes_calls(text: str, calling: Callable[[str], str]) -> bool:
    """Whether a text is CREATE INDEX with an llm call in it.

    Args:
        calling: gives the definitions of the macros in a text that call, "" for none.
    """
    match = _INDEX.match(text)
    words = _WORD.findall(match[1]) if match else []
    called = [name for name, bracket in words if bracket]  # no view or column of such a name
    return any(map(_OURS.fullmatch, called)) or (bool(called) and calling(" ".join(called)) != "")
