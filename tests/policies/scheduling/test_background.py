"""Rows of the background: everybody goes before them, and no guard puts them first."""

from __future__ import annotations

from dataclasses import replace

from relserve.call.rel_tag import RelTag, read_tag
from relserve.policies.scheduling.state import RelState
from relserve.policies.scheduling.variants import DEFAULT, make
from tests.policies.states import COST, LIMITS, PLENTY, relation, view_of


def order_of(*states: RelState, now_s: float) -> list[str]:
    policy = make(DEFAULT, patience=2.5)
    for at_s in (0.0, now_s):
        order = policy.order(view_of(states, at_s, COST, LIMITS, PLENTY, ()))
    return [state.rel_id for state in order]


def test_a_short_one_that_has_waited_for_hours_goes_behind_a_long_one_that_has_just_come() -> None:
    batch = replace(relation("batch", 1), is_background=True)
    long, chat = relation("long", 5000), replace(relation("chat", 1), is_named=False)
    assert order_of(batch, long, chat, now_s=9000.0) == ["chat", "long", "batch"]
    assert order_of(replace(batch, is_background=False), long, now_s=9000.0) == ["batch", "long"]


def test_the_tag_carries_it() -> None:
    tag = RelTag("a", 3, 5, is_background=True)
    assert read_tag(tag.args(), 5) == tag
    assert read_tag(RelTag("a", 3, 5).args(), 5) == RelTag("a", 3, 5)
