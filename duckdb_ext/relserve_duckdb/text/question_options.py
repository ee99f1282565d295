"""The options of text2sql() and text2sql_query() by the names that they have in SQL and Python."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from relserve.errors import OptionError
from relserve.text2sql.options import OPTIONS, Text2SqlOptions

_FIELDS = {"deadline": "deadline_s"}
_NAMES = {field: name for name, field in _FIELDS.items()}
NAMES = tuple(_NAMES.get(name, name) for name in OPTIONS)
ROW_NAMES = (*NAMES, "on_error")  # of text2sql_query()


def options_of(function: str, given: Mapping[str, Any]) -> Text2SqlOptions:
    """The checked options of a call; None counts as not given.

    Raises:
        OptionError: unknown, of the wrong type, or out of range.
    """
    for name in given:
        check_name(function, name, NAMES)
    return Text2SqlOptions(
        **{_FIELDS.get(name, name): value for name, value in given.items() if value is not None}
    )


def check_name(function: str, name: str, names: tuple[str, ...]) -> None:
    """Raise OptionError for a name that is none of an option."""
    if name not in names:
        near = get_close_matches(name, names, 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise OptionError(f"{function}() has no option {name!r}.{meant} It takes: {', '.join(names)}")
