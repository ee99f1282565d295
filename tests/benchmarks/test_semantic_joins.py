"""The parts of `benchmarks.semantic_joins`: the replay, and what a cell counts."""

from __future__ import annotations

import json

import pytest

from benchmarks.join_tables import TEMPLATE, JoinReplay, KnownJoin, Noise
from benchmarks.semantic_joins import JoinCell, headline_of, measured
from relserve.call.options import parse_options
from relserve.call.pair_lists import listed, pair_list_site
from relserve.call.relquery import CallSite, Submission
from relserve.call.template import Template

JOIN = KnownJoin(
    "texts", [f"kind {j}" for j in range(10)], [f"text {i}" for i in range(60)],
    {f"text {i}": f"kind {i % 10}" for i in range(60)},
)  # fmt: skip
SITE = CallSite("llm_filter", Template.parse(TEMPLATE).bind(2), parse_options("llm_filter", {}))


def lists_of(replay: JoinReplay, lefts: list[str], rights: list[str]) -> list[object]:
    text, grammar = listed(lefts, rights)
    site = pair_list_site(SITE, [0], [1])
    (prompt,) = site.prompts([(text,)])
    assert prompt is not None
    submission = Submission("rel", [prompt], site.sampling, grammars=[grammar]).as_for(0)
    found: list[object] = json.loads(replay(prompt, submission))["matches"]
    return found


def test_the_replay_answers_lists_and_pairs_alike() -> None:
    replay = JoinReplay(JOIN)
    (prompt,) = SITE.prompts([("text 13", "kind 3")])
    assert prompt is not None
    assert replay(prompt, Submission("rel", [prompt], SITE.sampling)) == "yes"
    assert lists_of(replay, ["text 13", "text 4"], ["kind 4", "kind 3"]) == [[1, 2], [2, 1]]
    assert lists_of(replay, ["text 13"], ["kind 4", "kind 3"]) == [2]
    assert lists_of(replay, ["text 13", "text 3"], ["kind 3"]) == [1, 2]


def test_long_lists_miss_more() -> None:
    replay = JoinReplay(JOIN, Noise(missed_in_block=0.1))
    assert len(lists_of(replay, JOIN.many, JOIN.few)) < 40
    assert sum(len(lists_of(replay, JOIN.many, [one])) for one in JOIN.few) > 45


@pytest.mark.parametrize("strategy", ["classify", "auto"])
def test_a_cell_counts_what_the_engine_answered(strategy: str) -> None:
    cell = measured(JOIN, "right", strategy)
    assert (cell.f1, cell.precision, cell.recall) == (1, 1, 1)
    assert cell.pairs == 600
    assert 10 < cell.calls < 600
    assert strategy in cell.told or "blocks" in cell.told


def test_the_headline_has_the_worst_of_auto() -> None:
    def cell(engine: str, strategy: str, calls: int, f1: float) -> JoinCell:
        return JoinCell("a join", engine, strategy, 24_000, calls, f1, 1.0, f1, f1, 0.0, "")

    cells = [
        cell("right", "auto", 1000, 1.0), cell("noisy", "auto", 1200, 0.99),
        cell("right", "classify", 1, 0.0), cell("careless", "auto", 25_200, 1.0),
        cell("right", "auto at 0.9", 4000, 0.91),
    ]  # fmt: skip
    assert headline_of(cells) == {
        "calls_saved": 20.0, "f1_loss": 1.0, "careless_calls": 1.05, "guaranteed_saved": 6.0,
        "guaranteed_met": 1.0,
    }  # fmt: skip
