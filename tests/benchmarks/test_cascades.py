"""The parts of `benchmarks.cascades`: areas under curves, proxies, and what a run counts."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cascade_embedding import learn
from benchmarks.cascade_filters import ADVERSARIAL, GOOD, WEAK, auc, made_up
from benchmarks.cascades import Cell, Run, headline_of, run_of
from relserve.session.cascade_learnt import RowNumbers

TRUTHS = np.random.default_rng(0).random(4000) < 0.2


def test_an_area_counts_pairs_in_the_right_order_and_half_of_those_that_are_equal() -> None:
    scores = np.array([0.1, 0.5, 0.5, 0.9, np.nan])
    assert auc(scores, np.array([False, False, True, True, True])) == 3.5 / 4


@pytest.mark.parametrize(("distance", "area"), [(GOOD, 0.98), (WEAK, 0.80)])
def test_made_up_scores_are_calibrated_and_have_their_area(distance: float, area: float) -> None:
    scores = made_up(TRUTHS, distance, np.random.default_rng(1))
    assert auc(scores, TRUTHS) == pytest.approx(area, abs=0.015)
    assert scores.mean() == pytest.approx(TRUTHS.mean(), abs=0.01)


def test_a_learnt_proxy_has_no_score_for_the_rows_that_it_was_learnt_from() -> None:
    random = np.random.default_rng(2)
    vectors = random.normal(size=(4000, 8)).astype(np.float32)
    vectors[:, 0] += 3 * TRUTHS
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = learn(RowNumbers(vectors, np.full(len(TRUTHS), True)), TRUTHS, random)
    assert np.isnan(scores).sum() == 350
    assert auc(scores, TRUTHS) > 0.9


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_misleading_proxy_costs_no_more_rows_than_there_are(name: str) -> None:
    scores = ADVERSARIAL[name](TRUTHS, np.random.default_rng(3))
    assert run_of("sampled_ends", scores, TRUTHS, 0.9, 0) == Run(pytest.approx(0.95, abs=0.05), True)


def test_the_headline_leaves_misleading_proxies_out_of_what_is_saved() -> None:
    def cell(proxy: str, area: float, calls: float) -> Cell:
        runs = {
            "sampled_ends": [Run(calls, True)],
            "bargain": [Run(2 * calls, True)],
            "supg": [Run(1.0, True)],
        }
        return Cell("a filter", proxy, 0.9, 1000, area, runs)

    measured = [cell("good", 0.98, 0.25), cell("embedding", 0.96, 0.5), cell("embedding", 0.7, 0.5)]
    assert headline_of([*measured, cell("inverted", 0.02, 0.9)]) == {
        "met_share": 1.0, "calls_saved_good": 4.0, "calls_saved_embedding": 2.0, "over_published": 2.0,
        "worst_adversarial": 0.9,
    }  # fmt: skip
