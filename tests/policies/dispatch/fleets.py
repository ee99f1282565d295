"""Members, tables of them and requests for the tests of dispatch."""

from __future__ import annotations

from typing import Any

from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import EngineLoad, Member, Report, Request
from relserve.policies.model.linear import CostModel

FAST = CostModel(3e-5, 3e-3, 2e-5, 9e-3, 3e-3)
SLOW = CostModel(9e-5, 5e-3, 2e-5, 18e-3, 5e-3)
ASKED = Request(1000, 200, 1.0, 0.03)


def fleet(*costs: CostModel, reported: bool = True, weights: tuple[float, ...] = ()) -> MemberTable:
    """A table with members m0, m1, .., which have said at 0 s that they have nothing to do."""
    members = MemberTable()
    for i, cost in enumerate(costs):
        weight = weights[i] if weights else 1.0
        members.join(Member(f"m{i}", cost, 8192, 400_000, weight))
        if reported:
            members.report(f"m{i}", idle(cost), 0.0)
    return members


def idle(its: CostModel, **more: Any) -> Report:
    """The report of a member with nothing to do."""
    known: dict[str, Any] = {
        "free_tokens": 400_000, "budget_tokens": 8192, "peak_tokens_per_s": 1 / its.prefill_per_token_s,
    }  # fmt: skip
    return Report(**known | more)


def known(*engines: tuple[CostModel, EngineLoad], names: str = "abcdefghijklmnopqrstuvwxyz") -> MemberTable:
    """A table of engines whose queues their router keeps; weights are how fast they are at prompts."""
    members = MemberTable()
    for row, (name, (cost, load)) in enumerate(zip(names, engines, strict=False)):
        members.join(Member(name, cost, int(load.budget_tokens), 1e6, 1.0 / cost.prefill_per_token_s))
        members.know(row, load, 0.0)
    return members
