"""What benchmarks declare of themselves: rooms that are there, a rule for each figure of a saved headline."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.claims import (
    Benchmark,
    Exact,
    Higher,
    Lower,
    Untold,
    benchmarks,
    declared,
    figures_of,
    rule_of,
)
from benchmarks.provenance import RESULTS, ROOT
from benchmarks.saved import Saved, saved_results

ALL = benchmarks()
SAVED = saved_results()

SOURCE = """
import vllm_that_is_not_here
ROOMS = ("relserve/session",)
HEADLINE = {"s": Lower(0.5, timed=True), "by": Untold("a size"), "right": Exact([True])}
NEEDS = {"psql": "Debian's postgresql-client"}
SIZES = (1, 2)
"""


def test_a_module_is_read_without_being_imported() -> None:
    rules = {"s": Lower(0.5, timed=True), "by": Untold("a size"), "right": Exact([True])}
    needs = {"psql": "Debian's postgresql-client"}
    assert declared("speed", SOURCE) == Benchmark("speed", ("relserve/session",), rules, needs)


@pytest.mark.parametrize(
    ("headline", "said"),
    [('{"s": Less(0.5)}', "HEADLINE of speed, line 1: no rule; there are Higher"),
     ('{"s": 0.5}', "no rule"), ("RULES", "not written as a dict")],
)  # fmt: skip
def test_a_declaration_that_is_none_is_told(headline: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        declared("speed", f"HEADLINE = {headline}")


def test_figures_inside_others_have_the_rule_of_the_nearest_name() -> None:
    rules = {"ms": Lower(0.5), "ms.ours": Higher(), "over": Higher(interval=True), "in": Exact([True])}
    headline = {"ms": {"fcfs": 1, "ours": [2, 3]}, "over": {"1.4": [2, 1, 3]}, "in": [True], "none": {}}
    found = figures_of(headline, rules)
    assert found == {
        "ms.fcfs": 1, "ms.ours.0": 2, "ms.ours.1": 3, "over.1.4": [2, 1, 3], "in": [True], "none": {},
    }  # fmt: skip
    assert [rule_of(figure, rules) for figure in found] == [
        Lower(0.5), Higher(), Higher(), Higher(interval=True), Exact([True]), None,
    ]  # fmt: skip


def saves(path: Path) -> bool:
    """Whether a module saves results."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    return any(isinstance(each, ast.Name) and each.id == "finish" for each in called)


def test_every_program_that_saves_results_declares_rooms_and_figures() -> None:
    folder = ROOT / "benchmarks"
    programs = [path.stem for path in folder.glob("*.py") if saves(path)]
    programs += [path.parent.name for path in folder.glob("*/__main__.py") if saves(path)]
    assert sorted(programs) == sorted(ALL)
    assert [name for name, each in ALL.items() if not each.headline] == ["regress"]  # which runs all others


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: saved.name)
def test_a_result_file_has_a_benchmark_with_a_rule_for_each_figure(saved: Saved) -> None:
    benchmark = ALL[saved.benchmark]
    figures = figures_of(saved.headline, benchmark.headline) if benchmark.headline else {}
    assert [figure for figure in figures if rule_of(figure, benchmark.headline) is None] == []


def test_the_files_of_results_are_those_of_the_folder() -> None:
    assert sorted(path.stem for path in RESULTS.glob("*.json")) == [saved.name for saved in SAVED]


@pytest.mark.parametrize("benchmark", ALL.values(), ids=ALL)
def test_every_room_is_there(benchmark: Benchmark) -> None:
    assert [room for room in benchmark.rooms if not (ROOT / room).exists()] == []
    assert len(set(benchmark.rooms)) == len(benchmark.rooms)
