"""The relQuery mix: what a trace is made of, and that a dimension changes nothing but itself."""

from __future__ import annotations

import os
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.outputs import SHAPES
from benchmarks.provenance import ROOT
from benchmarks.relquery_workload import CAPS, declared, relqueries
from lab.simulator.workload import RelSpec

FOLDER = Path(os.environ.get("RELSERVE_DATA", ROOT.parent / "shared" / "data"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no real tables: set RELSERVE_DATA")


def words(prompts: list[str]) -> list[list[int]]:
    """Token ids without a model: a word is a token."""
    return [[hash(word) for word in prompt.split()] for prompt in prompts]


def drawn(seed: int = 1, outputs: str = "uniform") -> list[RelSpec]:
    return relqueries(30, 20, 1.0, seed, words, outputs=outputs)


@pytest.mark.long
def test_a_seed_draws_the_same_again_and_another_one_anew() -> None:
    one, again, other = drawn(1), drawn(1), drawn(2)
    assert one == again
    assert not {row.prompt for rel in one for row in rel.rows} <= {
        row.prompt for rel in other for row in rel.rows
    }
    assert [rel.arrival_s for rel in one] != [rel.arrival_s for rel in other]


def test_the_kind_is_the_table_with_the_templates_name() -> None:
    kinds = {rel.kind for rel in drawn()}
    assert len(kinds) > 5
    assert kinds <= {
        f"{table} {kind}"
        for table in ("amazon", "rotten", "beer")
        for kind in ("binary", "classify", "regression", "summarize", "open")
    }


def test_every_prompt_begins_with_the_papers_system_prompt() -> None:
    first = words(["You are a helpful assistant that answers users' questions as simple as possible."])[0]
    assert all(list(row.prompt[: len(first)]) == first for rel in drawn() for row in rel.rows)


@pytest.mark.parametrize("cap", CAPS.values(), ids=CAPS)
def test_a_declared_cap_changes_no_output(cap: int | None) -> None:
    trace = drawn()
    other = declared(trace, cap)
    assert [rel.rows for rel in other] == [rel.rows for rel in trace]
    assert [replace(rel, output_cap=1) for rel in other] == [replace(rel, output_cap=1) for rel in trace]
    assert {rel.output_cap for rel in other} == ({5, 10, 50, 100} if cap is None else {cap})


@pytest.mark.parametrize("shape", SHAPES)
def test_true_outputs_are_within_the_caps_and_their_shape_changes_nothing_else(shape: str) -> None:
    trace, plain = drawn(outputs=shape), drawn()
    assert all(1 <= row.output_tokens <= rel.output_cap for rel in trace for row in rel.rows)
    assert [[row.prompt for row in rel.rows] for rel in trace] == [
        [row.prompt for row in rel.rows] for rel in plain
    ]


@pytest.mark.parametrize("shape", ["lognormal", "bimodal"])
def test_in_other_shapes_most_answers_are_much_shorter_than_their_caps(shape: str) -> None:
    trace = relqueries(40, 50, 1.0, 3, words, outputs=shape)
    shares = [row.output_tokens / rel.output_cap for rel in trace if rel.output_cap > 10 for row in rel.rows]
    assert statistics.median(shares) < 0.4
    assert max(shares) > 0.8
