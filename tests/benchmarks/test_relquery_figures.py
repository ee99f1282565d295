"""The figures of `relquery_latency`: ratios with their intervals, engines without bases, caps by variant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from benchmarks.relquery_engines import (
    EMBEDDED,
    OURS,
    PAPER,
    STATIC,
    STOCK,
    EngineSetup,
    as_told,
    at_once,
    at_speed,
    policy_of,
    scheduler_of,
    share_without_processor,
)
from benchmarks.relquery_figures import (
    Replay,
    calibrated,
    interval,
    known_lengths,
    p99,
    ranked_otherwise,
    without_bases,
)
from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, RowSpec
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import NAMES

SPEC = RelQueryEngineSpec(
    CostModel(2e-5, 5e-3, 1e-4, 1.5e-3, 2.6e-3), EngineLimits(64, 1024, 50_000, 16), True, True, 1e-4
)


def run(*latencies: float) -> dict[str, Any]:
    rels = {f"q{i}": [1, latency, 0.0, 0.0, 0.0] for i, latency in enumerate(latencies)}
    return {"rels": rels, "steps": [[10, 0, 0.5]], "makespan_s": 2.0, "policy_s": 0.1, "arrival_s_a_row": 0.2}


def trace() -> list[RelSpec]:
    rows = [tuple(RowSpec((i, k, *range(40 + i)), 1 + (i * k) % 20) for k in range(i + 1)) for i in range(20)]
    return [RelSpec(f"q{i}", 0.02 * i, r, 20, kind=f"kind {i % 3}") for i, r in enumerate(rows)]


def test_a_ratio_lies_inside_its_interval_and_is_sure_where_all_seeds_agree() -> None:
    found = interval([run(2, 4), run(6, 8), run(1, 3)], [run(1, 2), run(3, 4), run(0.5, 1.5)], np.mean)
    assert found == (2.0, 2.0, 2.0)
    found = interval([run(2, 4), run(6, 8), run(1, 3)], [run(2, 1), run(2, 1), run(2, 1)], np.mean)
    assert found.low < found.value < found.high


def test_one_seed_gives_no_interval() -> None:
    found = interval([run(1.0, 3.0)], [run(1.0, 1.0)], p99)
    assert found.value == pytest.approx(2.98)
    assert math.isnan(found.low)


def test_a_run_is_told_in_seconds_of_another_speed() -> None:
    slow = at_speed(run(1.0) | {"probe_s": 2.0}, 4.0)
    assert slow["rels"]["q0"] == [1, 2.0, 0.0, 0.0, 0.0]
    assert (slow["makespan_s"], slow["steps"]) == (4.0, [[10, 0, 1.0]])


def test_an_engine_that_waited_for_a_processor_is_found_out() -> None:
    steps = {"steps": [[10, 0, 1.5], [0, 2, 0.5]]}
    assert share_without_processor({"cpu_s": 1.5, **steps}) == 0.25
    assert share_without_processor({"cpu_s": 3.5, **steps}) == 0.0  # two threads


def test_pairs_that_the_simulator_ranks_otherwise_are_named() -> None:
    real = {"a": [1.0, 1.1], "b": [2.0, 2.2], "c": [3.0, 3.0]}
    pairs = ranked_otherwise(real, {"a": 2.0, "b": 1.0, "c": 3.0})
    assert [pair[:2] for pair in pairs] == [("a", "b")]


@pytest.mark.parametrize("variant", [STATIC, PAPER])
def test_a_variant_is_told_the_declared_cap_unless_its_name_says_otherwise(variant: str) -> None:
    assert {rel.output_cap for rel in as_told(variant, trace(), 256)} == {256}
    assert as_told(f"{variant}, own caps", trace(), 256) == trace()
    assert scheduler_of(f"{variant}, own caps") == scheduler_of(variant)
    assert policy_of(f"{variant}, own caps").name == policy_of(variant).name


def test_only_the_default_runs_with_its_guard() -> None:
    assert scheduler_of(OURS)[1] == {}
    assert scheduler_of(PAPER) == (PAPER, {"patience": 0.0})
    assert PAPER in NAMES
    assert policy_of(STOCK).name == "fcfs"


def test_without_bases_the_whole_work_takes_as_long() -> None:
    spec = without_bases(SPEC, trace(), 3.0)
    at_last = simulate(at_once(trace()), spec, policy_of(STOCK)).end_s
    assert at_last == pytest.approx(3.0, rel=0.01)
    assert (
        spec.cost.prefill_base_s < 1e-4 * spec.cost.prefill_per_token_s * spec.limits.max_num_batched_tokens
    )


def test_an_engine_is_fitted_where_no_step_was_mixed() -> None:
    true = CostModel(2e-5, 5e-3, 1e-4, 1.5e-3)
    sizes = [(50 * i, 0) for i in range(1, 20)] + [(0, i) for i in range(1, 20)]
    steps = [[tokens, decodes, true.step(tokens, decodes)] for tokens, decodes in sizes]
    cost = calibrated([{**run(2.0), "steps": steps, "arrival_s_a_row": 0.0}], 50_000).cost
    assert cost.mixed_base_s is None
    assert cost.step(400, 0) == pytest.approx(true.step(400, 0), rel=0.02)
    assert cost.step(0, 12) == pytest.approx(true.step(0, 12), rel=0.02)


def test_what_lies_between_ours_and_the_fluid_bound_is_bases_and_order() -> None:
    total_s = simulate(at_once(trace()), SPEC, policy_of(STOCK)).end_s
    found = known_lengths(Replay(SPEC, trace(), [trace(), trace()], [total_s] * 2, 256))
    assert found["fluid_s"] + found["order_s"] + found["bases_s"] == pytest.approx(found["ours_s"])
    assert found["fluid_s"] < found["clairvoyant_s"]
    assert found["over_clairvoyant"] == pytest.approx(found["ours_s"] / found["clairvoyant_s"])


def test_the_results_of_other_engines_have_other_names() -> None:
    names = [
        engine.suffix
        for engine in (
            EMBEDDED, EngineSetup(plans_ahead=True), EngineSetup(own_name="smollm2"),
            EngineSetup(own_name="smollm2", plans_ahead=True),
        )
    ]  # fmt: skip
    assert names == ["", "_async", "_smollm2", "_smollm2_async"]
