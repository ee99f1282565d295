"""What a cascade promises holds, whatever the proxy says."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from relserve.policies.cascading import ends, variants
from relserve.policies.cascading.policy import Targets
from relserve.policies.cascading.variants import NAMES, make
from tests.policies.cascading.filters import MAKERS, Filter, good, hidden_cluster, run, share_met

BOTH = Targets(0.9, 0.9, 0.9)


@pytest.mark.cells(2)
@pytest.mark.parametrize("makes", MAKERS, ids=lambda makes: makes.__name__)
@pytest.mark.parametrize("share_true", [0.06, 0.5])
def test_precision_and_recall_hold_together_for_every_kind_of_proxy(makes, share_true: float) -> None:
    assert share_met("sampled_ends", makes, 500, share_true, BOTH, runs=60) >= 0.9


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize("share_true", [0.1, 0.5])
def test_at_the_edge_targets_are_missed_no_oftener_than_promised(share_true: float) -> None:
    """A little more is hidden at each end than may be wrong there: one lucky draw, and a target is missed."""
    targets = Targets(0.9, 0.9, 0.8)
    met = share_met("sampled_ends", partial(hidden_cluster, hidden=0.12), 400, share_true, targets, runs=150)
    assert 0.8 <= met < 1


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "targets", [Targets(0.95, None, 0.9), Targets(None, 0.95, 0.9)], ids=["precision", "recall"]
)
def test_one_target_holds_alone(targets: Targets) -> None:
    assert share_met("sampled_ends", hidden_cluster, 500, 0.3, targets, runs=60) >= 0.9


@pytest.mark.cells(1)
@pytest.mark.parametrize("name", NAMES)
def test_with_a_good_proxy_every_form_meets_both_targets(name: str) -> None:
    assert share_met(name, good, 1500, 0.4, BOTH, runs=20) >= 0.9


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("makes", MAKERS, ids=lambda makes: makes.__name__)
def test_no_row_is_asked_twice(name: str, makes) -> None:
    asked = run(make(name, BOTH, 3), makes(700, 0.2, 1)).asked
    assert len(set(asked)) == len(asked) <= 700


@pytest.mark.parametrize("share_true", [0.06, 0.5])
def test_a_good_proxy_saves_most_calls(share_true: float) -> None:
    assert len(run(make("sampled_ends", BOTH, 0), good(6000, share_true, 0)).asked) < 2400


def test_the_bounds_hold_for_the_rows_that_were_not_asked() -> None:
    missed = 0
    for seed in range(60):
        end = run(make("sampled_ends", BOTH, seed), good(800, 0.3, seed // 10))
        assert end.outcome.precision >= 0.9
        assert end.outcome.recall >= 0.9
        missed += end.precision < end.outcome.precision or end.recall < end.outcome.recall
    assert missed <= 6


def test_thresholds_say_what_was_decided_without_the_large_model() -> None:
    rows = good(3000, 0.4, 2)
    end = run(make("sampled_ends", Targets(0.97, 0.97, 0.9), 1), rows)
    is_open = np.ones(3000, bool)
    is_open[end.asked] = False
    lower, upper = end.outcome.lower, end.outcome.upper
    assert (end.outcome.kept[is_open] == (rows.scores >= upper)[is_open]).all()
    assert lower <= upper
    assert not (is_open & (rows.scores >= lower) & (rows.scores < upper)).any()
    assert (is_open & (rows.scores < lower)).any()


def _upper_below_lower(scores, targets, random):
    end = yield from ends.sampled_ends(scores, targets, random)
    return end._replace(upper=-np.inf)


def _not_sampled(*_):
    return ends.SampledEnd(0, 0)
    yield


def test_an_upper_threshold_below_the_lower_one_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(variants.VARIANTS, "sampled_ends", _upper_below_lower)
    assert share_met("sampled_ends", good, 500, 0.5, BOTH, runs=20) < 0.9
    with pytest.raises(AssertionError):
        test_thresholds_say_what_was_decided_without_the_large_model()


@pytest.mark.parametrize("end", ["_ask_below", "_ask_above"])
def test_an_end_that_is_not_sampled_is_seen(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above would fail, because targets are missed far more often than promised."""
    monkeypatch.setattr(ends, end, _not_sampled)
    assert share_met("sampled_ends", hidden_cluster, 500, 0.5, BOTH, runs=20) < 0.9


@pytest.mark.parametrize(
    "truths", [[], [True], [False] * 40, [True] * 40], ids=["no row", "one", "none", "all"]
)
def test_few_or_equal_rows(truths: list[bool]) -> None:
    rows = Filter(np.linspace(0, 1, len(truths)), np.array(truths, bool))
    end = run(make("sampled_ends", Targets(0.95, 0.95, 0.95), 0), rows)
    assert end.precision >= 0.95
    assert end.recall >= 0.95
