"""What admission is told of a request, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite, isnan
from typing import Any, NamedTuple, Protocol

from relserve.errors import OptionError

LONGEST_S = 7 * 24 * 3600.0


class AdmissionRequest(NamedTuple):
    """One request, or one relQuery where its rows start together.

    Attributes:
        slo_class: the name of its class of limits.
        user: whose share it counts against.
        arrival_s, deadline_s: by the caller's clock; a deadline of infinity is none.
        tokens: that it is expected to say, or may say at most; at least one.
        kind: of requests that take about as much work for a token as it does; "": those of its class.
    """

    request_id: str
    slo_class: str
    user: str
    arrival_s: float
    deadline_s: float
    tokens: float
    kind: str = ""

    @property
    def group(self) -> str:
        """By which is learnt what requests take."""
        return self.kind or self.slo_class

    def needed_speed(self, now_s: float) -> float:
        """Required speed, tokens a second (SABER, section IV-C); infinite past the deadline."""
        remaining_s = self.deadline_s - now_s
        return self.tokens / remaining_s if remaining_s > 0 else inf


class Admit(NamedTuple):
    """It may start."""

    reason: str


class Wait(NamedTuple):
    """It waits.

    Attributes:
        estimate_s: seconds from now until it will probably have ended.
        keeps_limit: whether that is before its deadline.
    """

    estimate_s: float
    keeps_limit: bool
    reason: str


class Refuse(NamedTuple):
    """It will not run; `reason` is a line for its user.

    Attributes:
        is_over: whether its limit had passed before it came, so that waiting is not why.
    """

    reason: str
    is_over: bool = False


Decision = Admit | Wait | Refuse


class TokenLimits(Protocol):
    """Limits on the time until the first token and on the mean time between the others; None: any time."""

    @property
    def ttft_s(self) -> float | None: ...
    @property
    def tpot_s(self) -> float | None: ...


class SloClasses:
    """Limits by name: seconds from a request's arrival to its end, or on the times of its tokens.

    Raises:
        OptionError: a limit is no positive number of seconds, or longer than a week.
    """

    def __init__(self, limits: Mapping[str, float | TokenLimits]) -> None:
        self._limits = dict(limits)
        for name in self._limits:
            checked_limit(self.limit_s(name, 1.0), f"the limit of the class {name!r}")

    def limit_s(self, name: str, tokens: float) -> float:
        """The limit of a class on a whole request that says so many tokens.

        Infinite where only the first token's time is limited, or only the others': no end follows from it.

        Raises:
            OptionError: there is no such class; the message lists them.
        """
        if name not in self._limits:
            known = ", ".join(sorted(self._limits)) or "none"
            raise OptionError(f"no class of limits {name!r}; there are: {known}")
        limits = self._limits[name]
        if isinstance(limits, (int, float)):
            return limits
        if not hasattr(limits, "ttft_s"):
            return checked_limit(limits, f"the limit of the class {name!r}")
        if limits.ttft_s is None or limits.tpot_s is None:
            return inf
        return limits.ttft_s + limits.tpot_s * max(tokens - 1.0, 0.0)


def checked_limit(limit_s: Any, what: str = "the limit") -> float:
    """A limit as it was given; infinity is none.

    Raises:
        OptionError: it is no positive number of seconds, or longer than a week.
    """
    if isinstance(limit_s, bool) or not isinstance(limit_s, (int, float)) or isnan(limit_s) or limit_s <= 0:
        raise OptionError(f"{what} is {limit_s!r}; it must be a positive number of seconds")
    if isfinite(limit_s) and limit_s > LONGEST_S:
        raise OptionError(f"{what} is {limit_s:g} s, more than a week; leave it out to have none")
    return float(limit_s)


class AdmissionTurn(NamedTuple):
    """Who starts now; who is turned away, each with its line; the work of the one that ended, if known."""

    started: tuple[AdmissionRequest, ...]
    refused: tuple[tuple[AdmissionRequest, Refuse], ...]
    work: float = 0.0
