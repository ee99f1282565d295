"""Single requests in virtual time: conservation, jumps, types of cache, the other simulator beside it."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

from lab.simulator.engine import RelQueryEngineSpec as RelEngineSpec
from lab.simulator.requests.engine import RequestsEngineSpec
from lab.simulator.requests.run import RequestsOutcome, simulate
from lab.simulator.requests.sim_request import RequestSpec
from lab.simulator.roofline import Roofline
from lab.simulator.run import simulate as simulate_relqueries
from lab.simulator.workflows.engine import WorkflowEngineSpec
from lab.simulator.workflows.order import first_come
from lab.simulator.workflows.run import simulate as simulate_workflows
from lab.simulator.workflows.workload import StepSpec, WorkflowSpec
from lab.simulator.workload import RelSpec, RowSpec
from relserve.policies.caching.policy import CachingPolicy
from relserve.policies.caching.state import BatchLimits, BlockMemory, CachePlan, CacheView
from relserve.policies.caching.variants import NAMES, make
from relserve.policies.dispatch.turns import RoundRobin
from relserve.policies.model.cache_costs import CacheCosts
from relserve.policies.model.linear import CostModel
from relserve.policies.model.work import Column, Work
from relserve.policies.scheduling import state as scheduling
from relserve.policies.scheduling.variants import make as make_scheduling

COST = CostModel(1.4e-4, 2e-2, 1.4e-4, 2e-2)  # a decode costs what a token of a prompt does
REPROJECT = Roofline(3e-3, 2e-2, 1.4e-4, 1e-9, 3e-5, 6e-7, 2e-5)
ABSORBED = Roofline(3e-3, 2e-2, 1.4e-4, 1e-9, 3e-5, 6e-7, 6e-7)
LIMITS = BatchLimits(256, 2048)


@dataclass(frozen=True)
class Linear:
    """Step times of the other simulator, which knows no contexts."""

    cost: CostModel

    @property
    def costs(self) -> CacheCosts:
        return CacheCosts(self.cost, 0.0, 0.0)

    def seconds(self, work: Work) -> float:
        return self.cost.prefill(work.num_tokens)

    def of_decodes(self, work: Work, growth: tuple[int, int], num_steps: int) -> Column:
        return np.full(num_steps, self.seconds(work))


def requests(count: int = 50, rate: float = 2.5, seed: int = 1) -> list[RequestSpec]:
    rng = random.Random(seed)
    arrivals = np.cumsum([rng.expovariate(rate) for _ in range(count)])
    return [RequestSpec(float(t), rng.randint(2, 900), rng.randint(1, 250), 1.0, 1.0) for t in arrivals]


def engine(times: Roofline = ABSORBED, num_blocks: int = 300, exclusive: bool = True) -> RequestsEngineSpec:
    return RequestsEngineSpec(times, BlockMemory(num_blocks, 16, 32), LIMITS, exclusive)


def said(outcome: RequestsOutcome) -> list[list[float]]:
    return [request.token_s for request in outcome.requests]


@pytest.mark.cells(1)
@pytest.mark.parametrize("times", [ABSORBED, REPROJECT])
@pytest.mark.parametrize("name", NAMES)
def test_every_request_says_all_its_tokens_in_order_and_gives_its_memory_back(
    name: str, times: Roofline
) -> None:
    specs = requests()
    outcome = simulate(specs, engine(times), make(name))
    assert [len(r.token_s) for r in outcome.requests] == [s.num_output for s in specs]
    for request in outcome.requests:
        assert request.token_s[0] > request.spec.arrival_s
        assert all(np.diff(request.token_s) > 0)
        assert (request.cache, request.blocks) == (None, 0)
    assert outcome.end_s == max(request.token_s[-1] for request in outcome.requests)


@pytest.mark.cells(1)
@pytest.mark.parametrize(("name", "exclusive"), [(name, i % 2 == 0) for i, name in enumerate(NAMES)])
def test_jumps_change_nothing_but_the_number_of_plans(name: str, exclusive: bool) -> None:
    spec, specs = engine(exclusive=exclusive), requests(40, 1.2)
    jumped, stepped = simulate(specs, spec, make(name)), simulate(specs, spec, make(name), may_jump=False)
    assert said(jumped) == said(stepped)
    assert (jumped.num_steps, jumped.num_dropped) == (stepped.num_steps, stepped.num_dropped)
    assert jumped.num_plans < stepped.num_plans == stepped.num_steps


@pytest.mark.cells(1)
@pytest.mark.parametrize(("chunked", "policy"), [(True, "fcfs"), (False, "fcfs+pp")])
def test_first_come_first_served_ends_as_in_the_simulator_of_relqueries(chunked: bool, policy: str) -> None:
    specs = requests(300, 3.0)
    spec = RequestsEngineSpec(Linear(COST), BlockMemory(700, 16, 32), LIMITS, not chunked)
    found = simulate(specs, spec, make("fcfs"))
    trace = [
        RelSpec(f"q{i}", s.arrival_s, (RowSpec((i,) * s.num_prompt, s.num_output),), s.num_output)
        for i, s in enumerate(specs)
    ]
    limits = scheduling.EngineLimits(256, 2048, 700 * 16, 16)
    other = RelEngineSpec(COST, limits, chunked=chunked, prefix_caching=False)
    expected = simulate_relqueries(trace, other, make_scheduling(policy))
    latencies = [request.token_s[-1] - request.spec.arrival_s for request in found.requests]
    assert found.end_s == pytest.approx(expected.end_s, rel=0.02)
    assert np.mean(latencies) == pytest.approx(expected.mean_s, rel=0.02)


def test_first_come_first_served_ends_as_in_the_simulator_of_workflows() -> None:
    specs = requests(300, 3.0)
    found = simulate(specs, RequestsEngineSpec(Linear(COST), BlockMemory(700, 16, 32), LIMITS), make("fcfs"))
    flows = [
        WorkflowSpec(f"w{i}", s.arrival_s, None, ((StepSpec("s", s.num_prompt, s.num_output),),))
        for i, s in enumerate(specs)
    ]
    other = WorkflowEngineSpec("a", "made up", COST, scheduling.EngineLimits(256, 2048, 700 * 16, 16))
    expected = simulate_workflows(flows, [other], RoundRobin(), lambda: first_come).served
    latencies = [request.token_s[-1] - request.spec.arrival_s for request in found.requests]
    assert found.end_s == pytest.approx(max(each.done_s for each in expected), rel=0.02)
    assert np.mean(latencies) == pytest.approx(
        np.mean([each.done_s - each.spec.arrival_s for each in expected]), rel=0.02
    )


def test_hidden_lets_twice_as_many_in_and_reprojection_pays_for_it_in_every_step() -> None:
    specs = [RequestSpec(0.0, 160, 100) for _ in range(60)]
    kv, hidden = (simulate(specs, engine(), make(name)) for name in ("fcfs", "fcfs-hidden"))
    assert 1.8 <= hidden.most_at_once / kv.most_at_once <= 2.1
    assert hidden.end_s < kv.end_s
    assert simulate(specs, engine(REPROJECT), make("fcfs-hidden")).end_s > kv.end_s


def test_an_exclusive_engine_computes_prompts_alone_and_whole() -> None:
    first, second = RequestSpec(0.0, 100, 50), RequestSpec(0.5, 2000, 2)
    alone = REPROJECT.seconds(Work(2000, 1, pairs=2000 * 2001 / 2))
    outcome = simulate([first, second], engine(REPROJECT, 200), make("fcfs"))
    assert max(np.diff(outcome.requests[0].token_s)) > alone
    mixed = RequestsEngineSpec(REPROJECT, BlockMemory(200, 16, 32), BatchLimits(256, 256), exclusive=False)
    assert max(np.diff(simulate([first, second], mixed, make("fcfs")).requests[0].token_s)) < alone / 2


def test_a_roofline_reads_the_weights_or_computes_whichever_is_longer() -> None:
    decode = Work(0, 0, 10, 5100, hidden_tokens=100)
    assert REPROJECT.seconds(decode) == pytest.approx(3e-3 + 2e-2 + 10 * 3e-5 + 5000 * 6e-7 + 100 * 2e-5)
    prompt = Work(1000, 1, pairs=500_500)
    assert REPROJECT.seconds(prompt) == pytest.approx(3e-3 + 0.14 + 500_500e-9 + 3e-5)
    each = REPROJECT.of_decodes(decode, (9, 1), 3)
    assert each.tolist() == [
        REPROJECT.seconds(decode._replace(context_tokens=5100 + 10 * i, hidden_tokens=100 + i))
        for i in range(3)
    ]


class Broken:
    """A policy that runs everything as keys and values, whatever there is; or nothing at all."""

    name = "broken"

    def __init__(self, runs: bool) -> None:
        self.runs = runs

    def plan(self, view: CacheView) -> CachePlan:
        return CachePlan(tuple((i, "kv") for i in view.requests.ids if self.runs), (), "mixed", "all")


def test_a_policy_that_overcommits_or_stops_is_told_so() -> None:
    greedy: CachingPolicy = Broken(runs=True)
    with pytest.raises(RuntimeError, match=r"the plan \(all\) needs"):
        simulate(requests(), engine(num_blocks=60), greedy)
    with pytest.raises(RuntimeError, match="broken runs none of"):
        simulate(requests(5), engine(), Broken(runs=False))
