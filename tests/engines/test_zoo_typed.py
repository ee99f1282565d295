"""Typed answers in SQL on small made-up models of other architectures, vocabularies and templates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.typed_calls import CALLS, THREE, outcome, prepare
from relserve.api import Connection, connect
from relserve.engines.local.engine import LocalEngine

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]
NUM_ROWS = 20
TEXTS = ("llm_extract, text", "llm_extract, list")
WITH_ALL, THIRDS = ("gemma3", "llama3"), ("opt", "mixtral", "phi3")


@pytest.fixture
def con(zoo_engine: LocalEngine) -> Iterator[Connection]:
    with connect(engine=zoo_engine, progress=False) as opened:
        prepare(opened, NUM_ROWS)
        yield opened


def calls_on(model: str) -> list[str]:
    """All on the two models whose vocabularies differ most; on each of the others a third of them."""
    if model in WITH_ALL:
        return list(CALLS)
    return list(CALLS)[THIRDS.index(model) :: len(THIRDS)]


def test_no_row_is_lost_and_each_answer_is_of_its_type(con: Connection, zoo_engine: LocalEngine) -> None:
    """But where the model goes in circles in a text or a list of texts, which is on record as that."""
    for name in calls_on(zoo_engine.model):
        given = outcome(con, CALLS[name])
        assert given.rows == (NUM_ROWS // 10 if CALLS[name].is_aggregate else NUM_ROWS), name
        assert given.lost == given.endless <= (NUM_ROWS // 5 if name in TEXTS else 0), (name, given.failures)
        assert given.wrong_type == 0, name


def test_answers_depend_on_no_order_and_nulls_are_not_asked(con: Connection) -> None:
    rows = "(SELECT i, if(i % 5 = 0, NULL, review) AS review FROM texts"
    forth, back = (
        dict(con.execute(f"SELECT i, {CALLS['llm_date'].sql} FROM {rows} {order})").fetchall())
        for order in ("", "ORDER BY i DESC")
    )
    assert forth == back
    assert all(forth[i] is None for i in forth if i % 5 == 0)
    asked = con.execute("SELECT distinct_prompts FROM llm_queries()").fetchall()
    assert asked == [(NUM_ROWS - NUM_ROWS // 5,)] * 2


def test_an_unsure_answer_is_null_on_record(con: Connection) -> None:
    call = CALLS["llm_classify, 3"].sql
    sure = call.removesuffix(")") + ", min_confidence := 0.999)"
    rows = con.execute(f"SELECT {call}, {sure} FROM texts").fetchall()
    assert all(plain in THREE for plain, _ in rows)
    assert {answer for _, answer in rows} <= {None, *THREE}
    (unsure,) = con.execute("SELECT count(*) FROM llm_errors() WHERE kind = 'low_confidence'").fetchall()
    assert unsure == (sum(answer is None for _, answer in rows),)
