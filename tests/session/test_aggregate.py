"""llm_agg's map and reduce: what goes into which prompt, in how many relQueries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.call.options import Options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Failure, FailureKind
from relserve.session.aggregate import LINE_CHARS, answer_groups, numbered, split
from relserve.session.result import Result
from relserve.session.session import Session

BINDING = Template.parse("Join: {}").bind(1)


def joined(prompt: str, submission: Any) -> str:
    """The values in a prompt, without their numbers: combining keeps all of them."""
    lines = prompt.removeprefix("Join: \n").split("\n")
    return " ".join(line.partition(". ")[2] for line in lines)


class Asked:
    """A session on a scripted engine, and what it was asked."""

    def __init__(self, **engine: Any) -> None:
        self.engine = ScriptedEngine(**{"script": joined, **engine})
        self.session = Session(lambda model: self.engine)

    def groups(self, *groups: Any, weights: Any = None, **options: Any) -> Result:
        rows = [(group,) for group in groups]
        relquery = RelQuery("llm_agg", BINDING, rows, Options(**options), weights)
        with self.session.open(relquery.site) as opened:
            return answer_groups(relquery, opened)

    @property
    def prompts(self) -> list[list[str]]:
        """Of each relQuery."""
        return [list(submission.prompts) for submission in self.engine.submissions]


texts = st.lists(st.text("ab ", max_size=30), min_size=1, max_size=40)


@given(texts, st.integers(1, 100), st.integers(1, 3))
def test_split_keeps_order_and_bounds(values: list[str], max_chars: int, at_least: int) -> None:
    parts = split(values, max_chars, at_least)
    assert [text for part in parts for text in part] == values
    for part in parts:
        assert len(part) <= at_least or sum(len(text) + LINE_CHARS for text in part) <= max_chars
    assert all(len(part) >= at_least for part in parts[:-1])


def test_values_are_numbered_lines() -> None:
    assert numbered(["a", "b c"]) == "\n1. a\n2. b c"


def test_small_groups_are_one_relquery_and_null_groups_none() -> None:
    asked = Asked()
    assert asked.groups(["a", "b"], None, ["c"]).values == ["a b", None, "c"]
    assert asked.prompts == [["Join: \n1. a\n2. b", "Join: \n1. c"]]
    (record,) = asked.session.history.queries()
    assert (record.num_rows, record.num_distinct, record.num_null) == (3, 2, 1)


def test_nothing_but_null_groups_asks_nothing() -> None:
    asked = Asked()
    assert asked.groups(None, None).values == [None, None]
    assert asked.prompts == []


@given(st.lists(st.text("xyz", min_size=1, max_size=5), min_size=1, max_size=60), st.integers(1, 200))
def test_a_group_in_parts_keeps_every_value_and_ends(values: list[str], max_chars: int) -> None:
    asked = Asked()
    (answer,) = asked.groups(values, max_chars=max_chars).values
    assert answer == " ".join(values)
    assert len(asked.prompts) <= 8  # the number of texts at least halves


def test_each_round_is_one_relquery_over_all_groups() -> None:
    asked = Asked()
    values = [["aaaa"] * 10, ["bbbb"] * 3, ["cccc"] * 10]
    answers = asked.groups(*values, max_chars=50, weights=[1, 2, 3]).values
    assert answers == [" ".join(group) for group in values]
    sizes = [len(prompts) for prompts in asked.prompts]
    assert sizes == [2 + 1 + 2, 1 + 1, 1 + 1]  # equal parts of a group are one prompt
    assert asked.session.history.queries()[0].num_rows == 3 * 1 + 1 * 2 + 3 * 3


def test_a_part_over_the_context_is_halved_and_not_on_record() -> None:
    asked = Asked(max_prompt_chars=40, script=lambda prompt, submission: "s")
    values = [f"v{i}" for i in range(16)]
    assert asked.groups(values, max_chars=1000, on_error="raise").values == ["s"]
    assert [len(prompts) for prompts in asked.prompts] == [1, 2, 4, 1]
    assert asked.session.history.errors() == []


def test_a_value_over_the_context_fails_its_group_alone() -> None:
    asked = Asked(max_prompt_chars=40)
    result = asked.groups(["x" * 100, "y"], ["z"])
    assert result.values == [None, "z"]
    (error,) = asked.session.history.errors()
    assert error.failure.kind is FailureKind.OVER_CONTEXT


def test_answers_that_do_not_shrink_end_in_a_failure() -> None:
    asked = Asked(max_prompt_chars=40)
    values = [c * 12 for c in "abcd"]
    result = asked.groups(values)
    assert result.values == [None]
    assert [e.failure.kind for e in asked.session.history.errors()] == [FailureKind.OVER_CONTEXT]


def test_a_failed_part_fails_its_group() -> None:
    def script(prompt: str, submission: Any) -> Any:
        return Failure(FailureKind.REFUSED, "no") if "bad" in prompt else joined(prompt, submission)

    asked = Asked(script=script)
    result = asked.groups(["good", "bad", "fine"], ["good"], max_chars=20)
    assert result.values == [None, "good"]
    assert result.answers[0].failure == (FailureKind.REFUSED, "no")


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_answer_is_an_answer(empty: str) -> None:
    asked = Asked(script=lambda prompt, submission: empty)
    assert asked.groups(["a"] * 5, max_chars=20).values == [""]
