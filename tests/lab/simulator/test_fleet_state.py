"""What members of a simulated fleet tell PRISM: L_e and P_max of the step model that their budgets fit."""

from __future__ import annotations

import numpy as np
import pytest

from lab.simulator.fleet.member import SimMember
from relserve.policies.dispatch.router import Asked
from relserve.policies.dispatch.state import Report
from relserve.policies.model.structured import PUBLISHED, StepModel
from relserve.policies.model.work import Work
from tests.lab.simulator.fleets import SLOW, member


def served(its: SimMember, number: int = 80, tpot_slo_s: float = 0.05) -> list[tuple[float, Report]]:
    """What it says within each step, and how long the step really took."""
    found, now_s = list[tuple[float, Report]](), 0.0
    for i in range(number):
        asked = Asked(f"r{i}", 300 + 10 * i, ttft_slo_s=1.0, tpot_slo_s=tpot_slo_s)
        its.receive(asked, 20 + 2 * i, i, 0.0, now_s)
    while (end_s := its.begin(now_s)) is not None:
        found.append((end_s - now_s, its.reports([0])[0]))
        now_s = end_s
        its.finish(now_s)
    return found


def test_the_step_that_runs_is_predicted_by_lens_and_not_known_beforehand() -> None:
    """L_e of Eq. 8 is what a model that learns the same steps says of it before it is measured."""
    its = SimMember(member("a", budget="lens"), 1)
    twin, told = StepModel(PUBLISHED), list[tuple[Work, float | None]]()
    measured = its.learning.inner.measured

    def watched(work: Work, seconds: float) -> None:
        known = float(twin.predict(np.array([work], dtype=float))[0]) if twin.is_ready else None
        told.append((work, known))
        twin.add(work, seconds)
        measured(work, seconds)

    its.learning.inner.measured = watched  # type: ignore[method-assign]
    reports = served(its)
    expected = [known for _, known in told]
    assert sum(known is not None for known in expected) > 50
    for (took_s, report), known in zip(reports, expected, strict=True):
        assert known is None or report.step_s == pytest.approx(known)
        assert report.step_s != took_s
    took, foreseen = np.array([(took_s, report.step_s) for took_s, report in reports[-50:]]).T
    assert np.median(np.abs(foreseen / took - 1.0)) < 0.1


@pytest.mark.parametrize("budget", ["lens", "slack"])
def test_the_peak_is_of_the_same_model(budget: str) -> None:
    its = SimMember(member("a", budget=budget), 1)
    first = its.reports([0])[0].peak_tokens_per_s
    assert first == pytest.approx(1.0 / its.spec.member.cost.prefill_per_token_s)  # nothing is learnt yet
    last = served(its)[-1][1].peak_tokens_per_s
    assert its.learning.model is not None
    assert last == its.learning.model.peak_tokens_per_s != first


@pytest.mark.long
def test_a_slow_member_has_a_lower_peak() -> None:
    quick, slow = (
        served(SimMember(spec, 1))[-1][1].peak_tokens_per_s
        for spec in (member("a", budget="slack"), member("b", SLOW, "slack"))
    )
    assert 2.0 < quick / slow < 6.0  # a token takes 3.3 times as long


def test_without_a_model_of_its_budgets_a_member_has_its_cost_model() -> None:
    its = SimMember(member("a", budget="static-512"), 1)
    took, foreseen = np.array([(took_s, report.step_s) for took_s, report in served(its)]).T
    assert np.median(np.abs(foreseen / took - 1.0)) < 0.15
    assert not np.any(took == foreseen)
    cost = its.learning.cost.model
    assert its.reports([0])[0].peak_tokens_per_s == pytest.approx(1.0 / cost.prefill_per_token_s)


def test_steps_that_are_taken_together_are_predicted_too() -> None:
    its, seen = SimMember(member("a", budget="lens"), 1, may_jump=True), list[tuple[float, float]]()
    served(its)
    for i in range(3):
        its.receive(Asked(f"s{i}", 100, tpot_slo_s=0.05), 60, 100 + i, 0.0, 50.0)
    now_s = 50.0
    while (end_s := its.begin(now_s)) is not None:
        if its._ends_s is not None:
            seen.append((float(its._ends_s[0]) - now_s, its.reports([0])[0].step_s))
        now_s = end_s
        its.finish(now_s)
    assert seen
    assert all(0.5 < foreseen / took < 2.0 and foreseen != took for took, foreseen in seen)


def test_an_idle_member_has_no_step() -> None:
    its = SimMember(member("a"), 1)
    assert its.reports([0])[0].step_s == 0.0
    served(its, 3)
    assert its.reports([0])[0].step_s == 0.0
