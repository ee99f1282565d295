"""What `slo_simulated` is made of: Table 2's requests, the engine's figures, the systems."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.provenance import ROOT
from benchmarks.slo.learning import accuracy
from benchmarks.slo.systems import BASE, H100, STATIC, SYSTEMS, SloCell, SloResult, engine_of, run_one
from benchmarks.slo.workloads import SCENARIOS, drawn, requests
from benchmarks.slo_simulated import SloResults

SHORT = """
from dataclasses import replace
from math import inf
from benchmarks import slo_simulated
from benchmarks.slo import workloads
workloads.LEAST = 20
short = workloads.TableLengths(20, 15, inf)
for name, scenario in workloads.SCENARIOS.items():
    workloads.SCENARIOS[name] = replace(scenario, outputs=short)
slo_simulated.QUICK_S = 1.0
slo_simulated.main()
"""


@pytest.mark.parametrize("name", SCENARIOS)
def test_lengths_are_those_of_table_2(name: str) -> None:
    its = SCENARIOS[name]
    for lengths in (its.prompts, its.outputs):
        values = drawn(lengths, 40_000, np.random.default_rng(1))
        assert values.mean() == pytest.approx(lengths.mean, rel=0.03)
        assert values.std() == pytest.approx(lengths.deviation, rel=0.06)
        if math.isfinite(lengths.p99):
            assert np.percentile(values, 99) == pytest.approx(lengths.p99, rel=0.3)


def test_a_seed_draws_the_same_requests_at_every_rate() -> None:
    slow, quick = requests("Coding", 10.0, 1), requests("Coding", 20.0, 1)
    assert [s.num_prompt for s in slow] == [s.num_prompt for s in quick[: len(slow)]]
    assert slow[5].arrival_s == pytest.approx(2 * quick[5].arrival_s)
    gaps = np.diff([spec.arrival_s for spec in requests("FlowGPT-Q", 4.0, 1)])
    assert gaps == pytest.approx(np.full(len(gaps), 0.25))


def test_the_engine_is_an_h100_with_an_8b_model() -> None:
    assert H100.weights_s == pytest.approx(6e-3, rel=0.02)
    assert 1 / H100.token_s == pytest.approx(37_000, rel=0.02)
    assert engine_of("v0").exclusive
    assert not engine_of("lens").exclusive
    assert (engine_of("ours").max_num_batched_tokens, engine_of("v0").max_num_batched_tokens) == (8192, 16384)


@pytest.mark.cells(1)
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_runs(system: str) -> None:
    result = run_one(SloCell("FlowGPT-Q", 3.0, system, 1, seconds=2.0))[1]
    assert 0.0 <= result.attained <= min(result.ttft, result.tpot)
    assert math.isnan(result.r2) == (system not in ("lens", "ours", "ours-in-order"))


@pytest.mark.long
def test_models_learn_from_random_budgets() -> None:
    found = accuracy("Summarization", 1.75, 1)
    assert found["ours"].r2 > 0.98
    assert found["LENS"].r2 > 0.95
    assert found["ours"].error < found["LENS"].error


def test_bests_are_taken_of_the_right_cells() -> None:
    nothing = SloResult(*[0.0] * len(SloResult._fields))
    results = {
        SloCell("Coding", rate, system, 1): nothing._replace(attained=10.0 * i + rate)
        for i, system in enumerate((BASE, *STATIC, "lens")) for rate in (1.0, 2.0)
    }  # fmt: skip
    found = SloResults(results, [1], ["Coding"])
    assert found.best("Coding") == found.best("Coding", 2.0) == found.single() == STATIC[-1]
    assert found.over_rates("Coding", BASE) == 1.5
    assert found.alone("Coding") == pytest.approx((61 + 62) / (1 + 2))


@pytest.mark.long
def test_a_short_run_ends_with_its_headline() -> None:
    """As `--quick`, with fewer requests and shorter answers."""
    done = subprocess.run(
        [sys.executable, "-c", SHORT, "--quick"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    head = json.loads(done.stdout.splitlines()[-1])
    assert {"lens_alone", "ours_worst_over_best_static"} <= set(head)
