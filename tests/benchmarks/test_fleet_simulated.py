"""What `fleet_simulated` is made of: the kinds of engines, its runs, its figures."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.fleet import plan, shards
from benchmarks.fleet.choices import REPORT, choices_us, datagrams_us, requests_us
from benchmarks.fleet.engines import FIGURES, roofline, throughput
from benchmarks.fleet.systems import FLEETS, FleetCell, asked, run_one
from benchmarks.fleet_simulated import (
    DEFAULT,
    FleetResults,
    figures_4_and_9,
    figures_7_and_8,
    name_of,
    unique,
)
from benchmarks.provenance import ROOT
from benchmarks.slo.systems import H100
from benchmarks.slo.workloads import SCENARIOS
from relserve.policies.dispatch.variants import FORMER, NAMES

SHORT = """
from dataclasses import replace
from math import inf
from benchmarks import fleet_simulated
from benchmarks.slo import workloads
workloads.LEAST = 10
short = workloads.TableLengths(20, 15, inf)
workloads.SCENARIOS["FlowGPT-T"] = replace(workloads.SCENARIOS["FlowGPT-T"], outputs=short)
fleet_simulated.plan.UNEQUAL["FlowGPT-T"] = (6.0, 8.0, 1.0)
fleet_simulated.main()
"""


def test_kinds_are_as_unequal_as_their_figures() -> None:
    assert roofline("H100") == H100
    alone_s = {kind: roofline(kind).base_s + roofline(kind).weights_s for kind in FIGURES}
    assert alone_s["H100"] < 0.012 < alone_s["A100"] < alone_s["A6000"] < 2 * 0.012
    assert throughput("H100", "ShareGPT") > 1.5 * throughput("A6000", "ShareGPT")


def test_limits_are_twice_as_long_where_an_engine_could_not_keep_them() -> None:
    equal = asked(FleetCell("equal", "Coding", 100.0, "lens", "prism", 1, 1.0))
    unequal = asked(FleetCell("unequal", "Coding", 100.0, "lens", "prism", 1, 1.0))
    assert [2 * r.tpot_slo_s for r in equal] == [r.tpot_slo_s for r in unequal]
    assert [r.num_prompt for r in equal] == [r.num_prompt for r in unequal]


@pytest.mark.cells(1)
@pytest.mark.parametrize("fault", ["", "dies", "slows"])
def test_a_run_judges_every_request(fault: str) -> None:
    result = run_one(FleetCell("unequal", "Coding", 40.0, "static-256", "ours", 1, 1.0, fault=fault))
    assert 0.0 <= result.attained <= min(result.ttft, result.tpot)
    assert sum(result.shares) == pytest.approx(100.0)


def test_every_router_of_the_plan_exists_and_fleets_are_as_large_as_they_are_called() -> None:
    asked = {*plan.ROUTERS, *plan.OLD, *plan.FAULTY}
    assert {FORMER.get(name, name) for name in asked} <= set(NAMES)
    assert [len(FLEETS[fleet]) for fleet in plan.LARGE] == list(plan.LARGE.values())
    assert set(plan.UNEQUAL) == set(SCENARIOS) - {"Summarization"}


@pytest.mark.long
def test_gains_are_taken_of_the_right_cells() -> None:
    result = run_one(FleetCell("unequal", "Coding", 40.0, "static-256", "ours", 1, 1.0))
    equal = list(plan.equal([1, 2], ["Coding"], 1.0))
    attained = dict(zip(plan.SYSTEMS, (20.0, 30.0, 50.0, 60.0, 49.5, 64.0), strict=True))
    results = {c: result._replace(attained=attained[c.budget, c.router]) for c in equal}
    _, head = figures_7_and_8(FleetResults(results, [1, 2]), unique(equal))
    assert head["attainment_gain"] == pytest.approx(200.0)
    assert (head["lens_alone"], head["prism_alone"]) == (2.5, 1.5)
    assert head["ours_worst_over_round_robin"] == -0.5
    assert head["default_over_nexus_equal"] == 4.0
    unequal = list(plan.unequal([1], ["ShareGPT"]))
    attained = {"prism": 90.0, DEFAULT: 95.0}
    results = {c: result._replace(attained=attained.get(name_of(c), 80.0)) for c in unequal}
    _, head = figures_4_and_9(FleetResults(results, [1]), unique(unequal))
    assert (head["worst_over_published"], head["default_worst_over_published"]) == (-10.0, 5.0)
    assert head["unequal_gain"] == 10.0


def test_choices_are_measured_for_every_router() -> None:
    rows = choices_us((8,), 20)
    assert [row[1] for row in rows] == [*NAMES, REPORT]
    assert all(0 < row[2] <= row[3] for row in rows)


@pytest.mark.long
def test_a_run_of_several_owners_says_what_requests_wait_for_them() -> None:
    cell = FleetCell("unequal", "Coding", 40.0, "static-256", "ours", 1, 1.0)
    assert run_one(cell).wait_p90_s == 0.0
    slow = run_one(cell._replace(owner_times=300.0))  # 45 ms a request
    assert slow.wait_p90_s > 0.3
    assert slow.lost > 0.0
    assert run_one(cell._replace(owner_times=300.0, shards=8, rarer=8.0)).wait_p90_s < 0.5 * slow.wait_p90_s


def test_as_much_to_do_as_that_of_more_engines_has_an_owner_that_is_slower() -> None:
    slow = [cell for cell in plan.shards([1]) if cell.owner_times > 1.0]
    assert slow[0].rate * slow[0].owner_times == pytest.approx(plan.STANDS_FOR * plan.PER_ENGINE)
    assert (slow[0].owners.most_waiting, slow[0].owners.number) == (4.8, 1)
    assert {(cell.shards, cell.rarer) for cell in slow} >= set(plan.RARER)


def test_what_owners_have_to_do_on_paper() -> None:
    one, four = shards.on_paper([shards.OwnerCosts(3000, 100.0, 10.0)], (1, 4))
    assert (one.requests, one.reports, one.total) == pytest.approx((80.0, 150.0, 230.0))
    assert (one.rarer, one.rarer_total) == (one.reports, one.total)
    assert four[2:] == pytest.approx((20.0, 150.0, 170.0, 37.5, 57.5))
    assert shards.most_engines(shards.OwnerCosts(3000, 100.0, 10.0)) == pytest.approx(3000 / 2.3)


def test_an_owners_work_is_measured() -> None:
    assert 0 < requests_us(8, 100)
    assert 0 < datagrams_us(8, 100)


@pytest.mark.long
def test_a_short_run_ends_with_its_headline() -> None:
    """As `--quick`, with fewer requests and shorter answers."""
    done = subprocess.run(
        [sys.executable, "-c", SHORT, "--quick"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    assert {"attainment_gain", "worst_over_published"} <= set(json.loads(done.stdout.splitlines()[-1]))
