"""HexGen-Text2SQL's alpha in a fleet: workflows are followed by the tags of their relQueries, and tune it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import pytest
from asking import TIMEOUT_S, collect, submission_of
from scripted_fleet import Machine, fleet_of

from relserve.call.relquery import Reply, Submission
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.loop import spawn
from relserve.errors import Failure, FailureKind
from relserve.policies.dispatch.hexgen.tuned import TunedBalanced
from relserve.policies.dispatch.hexgen.tuning import WINDOW_S
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.router import Asked
from relserve.policies.dispatch.state import Report
from relserve.policies.dispatch.turns import RoundRobin
from relserve.policies.model.linear import CostModel
from relserve.policies.workflows.following import IDLE_S
from relserve.policies.workflows.stages import DoneStep, PastWorkflow
from relserve.session.session import Session
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import run
from tests.text2sql.databases import MemoryDatabase
from tests.text2sql.replies import engine_of, fenced
from tests.waiting import wait_until

FAST, SLOW = CostModel(1e-4, 0.01, 1e-4, 0.015), CostModel(3e-4, 0.02, 3e-4, 0.04)


@dataclass
class Noting(RoundRobin):
    """A router that tunes itself, and writes down what it is told."""

    past: list[PastWorkflow] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    tune: Callable[[], float] | None = None

    def __post_init__(self) -> None:
        super().__init__("noting")

    def arrived(self, workflow: PastWorkflow, now_s: float) -> None:
        self.past.append(workflow)

    def ended(self, latency_s: float, now_s: float, members: MemberTable) -> Callable[[], float] | None:
        self.latencies_s.append(latency_s)
        return self.tune

    def take(self, value: float, now_s: float) -> None:
        self.taken.append(value)


class Clock:
    """The machine's, which a test may set forwards."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s


def clocked(fleet: FleetEngine) -> Clock:
    """A fleet's clock from now on."""
    fleet.roster.clock = clock = Clock()
    return clock


def noting(monkeypatch: pytest.MonkeyPatch, **machines: Machine) -> tuple[FleetEngine, Noting]:
    policy = Noting()
    monkeypatch.setattr("relserve.engines.fleet.engine.make", lambda name: policy)
    return fleet_of(**machines or {"a": Machine(), "b": Machine()}), policy


def step(prompts: Sequence[str], workflow: str | None, stage: str = "s") -> Submission:
    return replace(submission_of(prompts), workflow_id=workflow, stage=stage)


def ask(fleet: FleetEngine, *steps: Submission) -> list[list[Reply]]:
    """The replies to relQueries, one after the other."""
    return [spawn(collect(fleet, each)).result(timeout=TIMEOUT_S) for each in steps]


def usages(stage: str, replies: list[Reply]) -> list[DoneStep]:
    return [DoneStep(stage, each.usage.prompt_tokens, each.usage.output_tokens) for each in replies]


def test_a_router_is_told_of_a_workflow_when_nothing_of_it_comes_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its relQueries are its levels, their rows steps side by side; others' relQueries are no steps."""
    fleet, policy = noting(monkeypatch)
    clock = clocked(fleet)
    links, judges = ask(fleet, step(["which table?"], "w", "link"), step(["one", "two"], "w", "judge"))
    clock.ahead_s = IDLE_S - 1.0
    ask(fleet, step(["a plain call"], None), step(["of another workflow"], "v"))
    assert policy.past == []
    clock.ahead_s = 2 * IDLE_S
    ask(fleet, step(["later"], "v"))
    (flow,), (latency_s,) = policy.past[:1], policy.latencies_s[:1]
    assert flow.levels[0] == usages("link", links)
    assert sorted(flow.levels[1]) == sorted(usages("judge", judges))
    assert 0.0 < latency_s < IDLE_S


def test_the_steps_of_a_text2sql_question_are_a_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    script = engine_of({"keywords": "[]", "candidates": fenced("SELECT count(*) FROM beers")}).script
    fleet, policy = noting(monkeypatch, a=Machine(script=script), b=Machine(script=script))
    clock, session = clocked(fleet), Session(lambda model: fleet)
    (outcome,) = run(["How many beers?"], MemoryDatabase(), session, Text2SqlOptions(effort="thorough"))
    assert outcome.sql == "SELECT count(*) FROM beers"
    clock.ahead_s = 2 * IDLE_S
    ask(fleet, step(["later"], "other"))
    asked = [(each.stage, each.calls) for each in session.history.workflows.steps(outcome.workflow_id)]
    (flow,) = policy.past
    assert [(level[0].stage, len(level)) for level in flow.levels] == asked
    assert len(asked) > 1


def test_a_workflow_that_was_broken_off_teaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, policy = noting(monkeypatch)
    clock = clocked(fleet)

    async def begin(submission: Submission) -> None:
        async with aclosing(fleet.answer(submission)) as stream:
            async for _ in stream:
                return

    spawn(begin(step([f"row {i}" for i in range(200)], "broken"))).result(timeout=TIMEOUT_S)
    clock.ahead_s = 2 * IDLE_S
    ask(fleet, step(["later"], "other"))
    assert policy.past == []


def test_a_workflow_that_was_too_late_counts_with_what_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(prompt: str, submission: Submission) -> str | Failure:
        return Failure(FailureKind.DEADLINE, "too late") if prompt == "slow" else "said"

    fleet, policy = noting(monkeypatch, a=Machine(script=script), b=Machine(script=script))
    clock = clocked(fleet)
    (replies,) = ask(fleet, step(["slow", "quick"], "w"))
    clock.ahead_s = 2 * IDLE_S
    ask(fleet, step(["later"], "other"))
    assert [flow.levels for flow in policy.past] == [
        [usages("s", [each for each in replies if each.failure is None])]
    ]


def test_what_is_tuned_on_a_thread_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, policy = noting(monkeypatch)
    clock, policy.tune = clocked(fleet), lambda: 0.7
    for number in range(2):
        ask(fleet, step(["one"], f"w{number}"))
        clock.ahead_s += 2 * IDLE_S
    wait_until(lambda: policy.taken == [0.7])


def test_alpha_is_tuned_in_a_fleet_of_unequal_members() -> None:
    """At alpha 0 idle members are alike, and a step goes to either; tuned, to the quicker one."""
    said: list[str] = []
    fleet = fleet_of(said, dispatch="hexgen_tuned", slow=Machine(), fast=Machine())
    clock, policy = clocked(fleet), fleet.roster.router.policy
    assert isinstance(policy, TunedBalanced)
    ask(fleet, step(["up"], None))
    wait_until(lambda: len(fleet.roster.open_members) == 2)
    for name, cost in (("slow", SLOW), ("fast", FAST)):
        assert fleet.report(name, Report(sequence=1, cost=cost))
    prompt = "x" * 4000
    assert fleet.roster.router.choose(Asked("first", 1000.0), clock()) == "slow"
    for number in range(4):
        ask(fleet, step([prompt], f"w{number}", "link"), step([prompt], f"w{number}", "judge"))
        clock.ahead_s += WINDOW_S
    wait_until(lambda: policy.alphas)
    assert policy.alpha > 0.0
    assert fleet.roster.router.choose(Asked("then", 1000.0), clock()) == "fast"
    assert f"fleet: hexgen_tuned is tuned to {policy.alpha:g}" in said
