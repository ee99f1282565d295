"""Ours: the order, what has started, reserves, and whose turn it is."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.policies.caching.requests import RequestColumns, RequestState
from relserve.policies.caching.state import CacheView
from relserve.policies.caching.steady import Steady
from relserve.policies.model.cache_costs import CacheCosts
from tests.policies.caching.views import STEPS, decoding, view, waiting

BARE = Steady("bare", reserve=0.0, late_reserve=0.0, hybrid=False)


def names(policy: Steady, shown: CacheView) -> list[str]:
    """Who runs, in order, asked of a policy that remembers nothing."""
    return [name for name, _ in replace(policy).plan(shown).run]


def test_rank_then_in_time_then_small():
    """A row of an urgent relQuery comes before any other; who is too late comes after who is not."""
    requests = [
        waiting("large", 320, 0.9, slo_s=1.0),
        waiting("small", 32, 0.9, slo_s=1.0),
        waiting("late", 16, 0.0, slo_s=0.5),
        waiting("urgent", 640, 0.9, slo_s=1.0, rank=-1.0),
    ]
    assert names(BARE, view(requests, 1000)) == ["urgent", "small", "large", "late"]


def test_too_late_counts_the_prompt():
    """At 0.1 ms a token, 2,000 tokens cannot be computed in the 0.1 s that are left."""
    requests = [waiting("hopeless", 2000, 0.1, slo_s=1.0), waiting("fits", 2001, 0.3, slo_s=1.0)]
    assert names(BARE, view(requests, 1000)) == ["fits", "hopeless"]


def test_what_lasts_longer_comes_later():
    """Of two of one length the one that is expected to say less, though it came later."""
    long = waiting("long", 50, 0.0)._replace(expected_left=500.0)
    assert names(BARE, view([long, waiting("short", 50, 0.5)], 1000)) == ["short", "long"]


def test_a_step_s_tokens_go_to_decodes_first_and_to_new_prompts_last():
    """However urgent and small a prompt is: else a decode gets nothing in a step that prompts fill."""
    under_way = waiting("cut", 40, 0.9)._replace(num_computed=20, cache="kv")
    requests = [waiting("new", 8, 0.9, rank=-1.0), under_way, decoding("d", 400, last_s=0.9, slo_s=0.05)]
    assert names(BARE, view(requests, 1000)) == ["d", "cut", "new"]
    assert names(BARE, view(requests, 1000, budget=21)) == ["d", "cut"]


def test_nobody_comes_in_into_the_reserve_but_those_at_work_grow_into_it():
    """A tenth of ten blocks stays free."""
    policy = replace(BARE, reserve=0.1)
    requests = [decoding("d", 113), waiting("w", 16)]
    assert names(policy, view(requests, 10)) == ["d", "w"]
    requests = [decoding("d", 129), waiting("w", 16)]
    assert names(policy, view(requests, 10)) == ["d"]
    assert names(policy, view([decoding("d", 145)], 10)) == ["d"]


def test_an_empty_engine_takes_a_request_as_large_as_the_pool():
    """No reserve, in time or not, keeps it out."""
    policy = replace(BARE, reserve=0.5, late_reserve=0.9)
    assert names(policy, view([waiting("w", 160, 0.0, slo_s=0.1)], 10)) == ["w"]


def test_who_is_too_late_leaves_room_for_those_to_come():
    """Half of the memory here; others may use it."""
    policy = replace(BARE, late_reserve=0.5)
    for slo_s, coming in ((0.1, 5), (10.0, 10)):
        requests = [waiting(f"w{i}", 16, 0.5, slo_s) for i in range(20)]
        assert len(names(policy, view(requests, 10))) == coming


def test_without_memory_for_the_next_token_one_pauses_and_nobody_comes_in():
    """The less urgent one, which keeps what it holds; who needs no block goes on."""
    requests = [decoding("a", 17, last_s=0.9), decoding("b", 33, last_s=0.9), decoding("c", 20, last_s=0.9)]
    plan = replace(BARE).plan(view([*requests, waiting("w", 1)], 6))
    assert (plan.run, plan.drop) == ((("a", "kv"), ("c", "kv")), ())


def test_a_long_pause_drops_the_least_urgent():
    """As soon as half of the SLO between two tokens is over."""
    requests = [decoding("a", 17, last_s=0.9, slo_s=1.0), decoding("b", 33, last_s=0.4, slo_s=1.0)]
    plan = replace(BARE).plan(view(requests, 4))
    assert (plan.run, plan.drop) == ((("a", "kv"),), ("b",))


def test_where_nobody_can_go_on_one_is_dropped():
    """All need a block, and there is none."""
    requests = [decoding("a", 17), decoding("b", 33)]
    plan = replace(BARE).plan(view(requests, 3))
    assert (plan.run, plan.drop) == ((("a", "kv"),), ("b",))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 300), st.booleans()), min_size=1, max_size=12), st.integers(0, 5))
def test_nobody_is_dropped_for_a_newcomer(shapes: list[tuple[int, bool]], spare: int):
    """Whatever waits and however urgent it is: who holds memory is dropped only for others that hold some."""
    at_work = [decoding(f"d{i}", n, "hidden" if h else "kv") for i, (n, h) in enumerate(shapes)]
    held = sum(-(-(n - 1) // (32 if h else 16)) for n, h in shapes)
    crowd = [waiting(f"w{i}", 10 + i, 0.9, slo_s=0.5, rank=-5.0) for i in range(8)]
    alone = Steady("steady").plan(view(at_work, held + spare))
    crowded = Steady("steady").plan(view([*at_work, *crowd], held + spare))
    assert crowded.drop == alone.drop
    assert set(alone.types) <= set(crowded.types)


def test_the_one_that_waited_longest_has_its_turn_and_keeps_it():
    """Late, large and of the worst rank; once it has gone, the next one has its turn."""
    policy = replace(BARE, patience=10.0, patience_s=60.0)
    old = waiting("old", 160, 0.0, slo_s=1.0, rank=9.0)
    crowd = [waiting(f"w{i}", 16, 10.5, slo_s=1.0) for i in range(20)]
    shown = view([old, *crowd], 10, now_s=10.0)
    assert "old" not in policy.plan(shown).types
    assert policy.plan(shown._replace(now_s=11.0)).run == (("old", "kv"),)
    assert policy.plan(shown._replace(now_s=52.0)).run == (("old", "kv"),)
    shown.requests.remove("old")
    assert policy.plan(shown._replace(now_s=52.0)).run[0] == ("w0", "kv")


def test_without_an_slo_the_turn_comes_by_seconds():
    """A row of an unurgent relQuery."""
    policy = replace(BARE, patience_s=60.0)
    requests = [waiting("unurgent", 16, -60.5, inf, rank=2.0), waiting("urgent", 16, 0.0, inf, rank=1.0)]
    assert policy.plan(view(requests, 10, now_s=-1.0)).run[0] == ("urgent", "kv")
    assert policy.plan(view(requests, 10, now_s=0.0)).run[0] == ("unurgent", "kv")


def test_nothing_starves():
    """A large late request ends, though small ones in time come for ever, more than can be served."""
    policy, requests, ended = Steady("steady", patience=3.0), RequestColumns(), set[str]()
    requests.put(waiting("large", 300, 0.0, slo_s=0.2, rank=1.0))
    for step in range(200):
        now_s = 0.1 * step
        requests.put(waiting(f"s{step}", 64, now_s, slo_s=0.2))
        plan = policy.plan(view([], 20, now_s)._replace(requests=requests))
        for request_id in plan.drop:
            requests.hold(request_id, None, 0)
        for request_id, cache in plan.run:
            requests.hold(request_id, cache, requests[request_id].num_tokens)
        requests.answered([request_id for request_id, _ in plan.run], now_s)
        for request_id in plan.types:
            if requests[request_id].expected_left == 0:
                requests.remove(request_id)
                ended.add(request_id)
    assert "large" in ended
    assert len(requests) > 50


def test_all_are_hidden_where_that_costs_nothing_and_none_where_it_costs_much():
    """The absorbed path, and keys and values computed anew at each step."""
    requests: list[RequestState] = [waiting(f"w{i}", 160, 0.0) for i in range(10)]
    for hidden_token_s, types in ((1e-6, {"hidden"}), (1e-3, {"kv"})):
        shown = view(requests, 30)._replace(costs=CacheCosts(STEPS, 1e-6, hidden_token_s))
        assert set(Steady("steady").plan(shown).types.values()) == types


def test_who_cannot_come_in_otherwise_is_hidden():
    """Larger than the pool as keys and values, however slow hidden is."""
    shown = view([waiting("w", 320)], 10)._replace(costs=CacheCosts(STEPS, 0.0, 1.0))
    assert Steady("steady").plan(shown).run == (("w", "hidden"),)


def test_a_step_ends_within_the_slo_between_tokens():
    """10 ms a step and 0.1 ms a token: beside a decode 78 of a prompt's tokens fit 90 % of 20.1 ms."""
    for slo_s, most in ((0.0201, 79), (1.0, None), (0.0149, 51), (0.0001, None), (inf, None)):
        shown = view([decoding("d", 50, last_s=0.99, slo_s=slo_s), waiting("w", 400)], 100, budget=200)
        assert replace(BARE).plan(shown).most_tokens == most
    alone = view([decoding("d", 50, last_s=0.99, slo_s=0.02)], 100, budget=200)
    assert replace(BARE).plan(alone).most_tokens is None


def test_a_step_has_time_to_make_keys_and_values_again():
    """20.1 ms, with 20 tokens of a hidden prompt made again for 2.5 ms: 25 of its other tokens fewer fit."""

    def most(**costs: float) -> int | None:
        going = waiting("w", 400)._replace(cache="hidden", num_computed=20)
        shown = view([decoding("d", 50, last_s=0.99, slo_s=0.0201), going], 100, budget=200)
        return replace(BARE).plan(shown._replace(costs=shown.costs._replace(**costs))).most_tokens

    assert most() == 79
    assert most(made_token_s=1e-4, made_base_s=5e-4) == 54
    assert most(made_token_s=1.0) == 51, "a quarter in any case"
    assert most(hidden_base_s=1.0) == 79, "the decode keeps keys and values"
