"""The engine by its curve of speeds, and controllers in front of it."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from lab.simulator.admission.engine import CurveEngineSpec, SimulatedCurveEngine, SpeedChange
from lab.simulator.admission.run import AdmissionOutcome, Spec, profile, simulate
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.fair import Shares
from relserve.policies.admission.online import OnlineCurve
from relserve.policies.admission.scalability import Fit
from relserve.policies.admission.variants import make

CURVE = Fit("usl", (100.0, 0.02, 1e-4), 1.0, 0)
EXACT = CurveEngineSpec(CURVE, prompt_share=0.0, noise=0.0)


def specs(number: int, gap_s: float, tokens: int = 100, limit_s: float = 10, user: str = "one") -> list[Spec]:
    return [Spec(f"{user}{i}", "k", i * gap_s, limit_s, 10, tokens, tokens, user) for i in range(number)]


def test_those_that_run_share_the_speed_of_their_number() -> None:
    engine = SimulatedCurveEngine(EXACT)
    engine.start("short", 0, 100)
    engine.start("long", 0, 300)
    (first,) = engine.advance(inf)
    assert first.request_id == "short"
    assert engine.now_s == pytest.approx(100 / CURVE.speed(2))
    assert engine.generated("long") == pytest.approx(100)
    (last,) = engine.advance(inf)
    assert engine.now_s == pytest.approx(100 / CURVE.speed(2) + 200 / CURVE.speed(1))
    assert last.load_s == pytest.approx(2 * 100 / CURVE.speed(2) + 200 / CURVE.speed(1))


def test_prompts_come_before_the_first_token() -> None:
    engine = SimulatedCurveEngine(replace(EXACT, fixed_tokens=20.0, prompt_share=0.1))
    engine.start("a", 300, 50)
    engine.advance(0.25)
    assert engine.generated("a") == 0
    engine.advance(inf)
    assert engine.now_s == pytest.approx(1.0)


def test_its_speed_changes_when_it_is_told_to() -> None:
    engine = SimulatedCurveEngine(replace(EXACT, changes=(SpeedChange(1.0, 0.1), SpeedChange(2.0, 1.0))))
    engine.start("a", 0, 150)
    engine.advance(inf)
    assert engine.now_s == pytest.approx(2.4)


def test_noise_comes_from_its_seed() -> None:
    def end_s(seed: int) -> float:
        engine = SimulatedCurveEngine(replace(EXACT, noise=0.3), seed)
        engine.start("a", 0, 500)
        engine.advance(inf)
        return engine.now_s

    assert end_s(1) == end_s(1) != end_s(2)


def test_a_static_limit_is_held() -> None:
    outcome = simulate(specs(30, 0.01), EXACT, AdmissionController(make("static-7")), poll_s=None)
    assert outcome.most_at_once == 7
    assert [served.started_s for served in outcome.served] == sorted(s.started_s for s in outcome.served)


@pytest.mark.parametrize("name", ["in_time", "saber", "static-5"])
def test_everybody_is_served(name: str) -> None:
    known = [m.decoding for m in profile(specs(300, 0.0), EXACT, (1, 10, 40))]
    outcome = simulate(
        specs(60, 0.02, limit_s=1.5), EXACT, AdmissionController(make(name), OnlineCurve(known))
    )
    assert all(served.ended_s < inf for served in outcome.served)


def test_the_profile_is_the_curve() -> None:
    measured = profile(specs(300, 0.0), EXACT, (1, 10, 40))
    curve = OnlineCurve([m.decoding for m in measured]).curve
    assert curve is not None
    for load in (1, 10, 30):
        assert curve.speed(load) == pytest.approx(CURVE.speed(load), rel=0.1)


def test_refused_past_the_deadline_where_late_is_an_error() -> None:
    outcome = simulate(
        specs(60, 0.0, limit_s=1.5), EXACT, AdmissionController(make("static-5"), late="error")
    )
    refused = [served for served in outcome.served if served.refusal]
    assert refused
    assert all(served.started_s == inf for served in refused)
    assert all(served.estimate_s is not None for served in refused)


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_the_model_follows_a_tenfold_change_within_thirty_seconds(factor: float) -> None:
    """NexusSched's Figure 10, which the acceptance takes: the speed predicted 30 s after the change."""
    known = [m.decoding for m in profile(specs(300, 0.0), EXACT, (1, 10, 40))]
    controller = AdmissionController(make("static-20"), OnlineCurve(known))
    spec = replace(EXACT, noise=0.05, changes=(SpeedChange(20.0, factor),))
    waiting = specs(200, 0.25) if factor < 1 else specs(2500, 0.02)
    predicted: dict[float, float] = {}
    poll = controller.poll

    def watched(now_s: float) -> object:
        if controller.curve.curve is not None:
            predicted[now_s] = controller.curve.curve.speed(15)
        return poll(now_s)

    controller.poll = watched  # type: ignore[method-assign, assignment]
    simulate(waiting, spec, controller)
    before = [speed for at_s, speed in predicted.items() if 10 < at_s < 20]
    after = [speed for at_s, speed in predicted.items() if 30 <= at_s < 40]
    assert before
    assert after
    assert before[-1] == pytest.approx(CURVE.speed(15), rel=0.15)
    assert all(speed == pytest.approx(factor * CURVE.speed(15), rel=0.2) for speed in after)


@pytest.mark.long
def test_a_user_with_many_relqueries_does_not_halve_anothers_share() -> None:
    many = specs(500, 0.0, 50, inf, "many")
    one = specs(40, 0.5, 50, inf, "one")
    fair = simulate([*many, *one], EXACT, AdmissionController(make("static-10"), shares=Shares()))
    unfair = simulate([*many, *one], EXACT, AdmissionController(make("static-10")))

    def mean_s(outcome: AdmissionOutcome) -> float:
        waits = [s.latency_s for s in outcome.served if s.spec.user == "one"]
        return sum(waits) / len(waits)

    assert mean_s(fair) < 2.0
    assert mean_s(unfair) > 5 * mean_s(fair)
