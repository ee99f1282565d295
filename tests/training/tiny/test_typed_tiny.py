"""llm_extract, llm_agg and min_confidence on the embedded model: grammars and probabilities as in vLLM."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from relserve.api import Connection, connect
from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply, Sampling, Submission, new_rel_id
from relserve.cli import demo
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn

pytestmark = pytest.mark.vllm

FIELDS = """{"name": "VARCHAR", "price": "DECIMAL(6,2)", "stars": "INTEGER", "share": "DOUBLE",
             "good": "BOOLEAN", "mood": "ENUM('good', 'bad')", "day": "DATE", "at": "TIMESTAMP",
             "tags": "ENUM('a', 'b')[2]",
             "by": {"who": "VARCHAR"}}"""


@pytest.fixture
def con(local_engine: LocalEngine) -> Iterator[Connection]:
    opened = connect(engine=local_engine, progress=False)
    demo.prepare(opened)
    yield opened
    opened.close()


def test_extract_gives_values_of_every_type_or_a_failure_on_record(con: Connection) -> None:
    call = f"llm_extract('What is told? {{}}', review, schema := $${FIELDS}$$)"
    sql = f"SELECT {call} FROM reviews WHERE review <> ''"
    rows = [row for (row,) in con.execute(f"{sql} LIMIT 40").fetchall()]
    found = [row for row in rows if row is not None]
    failed = con.execute("SELECT kind, message FROM llm_errors() WHERE function = 'llm_extract'").fetchall()
    assert len(found) >= 20, failed
    assert {kind for kind, _ in failed} <= {"unparsable"}
    kinds = dict(name=str, price=Decimal, stars=int, share=float, good=bool, mood=str, day=datetime.date,
                 at=datetime.datetime, tags=tuple, by=dict)  # fmt: skip
    for row in found:
        assert all(value is None or type(value) is kinds[name] for name, value in row.items()), row


@pytest.mark.long
def test_extract_ends(con: Connection) -> None:
    call = "llm_extract('{}', review, schema := '{\"a\": \"DATE\"}')"
    con.execute(f"SELECT {call} FROM reviews LIMIT 50").fetchall()
    answered, tokens = con.execute(
        "SELECT answered, output_tokens FROM llm_queries() WHERE function = 'llm_extract' "
        "ORDER BY started DESC"
    ).fetchone()  # fmt: skip
    assert tokens <= 25 * answered


def test_agg_in_parts(con: Connection) -> None:
    call = "llm_agg('Sum up: {}', review, max_chars := 1500, max_tokens := 32)"
    sql = f"SELECT {call} FROM (FROM reviews LIMIT 40)"
    ((answer,),) = con.execute(sql).fetchall()
    assert answer
    count = "SELECT count(*), max(distinct_prompts) > 1 FROM llm_queries() WHERE function = 'llm_agg'"
    assert con.execute(count).fetchall() == [(1, True)]


def replies_of(engine: LocalEngine, grammar: Grammar, prompts: list[str], **sampling: Any) -> list[Reply]:
    submission = Submission(
        new_rel_id(), prompts, Sampling(16, grammar=grammar, with_confidence=True, **sampling)
    )

    async def collect() -> list[Reply]:
        return [reply async for batch in engine.answer(submission) for reply in batch]

    return sorted(spawn(collect()).result(timeout=120), key=lambda reply: reply.index)


def test_probabilities_are_those_among_what_the_grammar_allows(local_engine: LocalEngine) -> None:
    prompts = [f"Was dish {i} good?" for i in range(10)]
    only = replies_of(local_engine, Grammar(choices=("q",)), prompts)
    assert [reply.confidence for reply in only] == pytest.approx([1.0] * 10, abs=1e-3)
    for reply in replies_of(local_engine, Grammar(choices=("yes", "no")), prompts):
        assert reply.confidence is not None
        assert 0.25 < reply.confidence <= 1.0  # the likelier of two, whatever else the model would rather say


def test_temperature_changes_answers_and_not_what_they_are_worth(local_engine: LocalEngine) -> None:
    prompts = [f"Was dish {i} good?" for i in range(40)]
    digits = Grammar(choices=tuple("0123456789"))
    greedy, hot = (replies_of(local_engine, digits, prompts, temperature=t, seed=1) for t in (0.0, 2.0))
    same = [a.text == b.text for a, b in zip(greedy, hot, strict=True)]
    assert any(same)
    assert not all(same)
    for cold, warm, alike in zip(greedy, hot, same, strict=True):
        assert cold.confidence is not None
        assert warm.confidence is not None
        if alike:
            assert math.isclose(warm.confidence, cold.confidence, abs_tol=0.02)
        else:
            assert warm.confidence <= cold.confidence + 0.02


@pytest.mark.long
def test_min_confidence_makes_unsure_answers_null(con: Connection) -> None:
    call = "llm_classify('Mood: {}', review, choices := ['positive', 'negative']%s)"
    sql = f"SELECT {call % ''}, {call % ', min_confidence := 0.9'} FROM reviews WHERE review <> '' LIMIT 200"
    rows = con.execute(sql).fetchall()
    assert {sure for _, sure in rows} == {"positive", "negative", None}
    assert all(sure in (None, plain) for plain, sure in rows)
    told = con.execute(
        "SELECT regexp_extract(message, 'probability of ([0-9.e-]+)', 1)::DOUBLE FROM llm_errors() "
        "WHERE kind = 'low_confidence'"
    ).fetchall()
    assert told
    assert all(0 <= p < 0.9 for (p,) in told)


@pytest.mark.long
def test_min_confidence_loses_no_long_choice_and_takes_none_that_was_cut(con: Connection) -> None:
    reasons = ("the delivery was late", "the product was broken", "the bill was wrong")
    choices = [f"The customer complains, since {reason}, and wants an apology" for reason in reasons]
    call = "llm_classify('What is it? {}', text, choices := ?, min_confidence := 0.0)"
    rows = con.execute(f"SELECT {call} FROM (FROM tickets LIMIT 4)", [choices]).fetchall()
    assert {answer for (answer,) in rows} <= set(choices)
    cut = "choices := ['New', 'New York'], max_tokens := 1, temperature := 1.0, seed := 1"
    for more in ("", ", min_confidence := 0.0"):
        call = f"llm_classify('Where is it? {{}}', text, {cut}{more})"
        assert con.execute(f"SELECT DISTINCT {call} FROM (FROM tickets LIMIT 12)").fetchall() == [(None,)]
