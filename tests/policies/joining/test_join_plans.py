"""Which plans a join has, and how large their blocks are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relserve.policies.joining.bicliques import Biclique
from relserve.policies.joining.plans import (
    BLOCK_TOKENS,
    MOST_LABELS,
    PAIR_TOKENS,
    WRITTEN_TOKENS,
    JoinSizes,
    pairs_plan,
    plans,
    resized,
)

CROSS = JoinSizes([Biclique(tuple(range(400)), tuple(range(60)))], 80.0, 6.0, 20.0)


def test_classify_asks_each_row_of_the_larger_side_among_all_of_the_smaller() -> None:
    (plan,) = plans("classify", CROSS)
    assert (plan.num_lefts, plan.num_rights, plan.num_prompts) == (1, 60, 400)
    turned = replace(CROSS, groups=[Biclique(tuple(range(300)), tuple(range(900)))], left_tokens=20.0)
    (plan,) = plans("classify", turned)
    assert (plan.num_lefts, plan.num_rights, plan.num_prompts) == (MOST_LABELS, 1, 2700)


def test_blocks_fit_their_tokens_and_leave_little_room() -> None:
    for plan in plans("blocks", CROSS):
        taken = plan.num_lefts * 80 + plan.num_rights * 6
        assert plan.tokens / 2 <= taken <= plan.tokens
    assert {plan.tokens for plan in plans("blocks", CROSS)} == set(BLOCK_TOKENS)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_blocks_leave_room_to_write_what_matches(share: float) -> None:
    largest = plans("blocks", CROSS)[0]
    plan = resized(largest, replace(CROSS, match_share=share))
    assert plan.num_lefts * plan.num_rights * share * PAIR_TOKENS <= WRITTEN_TOKENS
    assert plan.num_prompts >= largest.num_prompts


def test_auto_has_all_plans_and_the_cheapest_first() -> None:
    found = plans("auto", CROSS)
    assert {plan.name for plan in found} == {"classify", "blocks", "candidates"}
    assert [plan.cost for plan in found] == sorted(plan.cost for plan in found)
    assert found[-1].cost < pairs_plan(CROSS).cost


def test_groups_are_not_mixed_in_a_prompt() -> None:
    keyed = replace(
        CROSS, groups=[Biclique((2 * k, 2 * k + 1), (3 * k, 3 * k + 1, 3 * k + 2)) for k in range(50)]
    )
    assert {(plan.num_lefts, plan.num_rights, plan.num_prompts) for plan in plans("blocks", keyed)} == {
        (2, 3, 50)
    }


def test_a_plan_that_saves_next_to_nothing_is_none() -> None:
    single = replace(CROSS, groups=[Biclique((k,), (k,)) for k in range(500)])
    assert plans("auto", single) == []
