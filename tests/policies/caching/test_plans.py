"""What holds for the plans of every variant."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.policies.caching.requests import RequestColumns, RequestState
from relserve.policies.caching.state import CachePlan, CacheView
from relserve.policies.caching.variants import NAMES, make
from tests.policies.caching.views import decoding, view, waiting

EVERY = pytest.mark.parametrize("name", NAMES)


@st.composite
def views(draw: st.DrawFn) -> CacheView:
    """Requests of all kinds in a pool that holds those that hold something, at times hardly."""
    times = st.floats(0.0, 9.0)
    requests: list[RequestState] = []
    for i in range(draw(st.integers(0, 12))):
        tokens, cache = draw(st.integers(2, 400)), draw(st.sampled_from(["kv", "hidden", None]))
        slo_s = draw(st.sampled_from([1.0, 5.0, 1e9]))
        if cache is None:
            requests.append(waiting(f"r{i}", tokens, draw(times), slo_s))
        else:
            one = decoding(f"r{i}", tokens, cache, draw(times), slo_s)
            cut = draw(st.integers(1, tokens - 1))
            requests.append(draw(st.sampled_from([one, one._replace(num_computed=cut, last_token_s=None)])))
    held = sum(-(-r.num_computed // (16 if r.cache == "kv" else 32)) for r in requests)
    largest = max([-(-r.num_tokens // 16) for r in requests], default=1)
    num_started = sum(r.cache is not None for r in requests)
    return view(
        requests,
        max(held, largest) + draw(st.integers(0, 60)),
        now_s=10.0,
        max_num_seqs=max(num_started + draw(st.integers(0, 3)), 1),
        budget=draw(st.sampled_from([1, 64, 512, 10**6])),
        rho=draw(st.sampled_from([-1e-6, 0.0, 1e-7, 1e-5, 1e-2])),
    )


def blocks_after(shown: CacheView, plan: CachePlan) -> int:
    """Blocks that are taken after the plan's step, at the most."""
    types, memory = plan.types, shown.memory
    taken = sum(memory.blocks(shown.requests[name].num_tokens, cache) for name, cache in plan.run)
    for one in shown.requests:
        if one.cache and one.request_id not in types and one.request_id not in plan.drop:
            taken += memory.blocks(one.num_computed, one.cache)
    return taken


@pytest.mark.cells(2)
@EVERY
@settings(max_examples=40, deadline=None)
@given(shown=views())
def test_memory_and_seats_are_never_exceeded(name: str, shown: CacheView):
    """With all that goes on, comes in and pauses."""
    plan = make(name).plan(shown)
    assert blocks_after(shown, plan) <= shown.memory.num_blocks
    after = {one.request_id for one in shown.requests if one.cache} - set(plan.drop) | set(plan.types)
    assert len(after) <= shown.limits.max_num_seqs


@pytest.mark.cells(2)
@EVERY
@settings(max_examples=40, deadline=None)
@given(shown=views())
def test_a_plan_says_what_it_means(name: str, shown: CacheView):
    """Nobody twice; only what holds is dropped; another type only after a drop; phases compute their kind."""
    plan = make(name).plan(shown)
    assert len(plan.types) == len(plan.run)
    assert len(set(plan.drop)) == len(plan.drop)
    assert all(shown.requests[dropped].cache for dropped in plan.drop)
    for request_id, cache in plan.run:
        one = shown.requests[request_id]
        assert one.cache in (None, cache) or request_id in plan.drop
        decodes = one.cache == cache and one.num_tokens - one.num_computed == 1
        assert plan.phase == "mixed" or decodes == (plan.phase == "decode")


@pytest.mark.cells(2)
@EVERY
@settings(max_examples=40, deadline=None)
@given(shown=views())
def test_someone_runs_where_anyone_is_there(name: str, shown: CacheView):
    """As long as any one request fits the pool, no step is empty for good: something runs or makes room."""
    plan = make(name).plan(shown)
    assert plan.run or plan.drop or not len(shown.requests)


@pytest.mark.cells(2)
@EVERY
@settings(max_examples=40, deadline=None)
@given(shown=views())
def test_a_plan_depends_on_the_requests_alone(name: str, shown: CacheView):
    """Neither on the rows that they lie in, nor on what was planned before."""
    policy, moved = make(name), RequestColumns([waiting("gone", 5), *shown.requests])
    moved.remove("gone")
    plan = policy.plan(shown)
    assert policy.plan(shown) == plan
    assert policy.plan(shown._replace(requests=moved)) == plan


def served(name: str, more: Callable[[int], list[RequestState]], steps: int, num_blocks: int) -> list[str]:
    """Who finishes, in order, where `more` arrive at each step; requests want `expected_left` tokens."""
    policy, requests, done = make(name), RequestColumns(), []
    for step in range(steps):
        now_s = 0.1 * step
        for one in more(step):
            requests.put(one)
        plan = policy.plan(view([], num_blocks, now_s)._replace(requests=requests))
        for request_id in plan.drop:
            requests.hold(request_id, None, 0)
        for request_id, cache in plan.run:
            requests.hold(request_id, cache, requests[request_id].num_tokens)
        requests.answered([request_id for request_id, _ in plan.run], now_s)
        for request_id, _ in plan.run:
            if requests[request_id].expected_left <= 0:
                requests.remove(request_id)
                done.append(request_id)
    return done


@pytest.mark.cells(2)
@EVERY
def test_all_finish_once_nothing_arrives(name: str):
    """Fifty requests in a pool that holds a few of them; every variant gets through."""
    batch = [waiting(f"r{i}", 20 + 7 * i, 0.0, slo_s=1.0) for i in range(50)]
    assert len(served(name, lambda step: batch if step == 0 else [], 3000, 40)) == 50


def test_an_unknown_name_lists_the_known():
    """In the message."""
    with pytest.raises(ValueError, match="no caching policy 'fifo'; there are: fcfs, "):
        make("fifo")


@EVERY
def test_shared_blocks_are_neither_taken_nor_freed(name: str):
    """Three that begin alike, in ten blocks beside the eight that they share; each takes three of its own."""
    started = [decoding(f"r{i}", 170)._replace(shared_kv=8) for i in range(2)]
    comes = waiting("w", 170)._replace(shared_kv=8, num_computed=128)
    assert {"r0", "r1"} <= set(make(name).plan(view(started, 10)).types)
    together = view([decoding("r", 170, last_s=1.0)._replace(shared_kv=8), comes], 10)
    assert "w" in make(name).plan(together).types
    assert not make(name).plan(view(started, 6)).drop, "nor is one dropped where they just fit"
