"""The authors' traces as workflows: which steps follow which, what their prompts share, when they come."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import data_folder
from lab.simulator.workflows.workload import StepSpec, WorkflowSpec

TRACES = ("trace1", "trace2", "trace3")
FANS_OUT = ("generate_candidate_llama-agent", "evaluate")  # the other stages wait for one another
BLOCK = 64  # tokens
# What prompts have in common is not in the traces. A prompt is taken to begin with the text of its stage,
# then with what its query gives to the stage (schema, question), then with its own.
OF_STAGE = 0.25  # of the shortest prompt of a stage in the trace
OF_QUERY = 0.9  # of the shortest prompt of a stage in one query

# The paper's stages, in Table 1's order.
STAGES = {
    "Information Retriever": 1, "extract_keywords": 1, "generate_candidate_llama-agent": 2, "revise": 3,
    "unit_tester": 4, "generate_unit_test": 4, "evaluate": 4,
}  # fmt: skip

Levels = tuple[tuple[StepSpec, ...], ...]


class Tenant(NamedTuple):
    """Whose workflows come: name, share of them, deadline in multiples of what the mean one takes alone."""

    name: str
    share: float
    slo_scale: float


@cache
def trace(name: str) -> tuple[Levels, ...]:
    """The queries of a trace, each as levels of steps."""
    path = data_folder() / "traces" / f"hexgen_{name}.json"
    queries = [query["Text2SQLRequest"] for query in json.loads(Path(path).read_text(encoding="utf-8"))]
    prompts = _by_stage([step for query in queries for step in query])
    stages = {stage: place for place, stage in enumerate(sorted(prompts))}
    found = []
    for number, query in enumerate(queries):
        steps = _steps(number, query, stages, prompts)
        levels = groupby(enumerate(steps), key=lambda pair: _level_of(*pair))
        found.append(tuple(tuple(step for _, step in level) for _, level in levels))
    return tuple(found)


def _level_of(place: int, step: StepSpec) -> tuple[str, int]:
    """Neighbours of a stage that fans out are one level."""
    return (step.stage, -1 if step.stage in FANS_OUT else place)


def _by_stage(steps: Sequence[dict[str, int]]) -> dict[str, int]:
    """The shortest prompt of each stage."""
    found: dict[str, list[int]] = defaultdict(list)
    for step in steps:
        found[str(step["step"])].append(step["input_length"])
    return {stage: min(lengths) for stage, lengths in found.items()}


def _steps(
    number: int, query: Sequence[dict[str, int]], stages: dict[str, int], prompts: dict[str, int]
) -> list[StepSpec]:
    own, steps = _by_stage(query), []
    for place, step in enumerate(query):
        stage, length = str(step["step"]), max(step["input_length"], 1)
        ends = (
            int(OF_STAGE * prompts[stage]) // BLOCK, int(OF_QUERY * own[stage]) // BLOCK, length // BLOCK
        )  # fmt: skip
        ids = ((stages[stage], 0, 0), (stages[stage], number + 1, 0), (stages[stage], number + 1, place + 1))
        hashes = [
            hash((*ids[part], block))
            for part, (begin, end) in enumerate(pairwise((0, *ends)))
            for block in range(begin, end)
        ]
        steps.append(StepSpec(stage, length, max(step["output_length"], 1), tuple(hashes)))
    return steps


def workload(
    name: str,
    rate: float,
    seed: int,
    alone_s: float,
    tenants: Sequence[Tenant],
    num_queries: int | None = None,
) -> list[WorkflowSpec]:
    """Every query of a trace once, in a random order, as a Poisson process.

    Args:
        rate: queries a second.
        alone_s: what the deadlines are multiples of.
        tenants: whose they are, by lot.
        num_queries: so many instead, the trace again and again.
    """
    rng, queries = random.Random(seed), list(trace(name))
    order = rng.sample(range(len(queries)), len(queries))
    now_s, found = 0.0, []
    for number in range(num_queries or len(queries)):
        now_s += rng.expovariate(rate)
        tenant = rng.choices(tenants, [t.share for t in tenants])[0]
        levels = queries[order[number % len(order)]]
        deadline_s = now_s + tenant.slo_scale * alone_s
        found.append(WorkflowSpec(f"q{number}", now_s, deadline_s, levels, tenant.name))
    return found
