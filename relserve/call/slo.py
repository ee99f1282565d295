"""Limits on the time of a call's tokens, given as they are or by the name of a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from relserve.call.durations import seconds_of
from relserve.errors import OptionError, UsageError
from relserve.settings import load

EXAMPLE = "{'ttft': '1 s', 'tpot': '50 ms'}"
_FIELDS = ("ttft", "tpot")


class Slo(NamedTuple):
    """Service level objectives of each row, in seconds; None: any time.

    Attributes:
        ttft_s: the longest time until the first token (TTFT).
        tpot_s: the longest mean time between the tokens after that (TPOT).
        name: of the class that has them; "" for none.
    """

    ttft_s: float | None = None
    tpot_s: float | None = None
    name: str = ""


def slo_of(name: str, value: Any) -> Slo:
    """The limits that a value means.

    Args:
        name: of what it is given for.
        value: the name of a class of `classes`, or a mapping such as `EXAMPLE`.

    Raises:
        OptionError: there is no such class; or a limit is none, or not from 0.001 s to 7 days.
    """
    if isinstance(value, Slo):
        return value
    if isinstance(value, Mapping):
        return _read(name, value)
    if not isinstance(value, str):
        raise OptionError(f"{name} must be the name of a class, or limits such as {EXAMPLE}, not {value!r}")
    known = classes()
    if value not in known:
        there = f"there are: {', '.join(sorted(known))}" if known else "there are none"
        raise OptionError(
            f"{name}: no class {value!r}; {there}. RELSERVE_SLO_CLASSES defines them, as in "
            f'{{"interactive": {{"ttft": "1 s", "tpot": "50 ms"}}}}; or give limits such as {EXAMPLE}'
        )
    return known[value]


def classes() -> dict[str, Slo]:
    """The classes of the settings, by name.

    Raises:
        UsageError: a class has no limits that can be.
    """
    found = {}
    for name, limits in load().slo_classes.items():
        if not isinstance(limits, Mapping):
            raise UsageError(f"RELSERVE_SLO_CLASSES: {name!r} is {limits!r}, not limits such as {EXAMPLE}")
        try:
            found[name] = _read(f"RELSERVE_SLO_CLASSES, {name!r}:", limits)._replace(name=name)
        except OptionError as error:
            raise UsageError(str(error)) from None
    return found


def _read(name: str, limits: Mapping[str, Any]) -> Slo:
    for field in limits:
        if field not in _FIELDS:
            raise OptionError(f"{name} has no limit {field!r}; there are ttft and tpot, as in {EXAMPLE}")
    given = {f: seconds_of(f"{name} {f}", v) for f, v in limits.items() if v is not None}
    if not given:
        raise OptionError(f"{name} has no limit; give ttft, tpot or both, as in {EXAMPLE}")
    return Slo(given.get("ttft"), given.get("tpot"))
