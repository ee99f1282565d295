"""What a simulation measures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from lab.simulator.sim_relquery import SimRel


class RelLatency(NamedTuple):
    """One relQuery's latency in seconds, and its phases."""

    rel_id: str
    num_rows: int
    latency_s: float
    waiting_s: float
    core_s: float
    tail_s: float

    @classmethod
    def of(cls, rel: SimRel) -> RelLatency:
        """Of a relQuery that is done."""
        arrival_s, scheduled_s = rel.spec.arrival_s, rel.state.first_scheduled_s
        assert scheduled_s is not None
        assert rel.done_s is not None
        core_end_s = max(rel.last_first_token_s, scheduled_s)
        return cls(
            rel.spec.rel_id, len(rel.spec.rows), rel.done_s - arrival_s, scheduled_s - arrival_s,
            core_end_s - scheduled_s, rel.done_s - core_end_s,
        )  # fmt: skip


@dataclass(slots=True)
class EngineOutcome:
    """What was measured on one engine; times are virtual seconds but `policy_s` and `wall_s`.

    Attributes:
        end_s: when its last step ended.
        num_steps: steps that computed something.
        policy_s: seconds that the policy thought.
        wall_s: seconds that the whole simulation took.
        reasons: how often each case decided; a decision that was repeated counts each time.
    """

    latencies: list[RelLatency] = field(default_factory=list)
    end_s: float = 0.0
    num_steps: int = 0
    num_preemptions: int = 0
    cached_share: float = 0.0
    policy_s: float = 0.0
    wall_s: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def mean_s(self) -> float:
        """Mean relQuery latency."""
        return sum(r.latency_s for r in self.latencies) / len(self.latencies)
