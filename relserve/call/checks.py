"""Checks of options' values: each gives the value, or an OptionError that says what is allowed."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from relserve.errors import OptionError

_NO_FIELD = re.compile("[\0\ud800-\udfff]")  # DuckDB ends a name at the first, and takes none of the others
_PLAIN_NAME = re.compile(r"\w[\w.-]{0,63}+", re.ASCII)


def whole(low: int, high: int) -> Callable[[str, Any], int]:
    """A check that takes whole numbers from `low` to `high`."""

    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value % 1 != 0:
            raise OptionError(f"{name} must be a whole number, not {value!r}")
        if not low <= value <= high:
            raise OptionError(f"{name} must be from {low} to {high}, not {value}")
        return int(value)

    return check


def number(low: float, high: float) -> Callable[[str, Any], float]:
    """A check that takes numbers from `low` to `high`."""

    def check(name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise OptionError(f"{name} must be a number, not {value!r}")
        if not low <= value <= high:
            raise OptionError(f"{name} must be from {low:g} to {high:g}, not {value}")
        return float(value)

    return check


def one_of(values: Sequence[str], told: str) -> Callable[[str, Any], str]:
    """A check that takes these texts; `told`: what they are, in words."""

    def check(name: str, value: Any) -> str:
        if value not in values:
            raise OptionError(f"{name} must be {told}, not {value!r}")
        return str(value)

    return check


def text(name: str, value: Any) -> str:
    """A text of which something is seen."""
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"{name} must be a text that is not empty, not {value!r}")
    return value


def plain_name(name: str, value: Any) -> str:
    """A name that a file may have on any system."""
    if not isinstance(value, str) or not _PLAIN_NAME.fullmatch(value):
        raise OptionError(
            f"{name} must be a name of letters, digits, _, - and . such as 'praise-2', not {value!r}"
        )
    return value


def is_field_name(text: str) -> bool:
    """Whether a field of a STRUCT can have this name as it is."""
    return bool(text.strip()) and not _NO_FIELD.search(text)


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Texts that are each there once; they may be white space."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, (list, tuple)) or not values:
        raise OptionError(f"{name} must be a list of texts that is not empty, e.g. ['yes', 'no']")
    for v in values:
        if not isinstance(v, str) or not v:
            raise OptionError(f"{name} holds {v!r}; each must be a text that is not empty")
    twice = [v for v, count in Counter(values).items() if count > 1]
    if twice:
        raise OptionError(f"{name} holds {min(twice)!r} more than once; each must be there once")
    return tuple(values)


def truth(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise OptionError(f"{name} must be true or false, not {value!r}")
    return value
