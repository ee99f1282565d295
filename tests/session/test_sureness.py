"""How sure a model was, as llm_queries() counts it."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from relserve.call.answer_types import Answer
from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery, Reply, Submission
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Failure, FailureKind
from relserve.session.session import Session
from relserve.session.sureness import BANDS, QUANTILES, Sureness


@dataclass
class Sure(ScriptedEngine):
    """Gives the first choice the probability that a prompt ends with; rude texts are refused."""

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        async for replies in super().answer(submission):
            yield [self._sure(reply, submission.prompts[reply.index]) for reply in replies]

    def _sure(self, reply: Reply, prompt: str) -> Reply:
        if "rude" in prompt:
            return replace(reply, text=None, failure=Failure(FailureKind.REFUSED, "too rude"))
        first = next(float(word) for word in prompt.split() if word.startswith(("0.", "1.0")))
        return replace(reply, probabilities=(first, 1.0 - first))


def _told(function: str, rows: list[Any], **options: Any) -> dict[str, Any]:
    session = Session(lambda model: Sure())
    asked = parse_options(function, options)
    session.run(RelQuery(function, Template.parse("{} say").bind(1), [(row,) for row in rows], asked))
    (told,) = session.history.query_rows()
    return told


def _counts(function: str, rows: list[Any], **options: Any) -> list[Any]:
    told = _told(function, rows, **options)
    return [told[band] for band in BANDS]


def _quantiles(rows: list[Any]) -> list[Any]:
    told = _told("llm_prob", rows)
    return [told[name] for name in QUANTILES]


def test_quantiles_are_those_of_the_questions() -> None:
    assert _quantiles([str(0.5 + i / 1000) for i in range(101)]) == [0.51, 0.55, 0.59]
    assert _quantiles(["0.9"]) == [0.9] * 3
    assert _quantiles(["1.0", "0.5"]) == [0.5, 0.5, 0.5]
    assert _quantiles([None]) == [None] * 3


def test_questions_are_counted_by_the_probability_of_their_best_choice() -> None:
    rows = ["0.5", "0.51", "0.1", "0.79", "0.8", "0.96", "0.04", "0.96", None, "rude"]
    assert _counts("llm_prob", rows) == [0, 3, 2, 2]


def test_each_label_counts() -> None:
    assert _counts("llm_tags", ["0.6", "0.99"], choices=["a", "b"]) == [0, 2, 0, 2]


def test_of_a_call_that_is_no_decision_nothing_is_counted() -> None:
    assert _counts("llm", ["0.6"]) == [None] * 4


def test_without_rows_the_counts_are_zero() -> None:
    assert _counts("llm_prob", [None]) == [0] * 4


def test_a_question_that_failed_does_not_count() -> None:
    asked = {name: {"type": "noul", "instructions": f"{name}?"} for name in ("rude", "late")}
    assert _counts("llm_decide", ["0.97"], questions=asked) == [0, 0, 0, 1]


def test_what_is_kept_of_few_answers_is_small() -> None:
    """A history keeps 10,000 of them for each user."""
    sureness = Sureness()
    sureness.add([Answer("x", sureness=(0.9,))])
    assert len(pickle.dumps(sureness)) < 500
