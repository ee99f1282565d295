"""Lengths by stage, learned online."""

from __future__ import annotations

import pytest

from relserve.policies.model.linear import CostModel
from relserve.policies.workflows.stages import GUESS, MEMORY, DoneStep, StageLearner, longest
from relserve.policies.workflows.types import NOTHING, Demand

LINK, CANDIDATE, JUDGE = (
    DoneStep("link", 300, 6),
    DoneStep("candidate", 12000, 700),
    DoneStep("judge", 900, 30),
)


def test_before_anything_was_seen_there_is_a_guess() -> None:
    learner = StageLearner()
    assert learner.typical("link") == GUESS
    assert learner.after("link") == NOTHING


def test_each_stage_has_its_own_mean() -> None:
    learner = StageLearner()
    for tokens in (600, 800):
        learner.ended(DoneStep("candidate", 12000, tokens))
    learner.ended(LINK)
    assert learner.output_tokens("candidate") == pytest.approx(700)
    assert learner.output_tokens("link") == pytest.approx(6)


def test_an_unknown_stage_counts_as_the_mean_of_all() -> None:
    learner = StageLearner()
    learner.ended(LINK)
    learner.ended(CANDIDATE)
    assert learner.typical("revise") == pytest.approx(Demand(6150, 353))


def test_what_came_long_ago_is_forgotten() -> None:
    learner = StageLearner()
    for tokens in [10.0] * 1000 + [100.0] * int(4 * MEMORY):
        learner.ended(DoneStep("revise", 100, tokens))
    assert 95 < learner.output_tokens("revise") < 100


def test_what_comes_after_a_stage_is_learned_from_workflows_that_ended() -> None:
    learner = StageLearner()
    learner.workflow_ended([[LINK], [CANDIDATE], [JUDGE]])
    assert learner.after("link") == Demand(12900, 730)
    assert learner.after("candidate") == Demand(900, 30)
    assert learner.after("judge") == NOTHING
    assert learner.after("elsewhere") == pytest.approx(Demand(4600, 760 / 3))


def test_steps_that_fan_out_are_counted_once() -> None:
    alone, fan = StageLearner(), StageLearner()
    alone.workflow_ended([[LINK], [CANDIDATE], [JUDGE]])
    fan.workflow_ended([[LINK], [CANDIDATE, DoneStep("candidate", 9000, 500)], [JUDGE] * 6])
    assert fan.after("link") == alone.after("link")
    assert fan.after("candidate") == alone.after("candidate")


def test_the_longest_of_no_steps_is_nothing() -> None:
    assert longest([]) == NOTHING


def test_seconds_are_those_of_prefill_and_of_each_token() -> None:
    cost = CostModel(1e-3, 0.0, 0.01, 0.1)
    assert Demand(100, 10).seconds(cost) == pytest.approx(0.1 + 10 * 0.11)
    assert Demand(100, 10).seconds(cost, num_decodes=5) == pytest.approx(0.1 + 10 * 0.15)


def test_what_was_broken_off_is_taken_to_have_gone_on_like_others() -> None:
    learner = StageLearner()
    learner.workflow_ended([[LINK], [CANDIDATE], [JUDGE]])
    learner.workflow_ended([[LINK], [CANDIDATE]], is_whole=False)
    assert learner.after("candidate") == JUDGE.demand
    assert learner.after("link") == CANDIDATE.demand.plus(JUDGE.demand)
