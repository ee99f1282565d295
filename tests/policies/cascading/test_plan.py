"""The cheapest plan and the order of the rows are those that are found without a short cut."""

from __future__ import annotations

import numpy as np
import pytest

from relserve.policies.cascading.plan import CascadePlanner, cuts_of
from relserve.policies.cascading.policy import Targets
from relserve.policies.cascading.ranked import RankedRows


@pytest.mark.parametrize("seed", range(5))
def test_no_pair_of_cuts_is_cheaper(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = np.sort(random.random(300).round(2))
    asked, answers = random.random(300) < 0.2, random.random(300) < scores
    planner = CascadePlanner(Targets(0.9, 0.9, 0.95), cuts_of(scores), 0)
    plan = planner.plan(scores, asked, answers)
    assert plan.low <= plan.high
    for low in planner.cuts[::7]:
        for high in planner.cuts[planner.cuts >= low][::7]:
            pair = CascadePlanner(planner.targets, np.array([0, low, high, 300]), 0)
            assert pair.plan(scores, asked, answers).num_asks >= plan.num_asks - 1e-9


@pytest.mark.parametrize("holes", [0, 1, 5])
@pytest.mark.parametrize(("digits", "infinite"), [(1, 0), (16, 0), (16, 9)])
def test_equal_scores_stand_in_the_order_of_their_draws(digits: int, infinite: int, holes: int) -> None:
    scores = np.random.default_rng(0).random(100).round(digits)
    scores[:holes], scores[100 - infinite :] = np.nan, np.inf
    rows = RankedRows(scores, np.random.default_rng(1))
    expected = np.lexsort([np.random.default_rng(1).random(100), scores])
    assert [*rows.order, *rows.unranked] == expected.tolist()
