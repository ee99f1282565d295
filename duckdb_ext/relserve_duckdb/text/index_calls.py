"""CREATE INDEX over an llm call, which DuckDB refuses by naming a function that the user has not written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from sqlglot.errors import SqlglotError

from relserve_duckdb.text.call_limits import CALLED
from relserve_duckdb.text.lexical import BLANKS, LEAD
from relserve_duckdb.text.tokens import function_names, tokens_of

_INDEX = re.compile(LEAD + rf"create{BLANKS}(?:unique{BLANKS})?+index\b")

REFUSED = (
    "an index cannot call an llm function, for it would ask a model on every INSERT; keep the answers in a "
    "column and make the index over that: CREATE TABLE answered AS SELECT *, llm(..) AS answer FROM ..; "
    "CREATE INDEX .. ON answered (answer)"
)


def indexes_calls(text: str, macros: Callable[[], Collection[str]]) -> bool:
    """Whether a text is CREATE INDEX with an llm call in it.

    Args:
        macros: gives the names of those that call, in small letters.
    """
    if _INDEX.match(text) is None:
        return False
    try:
        _, *called = function_names(tokens_of(text))  # the first one is the table's, or the index's method
    except (SqlglotError, ValueError):
        return False
    return not {*CALLED, *macros()}.isdisjoint(called)
