"""What an admission policy is: one pure decision at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from relserve.policies.admission.promise import Promise
from relserve.policies.admission.request import AdmissionRequest
from relserve.policies.admission.scalability import Fit

UNKNOWN_SPREAD = 0.5  # of the logarithm of lengths of a group that was not seen before
LEAST_LEFT = 0.15  # of the work of a request, that remains at least when it has generated more than expected


@dataclass(slots=True)
class RunningRequest:
    """A request that has started; the controller's own record, which policies only read.

    Attributes:
        admitted_s: when it started.
        needed_speed: the speed that it needed then, tokens a second; 0 where its limit was lost.
        began, load_s: the controller's counters of tokens and of load over time, as of then.
        num_output_tokens: that it has generated, as far as the engine has told.
    """

    request: AdmissionRequest
    admitted_s: float
    needed_speed: float
    began: float = 0.0
    load_s: float = 0.0
    num_output_tokens: float = 0.0


@dataclass(slots=True)
class Learnt:
    """What is known of a group of requests; the controller's own record, which policies only read.

    It is about work, an engine's time counted in tokens of an answer, to which prompts add. The lengths of
    answers are the gate's to learn (`relserve.policies.model.means`).

    Attributes:
        work_per_token: tokens' worth of work for each token that its requests are expected to say, with
            their prompts; 1 where nothing is known, and under a promise: there who asks counts the prompt.
        spread: standard deviation of the logarithm of that.
        per_s: requests of it that come in a second, lately.
        limit_s: the limit on latency of its latest request; 0 before the first.
        work: of its latest requests, a mean; 0 before the first.
    """

    work_per_token: float = 1.0
    spread: float = UNKNOWN_SPREAD
    per_s: float = 0.0
    limit_s: float = 0.0
    work: float = 0.0


class AdmissionView(NamedTuple):
    """All that a policy knows.

    Attributes:
        waiting: in the order in which they may be taken where nothing else counts: of arrival, or of shares.
        curve: the speed by load; None while nothing is measured.
        is_poor: whether the curve tells little about this engine.
        fallback: the static limit to hold to where it does.
        served: the controller's counter of tokens that each of those inside has got by the curve.
        learnt: by group of requests.
        unseen: what the arrivals counted are to be multiplied by, more than 1 soon after the start.
        promise: that those who start will be in time; None: as many as can be.
    """

    now_s: float
    waiting: Sequence[AdmissionRequest]
    running: Sequence[RunningRequest]
    curve: Fit | None
    is_poor: bool
    fallback: int
    learnt: Mapping[str, Learnt]
    served: float = 0.0
    unseen: float = 1.0
    promise: Promise | None = None

    def attained(self, running: RunningRequest) -> float:
        """Tokens that one inside has got, or would have by the curve, its prompt's work among them."""
        return max(self.served - running.began, running.num_output_tokens)

    def work(self, request: AdmissionRequest) -> float:
        """What a request takes in all, in tokens of an answer."""
        known = self.learnt.get(request.group)
        return max(request.tokens * (known.work_per_token if known else 1.0), 1.0)

    def spread(self, request: AdmissionRequest) -> float:
        """Standard deviation of the logarithm of what it takes."""
        known = self.learnt.get(request.group)
        return known.spread if known else UNKNOWN_SPREAD


class AdmissionChoice(NamedTuple):
    """Who starts next; None for nobody now. `reason` in a few words, for logs; `late`: its limit is lost."""

    request: AdmissionRequest | None
    reason: str
    late: bool = False


class AdmissionPolicy(Protocol):
    """Chooses one request at a time; owns no queue and no clock."""

    @property
    def name(self) -> str:
        """The variant's name."""

    @property
    def every_s(self) -> float:
        """Seconds from one decision to the next, after which it is asked again; 0 for no such rhythm."""

    def choose(self, view: AdmissionView) -> AdmissionChoice:
        """Who of those that wait starts now. It is asked again after each that starts, until nobody does."""
