"""Every variant on one trace, with the numbers of the first implementation: other numbers, other policy."""

from __future__ import annotations

import random
from functools import cache

import pytest

from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, RowSpec, poisson_arrivals
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling import book, order, priority
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import make

COST, LIMITS = CostModel(1e-4, 5e-3, 1e-4, 2e-2), EngineLimits(32, 1024, 6000)
WITH_PATIENCE = {  # mean and largest latency in seconds
    "fcfs": (1.9893028788559939, 4.662177478306169),
    "static": (1.39462287885599, 5.981477478306155),
    "fcfs+pp": (2.2919353788559937, 6.116177478306159),
    "static+pp": (1.6066428788559879, 7.095477478306127),
    "dpu+pp": (1.6169203788559898, 6.494777478306136),
    "dpu+dp": (2.9698253788559987, 7.839577478306187),
    "dpu+aba": (1.5211103788559928, 5.180277478306164),
    "dpu-exact+aba": (1.5211103788559928, 5.180277478306164),
    "dpu+marginal": (1.4771553788559957, 4.0406844201771195),
}
WITH_THRESHOLD = {
    "dpu+aba": (1.512900378855996, 8.905077478306172),
    "dpu+marginal": (1.2764778788559927, 7.226177478306158),
}


@cache
def trace() -> list[RelSpec]:
    """Small and large relQueries that share few prefixes, faster than they are served."""
    rng = random.Random(7)
    heads = [tuple(rng.randrange(1000) for _ in range(40)) for _ in range(3)]
    found = []
    for number, arrival_s in enumerate(poisson_arrivals(4.0, 40, rng)):
        head, cap = rng.choice(heads), rng.choice([1, 5, 10, 50])
        num_rows = rng.choice([1, 2, 5, 20, 40])
        prompts = [
            head + tuple(rng.randrange(1000) for _ in range(rng.randrange(3, 200))) for _ in range(num_rows)
        ]
        rows = tuple(RowSpec(prompt, rng.randint(1, cap)) for prompt in prompts)
        found.append(RelSpec(f"r{number}", arrival_s, rows, cap))
    return found


def mean_and_largest_s(name: str, **guard: float) -> tuple[float, float]:
    spec = RelQueryEngineSpec(COST, LIMITS, chunked=not name.endswith(("+pp", "+dp", "+aba")))
    found = simulate(trace(), spec, make(name, **guard))
    return found.mean_s, max(r.latency_s for r in found.latencies)


@pytest.mark.cells(4)
@pytest.mark.parametrize("name", WITH_PATIENCE)
def test_with_our_guard_where_a_variant_has_one(name: str) -> None:
    assert mean_and_largest_s(name, patience=1.2) == pytest.approx(WITH_PATIENCE[name], rel=1e-9)


@pytest.mark.parametrize("name", WITH_THRESHOLD)
def test_with_the_papers_guard(name: str) -> None:
    assert mean_and_largest_s(name, starvation_s=0.3) == pytest.approx(WITH_THRESHOLD[name], rel=1e-9)


@pytest.mark.cells(3)
@pytest.mark.parametrize("name", WITH_PATIENCE)
@pytest.mark.parametrize("few", [0, 8])
def test_one_by_one_and_all_at_once_decide_the_same(
    name: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (book, order, priority):
        monkeypatch.setattr(module, "FEW", few)
    assert mean_and_largest_s(name, patience=1.2) == pytest.approx(WITH_PATIENCE[name], rel=1e-9)
