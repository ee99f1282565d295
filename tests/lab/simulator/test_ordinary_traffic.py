"""Chats beside a large relQuery, in virtual time: their first tokens, and what the relQuery pays."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.outcome import EngineOutcome
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, RowSpec, poisson_arrivals
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import DEFAULT, make

CPU = RelQueryEngineSpec(CostModel(6e-5, 5e-3, 2e-4, 3e-3, 6e-3), EngineLimits(256, 2048, 200_000, 32))
OPT_13B = RelQueryEngineSpec(
    CostModel(1.1e-4, 2.5e-2, 1e-4, 2.4e-2, 2.6e-2), EngineLimits(256, 2048, 60_000, 16)
)


def prompt(rng: random.Random, tokens: int) -> tuple[int, ...]:
    return tuple(rng.randrange(10**6) for _ in range(tokens))


def relquery(rows: int, outputs: int) -> RelSpec:
    rng = random.Random(3)
    each = tuple(RowSpec(prompt(rng, 180), rng.randint(1, outputs)) for _ in range(rows))
    return RelSpec("rel", 0.0, each, outputs)


def chats(rate: float, count: int) -> list[RelSpec]:
    rng = random.Random(5)
    times = poisson_arrivals(rate, count, rng)
    return [
        RelSpec(f"c{i}", 1.0 + t, (RowSpec(prompt(rng, 100), 24),), 24, is_named=False)
        for i, t in enumerate(times)
    ]


def policy() -> SchedulingPolicy:
    return make(DEFAULT, patience=2.5)


def first_tokens_s(outcome: EngineOutcome) -> np.ndarray:
    return np.array([each.waiting_s + each.core_s for each in outcome.latencies if each.rel_id != "rel"])


def relquery_s(outcome: EngineOutcome) -> float:
    return next(each.latency_s for each in outcome.latencies if each.rel_id == "rel")


@pytest.mark.long
@pytest.mark.parametrize(("spec", "rate", "outputs"), [(CPU, 5.0, 2), (OPT_13B, 2.0, 20)], ids=["cpu", "gpu"])
def test_first_tokens_are_hardly_later_than_on_an_idle_engine(
    spec: RelQueryEngineSpec, rate: float, outputs: int
) -> None:
    asked = chats(rate, 150)
    idle_s = first_tokens_s(simulate(asked, spec, policy()))
    beside_s = first_tokens_s(simulate([relquery(4000, outputs), *asked], spec, policy()))
    fcfs_s = first_tokens_s(simulate([relquery(4000, outputs), *asked], spec, make("fcfs")))
    for percent in (50, 98):
        of_idle, of_beside, of_fcfs = (np.percentile(s, percent) for s in (idle_s, beside_s, fcfs_s))
        assert of_beside < 2 * of_idle  # the median chat waits for half a step and computes as long as alone
        assert of_fcfs > 50 * of_idle


def test_the_relquery_pays_only_while_they_are_about() -> None:
    rel, plain = relquery(4000, 2), policy()
    plain.ordinary = None
    alone_s = relquery_s(simulate([rel], CPU, policy()))
    assert alone_s == relquery_s(simulate([rel], CPU, plain))
    beside_s = relquery_s(simulate([rel, *chats(5.0, 25)], CPU, policy()))
    assert beside_s - alone_s < 5.0  # of about seven in which they are about, chats' own work included


@pytest.mark.long
def test_a_flood_of_them_does_not_starve_it() -> None:
    rel = relquery(100, 2)
    alone_s = relquery_s(simulate([rel], CPU, policy()))
    flood_s = relquery_s(simulate([rel, *chats(1000.0, 600)], CPU, policy()))
    assert flood_s < 4.5 * alone_s  # half of the time, of which short steps cost half
