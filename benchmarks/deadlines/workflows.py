"""The authors' workflows for a real engine: a relQuery a level, which comes when the one before has ended."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import NamedTuple

from benchmarks.common import data_folder
from lab.simulator.workload import RelSpec, RowSpec

TRACES = ("trace1", "trace2", "trace3")
FANS_OUT = ("generate_candidate_llama-agent", "evaluate")  # the other stages wait for one another
FIRST_TOKEN, LAST_TOKEN = 16, 8000  # of the vocabulary, without the special ones


class StepLengths(NamedTuple):
    """Of a step, in tokens."""

    stage: str
    num_prompt: int
    num_output: int


@dataclass(frozen=True, slots=True)
class DeadlineStepSpec(RelSpec):
    """A step of a workflow.

    Attributes:
        arrival_s: of the first step; a later one comes when the one before it has ended.
        before: the step before it, by its id; "" for the first.
    """

    before: str = ""


@cache
def queries(name: str) -> tuple[tuple[StepLengths, ...], ...]:
    """The queries of a trace, each as its steps."""
    path = data_folder() / "traces" / f"hexgen_{name}.json"
    return tuple(
        tuple(
            StepLengths(str(step["step"]), int(step["input_length"]), int(step["output_length"]))
            for step in query["Text2SQLRequest"]
        )
        for query in json.loads(path.read_text(encoding="utf-8"))
    )


def levels_of(query: Sequence[StepLengths]) -> list[list[StepLengths]]:
    """Steps one after the other; neighbours of a stage that fans out run side by side."""
    keyed = groupby(enumerate(query), key=lambda pair: (pair[1].stage, _place(*pair)))
    return [[step for _, step in level] for _, level in keyed]


def _place(place: int, step: StepLengths) -> int:
    return -1 if step.stage in FANS_OUT else place


def workflows(count: int, seed: int, factor: float, cap: int) -> list[DeadlineStepSpec]:
    """Some of all traces' queries, drawn at random, all at time 0.

    No two prompts have a common beginning, for the traces do not tell what prompts share.

    Args:
        factor: by which all lengths are multiplied; a token each at least.
        cap: that each step declares.
    """
    rng = random.Random(f"workflows {seed}")
    found: list[DeadlineStepSpec] = []
    for number, query in enumerate(rng.sample([q for name in TRACES for q in queries(name)], count)):
        found += _workflow(f"w{seed}-{number}", query, rng, factor, cap)
    return found


def _workflow(
    name: str, query: Sequence[StepLengths], rng: random.Random, factor: float, cap: int
) -> Iterator[DeadlineStepSpec]:
    before = ""
    for number, level in enumerate(levels_of(query)):
        rel_id = f"{name}s{number}"
        rows = tuple(
            RowSpec(
                tuple(
                    rng.randrange(FIRST_TOKEN, LAST_TOKEN)
                    for _ in range(max(1, round(factor * step.num_prompt)))
                ),
                min(max(1, round(factor * step.num_output)), cap),
            )
            for step in level
        )
        stage = level[0].stage
        yield DeadlineStepSpec(
            rel_id, 0.0, rows, cap, kind=stage, workflow_id=name, stage=stage, before=before
        )
        before = rel_id


def arriving(
    steps: Sequence[DeadlineStepSpec], times_s: Sequence[float], slo_s: Sequence[float | None]
) -> list[DeadlineStepSpec]:
    """The workflows, in their order, at these times and with these deadlines."""
    names = list(dict.fromkeys(step.workflow_id for step in steps))
    time_of, slo_of = dict(zip(names, times_s, strict=True)), dict(zip(names, slo_s, strict=True))
    return [
        replace(step, arrival_s=time_of[step.workflow_id], slo_s=slo_of[step.workflow_id]) for step in steps
    ]
