"""Apt-Serve: values, the iteration's type, changes of type, and the mixed form."""

import numpy as np
import pytest

from relserve.policies.caching.value import NEAR_ZERO, Pending, penalty_s, pending_s
from relserve.policies.caching.variants import make
from relserve.policies.model.cache_costs import CacheCosts
from tests.policies.caching.views import STEPS, decoding, view, waiting

REQUESTS = [
    waiting("new", 100, 4.0, slo_s=1.0),
    waiting("late", 100, 0.0, slo_s=1.0),
    decoding("going", 50, "kv", 4.5, slo_s=1.0),
    decoding("held up", 50, "kv", 1.0, slo_s=1.0),
]


def test_pending_is_since_the_last_token_or_the_arrival():
    """Section 4.2."""
    assert pending_s(view(REQUESTS, 50, now_s=5.0)).tolist() == [1.0, 5.0, 0.5, 4.0]


def test_violators_are_demoted():
    """To a near-zero constant, or to a share; exactly at the SLO is no violation."""
    shown = view(REQUESTS, 50, now_s=5.0)
    assert Pending().of(shown).tolist() == [1.0, NEAR_ZERO, 0.5, NEAR_ZERO]
    assert Pending(decay=0.4).of(shown).tolist() == [1.0, 2.0, 0.5, 1.6]


def test_the_penalty_counts_all_requests():
    """Eq. 5 and 6: (|W| + |R|) rho m, with m in tokens."""
    assert penalty_s(view(REQUESTS, 50, rho=1e-3)).tolist() == pytest.approx([0.4, 0.4, 0.2, 0.2])


def test_rho_is_what_hidden_costs_more():
    """And nothing where it is the cheaper one, as on the absorbed path."""
    assert CacheCosts(STEPS, 2e-6, 5e-6).rho == pytest.approx(3e-6)
    assert CacheCosts(STEPS, 5e-6, 2e-6).rho == 0.0


@pytest.mark.parametrize(("arrival_s", "phase"), [(4.9, "decode"), (3.0, "prefill")])
def test_the_queue_that_pends_for_longer_has_the_iteration(arrival_s: float, phase: str):
    """Sums of pending times: R's is 0.5 s."""
    requests = [waiting("w", 16, arrival_s), decoding("r", 16, "kv", 4.5)]
    assert make("apt").plan(view(requests, 50, now_s=5.0)).phase == phase


def test_a_prefill_that_finds_no_memory_is_a_decode():
    """W pends for longer, but R fills the memory."""
    plan = make("apt-kv").plan(view([waiting("w", 64, 0.0), decoding("r", 64, "kv", 4.5)], 5, now_s=5.0))
    assert (plan.phase, plan.run, plan.drop) == ("decode", (("r", "kv"),), ())


def test_a_tight_prefill_hides():
    """Where the whole needs more than is free, and the penalty is small."""
    shown = view([waiting("w", 64, 0.0), decoding("r", 64, "kv", 4.5)], 6, now_s=5.0, rho=1e-6)
    assert make("apt").plan(shown).run == (("w", "hidden"),)
    assert make("apt").plan(shown._replace(costs=CacheCosts(STEPS, 0.0, 1.0))).phase == "decode"


def test_a_decode_that_changes_a_type_discards_and_recomputes():
    """Once there is memory again, a hidden request becomes one with keys and values, by a prefill."""
    requests = [decoding("h", 64, "hidden", 4.9), decoding("k", 64, "kv", 4.9)]
    plan = make("apt").plan(view(requests, 8, now_s=5.0, rho=1e-2))
    assert (plan.phase, plan.run, plan.drop) == ("prefill", (("h", "kv"),), ("h",))


def test_the_least_worth_a_block_goes_where_memory_ends():
    """In a decode iteration, of requests that pend alike, the largest."""
    requests = [decoding("large", 161, "kv", 4.9), decoding("small", 17, "kv", 4.9)]
    plan = make("apt-kv").plan(view(requests, 12, now_s=5.0))
    assert (plan.run, plan.drop) == ((("small", "kv"),), ("large",))


def test_the_mixed_form_decodes_first_and_has_no_iteration_type():
    """Apt-Serve-S: a decode, a prompt under way, a new one; cut by the step's tokens."""
    under_way = waiting("cut", 100, 0.0)._replace(num_computed=40, cache="kv")
    requests = [waiting("w", 100, 0.0), under_way, decoding("d", 16, "kv", 4.9)]
    shown = view(requests, 100, now_s=5.0, budget=62)
    plan = make("apt-s").plan(shown)
    assert plan.phase == "mixed"
    assert [name for name, _ in plan.run] == ["d", "cut", "w"]
    assert (
        len(make("apt-s").plan(shown._replace(limits=shown.limits._replace(max_num_batched_tokens=61))).run)
        == 2
    )


def test_values_of_nobody():
    """An idle engine."""
    assert Pending().of(view([], 5)).dtype == np.float64
    assert make("apt").plan(view([], 5)).run == make("apt-s").plan(view([], 5)).run == ()
