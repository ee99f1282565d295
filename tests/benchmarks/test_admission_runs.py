"""What `admission` is made of: Table I's requests, the engine with the paper's static numbers."""

from __future__ import annotations

import statistics

import pytest

from benchmarks.admission import AdmissionResults
from benchmarks.admission_runs import (
    ENGINE,
    LOADS,
    MIXES,
    R2,
    STATIC,
    SYSTEMS,
    TASKS,
    AdmissionCell,
    AdmissionResult,
    controller_of,
    fitted,
    measure,
    requests,
)
from lab.simulator.admission.run import simulate
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.variants import make


def test_requests_are_those_of_table_1() -> None:
    specs = requests("W2", 5.0, 1, 4000)
    for name, task in TASKS.items():
        its = [spec for spec in specs if spec.slo_class == name]
        share = MIXES["W2"][list(TASKS).index(name)]
        assert len(its) / len(specs) == pytest.approx(share, abs=0.03)
        assert statistics.fmean(s.num_output for s in its) == pytest.approx(task.num_output, rel=0.08)
    assert specs[-1].arrival_s == pytest.approx(800, rel=0.1)


def test_without_a_limit_completion_times_are_the_papers_limits() -> None:
    """Table I: the mean completion time of 100 requests at 10 a second; of short ones rounded to 1 s."""
    times: dict[str, list[float]] = {}
    for seed in range(4):
        outcome = simulate(
            requests("W3", 10.0, seed), ENGINE, AdmissionController(make("static-1000")), seed, None
        )
        for served in outcome.served:
            times.setdefault(served.spec.slo_class, []).append(served.latency_s)
    means = {name: statistics.fmean(each) for name, each in times.items()}
    assert means["generation"] == pytest.approx(8, rel=0.2)
    assert means["translation"] == pytest.approx(12, rel=0.2)
    assert 0.5 < means["summary"] < 1.5
    assert 0.5 < means["qna"] < 1.6


def test_the_papers_r2_appear() -> None:
    for kind, paper in R2.items():
        assert fitted(kind).r2 == pytest.approx(paper, abs=0.03)
    assert fitted("usl").r2 > fitted("logistic").r2 > fitted("linear").r2
    assert fitted("usl", from_first_token=False).r2 < 0.8


@pytest.mark.long
def test_ours_is_above_static_limits_where_they_are_overrun() -> None:
    ours = measure(AdmissionCell("W1", 10.0, "ours"), (1, 2))
    assert ours.goodput > max(measure(AdmissionCell("W1", 10.0, s), (1, 2)).goodput for s in STATIC)


def test_every_system_has_a_door() -> None:
    for system in SYSTEMS:
        controller, _ = controller_of(system, 1)
        assert controller.policy.name
    with pytest.raises(ValueError, match="no system 'best'; there are: static 10"):
        controller_of("best", 1)


def test_bests_are_taken_of_the_right_cells() -> None:
    results = {
        AdmissionCell(mix, rate, system): AdmissionResult(float(i), 1.0 + i * rate, 0.0, ())
        for mix in MIXES for rate in LOADS for i, system in enumerate(SYSTEMS)
    }  # fmt: skip
    found = AdmissionResults(results, LOADS)
    assert found.single() == found.best("W1", 5) == STATIC[-1]
    assert set(found.below_best("static 10").values()) == {-9.0}
    assert found.mean("ours") == len(SYSTEMS) - 1
    assert found.variation("W1", "static 10") == 0.0
