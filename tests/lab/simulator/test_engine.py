"""The simulated engine: nothing lost, nothing leaked, latencies that can be checked by hand."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.simulator.blocks import SimulatedBlockPool
from lab.simulator.engine import RelQueryEngineSpec, SimulatedEngine
from lab.simulator.run import simulate
from lab.simulator.workload import (
    RelSpec,
    RowSpec,
    gamma_arrivals,
    longest_known,
    poisson_arrivals,
    replayed_arrivals,
)
from relserve.policies.model.lengths import CapLengths
from relserve.policies.model.linear import CostModel
from relserve.policies.model.online import FixedCost
from relserve.policies.scheduling.driver import StepDriver
from relserve.policies.scheduling.state import EngineLimits, StepView
from relserve.policies.scheduling.variants import NAMES, make

COST = CostModel(1e-4, 5e-3, 1e-4, 2e-2)
ROOMY = RelQueryEngineSpec(COST, EngineLimits(64, 2048, 100_000))


def spec_for(name: str, kv_tokens: int = 4000, max_num_seqs: int = 32) -> RelQueryEngineSpec:
    chunked = name in ("fcfs", "static", "dpu+marginal")
    return RelQueryEngineSpec(COST, EngineLimits(max_num_seqs, 2048, kv_tokens), chunked=chunked)


def random_trace(seed: int, count: int = 20, rate: float = 1.0) -> list[RelSpec]:
    rng = random.Random(seed)
    trace = []
    for i, t in enumerate(poisson_arrivals(rate, count, rng)):
        head = tuple(rng.randrange(1000) for _ in range(40))
        cap = rng.choice([5, 10, 50])
        rows = tuple(
            RowSpec(
                head + tuple(rng.randrange(1000) for _ in range(rng.randrange(10, 200))), rng.randint(1, cap)
            )
            for _ in range(rng.randint(1, 40))
        )
        trace.append(RelSpec(f"r{i}", t, rows, cap))
    return trace


def test_one_relquery_alone_takes_what_the_cost_model_says() -> None:
    rows = tuple(RowSpec(tuple(range(100 * i, 100 * i + 100)), 10) for i in range(4))
    (latency,) = simulate([RelSpec("r", 1.0, rows, 10)], ROOMY, make("fcfs")).latencies
    assert latency.waiting_s == 0
    assert latency.core_s == pytest.approx(COST.prefill(400))
    assert latency.tail_s == pytest.approx(9 * COST.decode(4))


def test_a_shared_prefix_is_computed_once() -> None:
    head = tuple(range(160))
    rows = tuple(RowSpec(head + (1000 + i,) * 16, 2) for i in range(10))
    trace = [RelSpec("a", 0.0, rows[:1], 2), RelSpec("b", 100.0, rows[1:], 2)]
    outcome = simulate(trace, ROOMY, make("fcfs"))
    second = next(r for r in outcome.latencies if r.rel_id == "b")
    assert second.core_s == pytest.approx(COST.prefill(9 * 16))
    assert outcome.cached_share == pytest.approx(9 * 160 / (10 * 176))


@pytest.mark.cells(3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kv_tokens", [1500, 6000])
def test_every_row_finishes(name: str, kv_tokens: int) -> None:
    trace, spec = random_trace(3), spec_for(name, kv_tokens)
    outcome = simulate(trace, spec, make(name, starvation_s=5.0))
    assert sorted(r.rel_id for r in outcome.latencies) == sorted(r.rel_id for r in trace)
    assert all(min(r.waiting_s, r.core_s, r.tail_s) >= 0 for r in outcome.latencies)


@pytest.mark.cells(2)
@pytest.mark.parametrize("name", NAMES)
def test_the_same_trace_gives_the_same_latencies(name: str) -> None:
    first = simulate(random_trace(5), spec_for(name), make(name))
    again = simulate(random_trace(5), spec_for(name), make(name))
    assert first.latencies == again.latencies


def test_all_memory_comes_back() -> None:
    engine = SimulatedEngine(spec_for("fcfs", 1500))
    driver, now, done = StepDriver(make("dpu+marginal"), FixedCost(COST)), 0.0, 0
    for relation in random_trace(8, 10):
        engine.add(relation, CapLengths(relation.output_cap))
    while engine.rels:
        changed, gone = engine.news()
        free = engine.free_capacity()
        view = StepView(changed, gone, free, engine.limits, now, COST, engine.miss_ratio)
        work = engine.step(driver.decide(view), now)
        now += COST.step(work.prefill_tokens, work.num_decodes)
        done += len(engine.finish(work, now))
    assert done == 10
    assert engine.pool.num_free == engine.pool.num_blocks
    assert engine.num_running == 0


def test_short_relqueries_do_not_wait_behind_long_ones() -> None:
    short = [r for r in random_trace(1, count=200, rate=20.0) if len(r.rows) <= 4]
    long = [r for r in random_trace(2, count=40, rate=20.0) if len(r.rows) >= 35]
    trace = [*short, *(RelSpec("long " + r.rel_id, 0.0, r.rows, r.output_cap) for r in long)]
    fcfs = simulate(trace, spec_for("fcfs"), make("fcfs")).mean_s
    for name in ("static", "dpu+aba", "dpu+marginal"):
        assert simulate(trace, spec_for(name), make(name)).mean_s < 0.65 * fcfs, name


def test_room_for_outputs_avoids_preemptions() -> None:
    trace, spec = random_trace(1, 40, 5.0), spec_for("fcfs", 3000)
    assert simulate(trace, spec, make("fcfs")).num_preemptions > 0
    careful = make("static")
    careful.reserve_share = 1.0
    assert simulate(trace, spec, careful).num_preemptions == 0


def test_a_request_larger_than_memory_is_an_error_not_a_hang() -> None:
    rows = (RowSpec(tuple(range(5000)), 2),)
    with pytest.raises(RuntimeError, match="does not fit"):
        simulate([RelSpec("r", 0.0, rows, 2)], spec_for("fcfs", 1500), make("fcfs"))


def test_where_the_longest_is_known_caps_are_the_longest_true_outputs() -> None:
    for spec in longest_known(random_trace(0)):
        assert spec.output_cap == max(r.output_tokens for r in spec.rows)


def test_burstiness_keeps_the_rate() -> None:
    for burstiness in (0.5, 1.0, 4.0):
        times = gamma_arrivals(2.0, 20_000, burstiness, random.Random(1))
        assert times[-1] == pytest.approx(10_000, rel=0.05)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=60))
def test_the_block_pool_counts_right(requests: list[tuple[int, int]]) -> None:
    pool, held = SimulatedBlockPool(40), []
    for head, private in requests:
        hashes = tuple(range(head * 10, head * 10 + 4))
        cached = pool.num_cached(hashes)
        if 4 - cached + pool.num_idle(hashes[:cached]) + private <= pool.num_free:
            pool.take(hashes, private)
            held.append((hashes, private))
        elif held:
            pool.give_back(*held.pop(0))
        assert 0 <= pool.num_free <= 40
        assert len(pool._idle) <= pool.num_free
        assert pool.num_free == 40 - len({h for hs, _ in held for h in hs}) - sum(p for _, p in held)
    for hashes, private in held:
        pool.give_back(hashes, private)
    assert pool.num_free == 40


def test_a_recorded_trace_is_stretched_to_a_rate() -> None:
    recorded = [100.0, 101.0, 101.0, 105.0, 500.0]
    assert replayed_arrivals(recorded, 2.0, 4) == [0.0, 0.4, 0.4, 2.0]
    with pytest.raises(ValueError, match="5 arrivals cannot give 6"):
        replayed_arrivals(recorded, 1.0, 6)


@pytest.mark.long
def test_a_guard_lets_the_large_one_through_a_stream_of_small_ones() -> None:
    def rel(name: str, arrival_s: float, num_rows: int) -> RelSpec:
        rows = tuple(RowSpec(tuple(range(i, i + 200)), 10) for i in range(num_rows))
        return RelSpec(name, arrival_s, tuple(RowSpec((hash(name), *r.prompt), 10) for r in rows), 10)

    trace = [rel("large", 1.0, 60), *(rel(f"small {i}", 0.12 * i, 4) for i in range(200))]

    def of_large(**guard: float) -> float:
        outcome = simulate(trace, spec_for("dpu+aba", 10_000), make("dpu+aba", **guard))
        return next(r.latency_s for r in outcome.latencies if r.rel_id == "large")

    assert of_large(patience=1.5) < 0.4 * of_large()
    assert of_large(starvation_s=0.05) < 0.4 * of_large()
