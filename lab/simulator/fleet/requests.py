"""What comes to a simulated fleet, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np


class FleetRequest(NamedTuple):
    """A request that will come.

    Attributes:
        shared_tokens: of the prompt, those that its session's earlier requests had.
    """

    arrival_s: float
    num_prompt: int
    num_output: int
    ttft_slo_s: float = inf
    tpot_slo_s: float = inf
    session: str = ""
    shared_tokens: int = 0


@dataclass(slots=True)
class ServedFleetRequest:
    """What became of a request.

    Attributes:
        member: that answered it.
        attempts: how often it was sent.
        answers: how often it was answered, which is to be once.
    """

    spec: FleetRequest
    member: str = ""
    attempts: int = 0
    answers: int = 0
    first_s: float = inf
    ended_s: float = inf

    @property
    def ttft_s(self) -> float:
        """Until its first token."""
        return self.first_s - self.spec.arrival_s

    @property
    def tpot_s(self) -> float:
        """Mean time between its tokens."""
        return (self.ended_s - self.first_s) / max(self.spec.num_output - 1, 1)

    @property
    def e2e_s(self) -> float:
        """Until its last token."""
        return self.ended_s - self.spec.arrival_s

    @property
    def in_time(self) -> bool:
        """Whether it kept both limits."""
        return self.ttft_s <= self.spec.ttft_slo_s and self.tpot_s <= self.spec.tpot_slo_s


@dataclass
class FleetOutcome:
    """Every request in the order of arrival, and what the routers' choices took in real time.

    Attributes:
        waits_s: each time that a request was sent, how long its owner took until then, in virtual time; that
            there was no member to send it to is not in it.
        num_reports, num_lost: reports that came to owners, and those of them that found no room.
    """

    served: list[ServedFleetRequest]
    choices_s: list[float] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    num_steps: int = 0
    num_reports: int = 0
    num_lost: int = 0
    wall_s: float = 0.0

    @property
    def attained(self) -> float:
        """The share of requests within their limits."""
        return float(np.mean([served.in_time for served in self.served]))
