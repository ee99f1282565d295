"""debias and prior over a model that likes the first place and one name: asked, taken out, kept, counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.frame import frame_of
from relserve.call.options import parse_options
from relserve.call.relquery import CallSite, Reply, RowTimes, Submission, Usage
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import FailureKind
from relserve.session.per_question import questions_of
from relserve.session.reordered import engine_for, in_order
from relserve.session.session import Session
from tests.waiting import PATIENCE_S

LIKING = {"red": 1.0, "green": 3.0, "blue": 1.0, "yes": 4.0, "no": 1.0}  # for the names
PLACES = (5.0, 1.0, 2.0)


@dataclass
class Biased(ScriptedEngine):
    """Weighs a choice by whether the text names it, by its name and by its place; rude texts are refused."""

    identity: str | None = "biased"

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        async for replies in super().answer(submission):
            yield [self._biased(reply, submission) for reply in replies]

    def _biased(self, reply: Reply, submission: Submission) -> Reply:
        prompt, grammar = submission.prompts[reply.index], submission.grammar_of(reply.index)
        assert grammar is not None
        asks = f"Answer with exactly one of: {', '.join(grammar.choices)}."
        assert prompt.startswith(asks) or prompt.endswith(asks)
        said = prompt.replace(asks, "")
        weights = [
            (2.0 if choice in said else 1.0) * LIKING[choice] * PLACES[place]
            for place, choice in enumerate(grammar.choices)
        ]
        told = tuple(weight / sum(weights) for weight in weights)
        time = float(len(self.submissions))
        times = RowTimes(time, time, time, time)
        return replace(reply, probabilities=told, usage=Usage(10, 2, 1), times=times)


@pytest.fixture
def engine() -> Biased:
    return Biased()


@pytest.fixture
def caches(tmp_path: Path) -> Iterator[list[AnswerCache]]:
    opened: list[AnswerCache] = []
    yield opened
    for cache in opened:
        cache.close()


@pytest.fixture
def session(tmp_path: Path, engine: Biased, caches: list[AnswerCache]) -> Callable[[], Session]:
    """A session of a new process over the same answer cache."""

    def opened() -> Session:
        for cache in caches:
            assert cache.flush(PATIENCE_S)
        caches.append(AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail))
        return Session(lambda model: engine, cache=caches[-1])

    return opened


def site_of(function: str, text: str = "colour? {}", **options: Any) -> CallSite:
    return CallSite(function, Template.parse(text).bind(text.count("{}")), parse_options(function, options))


def ask(session: Session, site: CallSite, *texts: str) -> list[Any]:
    with session.open(site) as opened:
        return [answer.value for answer in opened.ask([(text,) for text in texts])]


def of(session: Session, *choices: str, text: str = "green", **options: Any) -> dict[str, float]:
    (found,) = ask(session, site_of("llm_probs", choices=list(choices), **options), text)
    found = json.loads(found)
    assert list(found) == list(choices)
    return dict(found)


@pytest.mark.parametrize("choices", [("red", "green"), ("red", "green", "blue")])
def test_the_place_of_a_choice_no_longer_matters(
    session: Callable[[], Session], choices: tuple[str, ...]
) -> None:
    one, other = (of(session(), *each, debias=len(choices)) for each in (choices, choices[::-1]))
    weights = {choice: LIKING[choice] * (2 if choice == "green" else 1) for choice in choices}
    wanted = {choice: weight / sum(weights.values()) for choice, weight in weights.items()}
    assert one == pytest.approx(wanted)
    assert other == pytest.approx(wanted)
    assert of(session(), *choices) != pytest.approx(wanted, abs=0.05)


def test_both_the_place_and_the_name_go_out_and_only_the_text_counts(session: Callable[[], Session]) -> None:
    found = of(session(), "red", "green", debias=2, prior="empty")
    assert found == pytest.approx({"red": 1 / 3, "green": 2 / 3})
    assert of(session(), "red", "green", debias=2, prior="empty", text="x")["red"] == pytest.approx(0.5)
    assert ask(session(), site_of("llm_prob", debias=2, prior="empty"), "yes") == [pytest.approx(2 / 3)]


def test_reads_are_one_relquery_whose_usage_is_their_sum(
    session: Callable[[], Session], engine: Biased
) -> None:
    opened = session()
    ask(opened, site_of("llm_probs", choices=["red", "green"], debias=2), "green", "red", "green")
    (asked,) = engine.submissions
    assert asked.rows == 4  # two distinct prompts, twice each
    leads = [prompt.partition("\n")[0] for prompt in asked.prompts]
    one, other = (f"Answer with exactly one of: {each}." for each in ("red, green", "green, red"))
    assert leads == [one, other, one, other]  # a row's reads follow each other
    (record,) = opened.history.queries()
    assert record.usage == Usage(40, 8, 4)
    assert (record.num_distinct, record.num_done, record.num_rows_done) == (2, 2, 3)
    assert record.phases is not None
    assert sum(record.phases) == 0  # all reads have one time here


def test_an_averaged_answer_is_kept_under_its_own_identity(
    session: Callable[[], Session], engine: Biased
) -> None:
    found = of(session(), "red", "green", debias=2)
    assert engine.num_prompts == 2
    assert of(session(), "red", "green", debias=2) == found
    assert engine.num_prompts == 2
    assert of(session(), "red", "green") != found
    assert engine.num_prompts == 3


def test_the_prior_is_asked_once_kept_and_its_tokens_counted(
    session: Callable[[], Session], engine: Biased
) -> None:
    site, opened = site_of("llm_probs", choices=["red", "green"], prior="empty"), session()
    with opened.open(site) as relquery:
        relquery.ask([("red",)])
        relquery.ask([("green",)])
    lead = "Answer with exactly one of: red, green.\ncolour? "
    assert [list(each.prompts) for each in engine.submissions] == [
        [lead, f"{lead}N/A", f"{lead}[MASK]"], [f"{lead}red"], [f"{lead}green"],
    ]  # fmt: skip
    assert [each.rows for each in engine.submissions] == [3, 4, 5]
    (record,) = opened.history.queries()
    assert (record.num_distinct, record.num_done, record.usage) == (2, 2, Usage(50, 10, 5))
    ask(session(), site, "blue")
    assert engine.num_prompts == 6  # one more
    assert of(session(), "red", "green", text="blue")  # the same read, of which nothing is taken out
    assert engine.num_prompts == 6


def test_tags_are_read_in_both_orders_of_yes_and_no(session: Callable[[], Session], engine: Biased) -> None:
    site = site_of("llm_tags", choices=["red", "blue"], threshold=0.6, debias=2, prior="empty")
    assert ask(session(), site, "yes", "no", "x") == ['["red", "blue"]', "[]", "[]"]
    assert engine.num_prompts == 2 * 2 * (3 + 3)


def test_questions_of_several_kinds_are_each_read_in_orders_of_their_own(
    session: Callable[[], Session],
) -> None:
    choice = {"type": "choice", "instructions": "colour?", "criteria": ["red", "green", "blue"]}
    questions = {"good": {"type": "noul", "instructions": "?"}, "colour": choice}
    site = site_of("llm_decide", "{}", questions=questions, debias=2, prior="empty")
    (found,) = ask(session(), site, "yes")
    decided = json.loads(found)
    assert decided["good"] == pytest.approx(2 / 3)
    assert decided["colour"]["probabilities"] == pytest.approx({"red": 1 / 3, "green": 1 / 3, "blue": 1 / 3})
    levels = ["red", "green", "blue"]
    site = site_of("llm_score", levels=levels, debias=3, prior="empty")
    assert ask(session(), site, "x") == [pytest.approx(1)]


def test_a_question_in_another_order_is_still_told_apart_from_its_state() -> None:
    questions = {"good": {"type": "noul", "instructions": "Good?"}}
    site = site_of("llm_decide", "{}", questions=questions, debias=2)
    submission = Submission("r", ["a state"], site.sampling, frame=frame_of(site.binding.template))
    asked = in_order(questions_of(submission), 1)
    question = "Good?\nAnswer with exactly one of: no, yes."
    assert asked.frame.apart(asked.prompts[0]) == (question, "a state")


def test_examples_are_told_in_the_order_of_each_read(session: Callable[[], Session], engine: Biased) -> None:
    examples = [{"text": "a rose", "answer": "red"}]
    of(session(), "red", "green", debias=2, examples=examples)
    lead = "Answer with exactly one of: {}.\ncolour? a rose"
    assert [each.turns for each in engine.submissions] == [
        ((lead.format("red, green"), "red"),), ((lead.format("green, red"), "red"),),
    ]  # fmt: skip


def test_a_prior_that_cannot_be_read_makes_the_rows_null_on_record() -> None:
    session = Session(lambda model: ScriptedEngine(sure=lambda prompt: None if "N/A" in prompt else 0.5))
    assert ask(session, site_of("llm_prob", prior="empty"), "a", "b") == [None, None]
    told = (
        "scripted tells no probabilities of the choices; name another model "
        "(asked about an empty input, for prior)"
    )
    assert [each.failure for each in session.history.errors()] == [(FailureKind.REFUSED, told)] * 2


def test_a_row_of_which_one_read_fails_is_null_on_record() -> None:
    session = Session(lambda model: ScriptedEngine(sure=lambda prompt: None if "no, yes" in prompt else 0.5))
    assert ask(session, site_of("llm_prob", debias=2), "a") == [None]
    (error,) = session.history.errors()
    assert error.failure.kind is FailureKind.REFUSED


def test_nothing_is_asked_of_null_rows(session: Callable[[], Session], engine: Biased) -> None:
    with session().open(site_of("llm_prob", prior="empty", debias=2)) as relquery:
        assert relquery.ask([(None,)])[0].value is None
    assert engine.num_prompts == 0


def test_a_row_comes_out_before_the_last_one_is_asked() -> None:
    @dataclass
    class Slow(Biased):
        async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
            async for replies in super().answer(submission):
                for reply in replies:
                    yield [reply]
                    if reply.index == 1:
                        return  # as where a LIMIT or Ctrl-C ends it

    site = site_of("llm_probs", choices=["red", "green"], debias=2)
    prompts = site.prompts([["red"], ["green"], ["blue"]])
    submission = Submission("r", [each for each in prompts if each is not None], site.sampling)

    async def asked() -> list[int]:
        stream = engine_for(Slow(), submission).answer(submission)
        return [reply.index async for replies in stream for reply in replies]

    assert asyncio.run(asked()) == [0]
