"""Spans of statements and their relQueries, in the provider that the user's program has set."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from questions.recorded_answers import Recorded
from relserve_duckdb import Connection, attach

import relserve
from relserve.cache.cache import AnswerCache
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import EngineDeadError, RowError
from relserve.session.session import Session
from tests.traces import kept_spans
from tests.waiting import act_when

VALUES = "(VALUES ('secret a'), ('secret a'), ('secret b'), (NULL)) t(x)"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with kept_spans(monkeypatch) as exporter:
        yield exporter


def connected(engine: ScriptedEngine, prefetch: bool = True) -> Connection:
    return relserve.connect(engine=engine, prefetch=prefetch, progress=False)


def named(spans: Any, name: str) -> list[Any]:
    return [each for each in spans.get_finished_spans() if each.name == f"relserve.{name}"]


def is_below(child: Any, parent: Any) -> bool:
    return child.parent is not None and child.parent.span_id == parent.context.span_id


def has_failed(span: Any) -> bool:
    from opentelemetry.trace import StatusCode

    return span.status.status_code is StatusCode.ERROR


def test_a_statement_has_its_relqueries_below_it(spans: Any) -> None:
    engine = ScriptedEngine()
    con = connected(engine)
    con.execute(f"SELECT llm('{{}}', x), llm_filter('Long? {{}}', x) FROM {VALUES}").fetchall()
    (statement,) = named(spans, "statement")
    assert statement.parent is None
    assert dict(statement.attributes) == {"db.system.name": "duckdb", "relserve.llm_calls": 2}
    relqueries = named(spans, "relquery")
    assert all(is_below(each, statement) for each in relqueries)
    assert [each.attributes["relserve.function"] for each in relqueries] == ["llm", "llm_filter"]
    sent = {each.rel_id: each.trace["traceparent"].split("-") for each in engine.submissions}
    for relquery in relqueries:
        ids = relquery.context
        told = sent[relquery.attributes["relserve.rel_id"]][1:3]
        assert told == [f"{ids.trace_id:032x}", f"{ids.span_id:016x}"]


def test_a_relquery_tells_how_much_and_never_what(spans: Any) -> None:
    con = connected(ScriptedEngine())
    con.execute(f"SELECT llm('Say {{}}', x) FROM {VALUES}").fetchall()
    (relquery,) = named(spans, "relquery")
    told = dict(relquery.attributes)
    assert told.pop("relserve.rel_id").startswith("rel-")
    number = told.pop("relserve.statement")
    assert con.execute("SELECT max(statement) FROM llm_queries()").fetchall() == [(number,)]
    assert told == {
        "relserve.function": "llm", "gen_ai.request.model": "scripted", "relserve.rows": 4,
        "relserve.distinct_prompts": 2, "relserve.kept_answers": 0, "relserve.failed_rows": 0,
    }  # fmt: skip
    assert "secret" not in "".join(each.to_json() for each in spans.get_finished_spans())


@pytest.mark.long
def test_kept_answers_are_told(spans: Any, tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite", 2**26, pytest.fail)
    session = Session(lambda _: ScriptedEngine(identity="same"), cache=cache)
    for _ in range(2):
        con = attach(duckdb.connect(), session=session)
        con.execute(f"SELECT llm('{{}}', x) FROM {VALUES}").fetchall()
    assert [each.attributes["relserve.kept_answers"] for each in named(spans, "relquery")] == [0, 2]


def test_rows_that_fail_are_counted_and_an_engine_that_dies_is_an_error_without_its_words(spans: Any) -> None:
    con = connected(ScriptedEngine(script=echo, max_prompt_chars=5))
    con.execute(f"SELECT llm('{{}}', x) FROM {VALUES}").fetchall()
    (relquery,) = named(spans, "relquery")
    assert relquery.attributes["relserve.failed_rows"] == 3
    assert not has_failed(relquery)
    with pytest.raises(RowError, match="secret"):
        con.execute(f"SELECT llm('{{}}', x, on_error := 'raise') FROM {VALUES}").fetchall()
    with pytest.raises(EngineDeadError):
        connected(ScriptedEngine(dies_after=0)).execute("SELECT llm('{}', 'secret')").fetchall()
    for name in ("statement", "relquery"):
        *_, by_row, by_engine = named(spans, name)
        assert has_failed(by_row)
        assert has_failed(by_engine)
        assert by_row.attributes["error.type"] == "RowError"
        assert by_engine.attributes["error.type"] == "EngineDeadError"
    assert "secret" not in "".join(each.to_json() for each in spans.get_finished_spans())


@pytest.mark.cells(1)
@pytest.mark.parametrize("prefetch", [True, False])
def test_relations_and_duckdbs_threads_have_the_span_of_their_statement(spans: Any, prefetch: bool) -> None:
    con = connected(ScriptedEngine(), prefetch)
    relation = con.sql("SELECT llm('{}', 'text ' || i) FROM range(5000) t(i)")
    assert named(spans, "statement") == []
    relation.fetchall()
    (statement,) = named(spans, "statement")
    assert all(is_below(each, statement) for each in named(spans, "relquery"))


def test_the_users_own_span_is_around_all_in_every_thread_of_theirs(spans: Any) -> None:
    from opentelemetry import trace

    def work(number: int) -> None:
        with trace.get_tracer("user").start_as_current_span("relserve.user"):
            con.cursor().execute(f"SELECT llm('{{}}', 'number {number}')").fetchall()

    con = connected(ScriptedEngine())
    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    users = {each.context.span_id: each for each in named(spans, "user")}
    assert len(users) == 4
    assert {each.parent.span_id for each in named(spans, "statement")} == set(users)


def test_what_asks_nothing_has_no_span(spans: Any) -> None:
    con = connected(ScriptedEngine())
    con.execute("SELECT 42").fetchall()
    con.execute("SELECT count(*) FROM llm_queries()").fetchall()
    con.execute("EXPLAIN SELECT llm('{}', 'a')").fetchall()
    con.execute("CREATE VIEW v AS SELECT llm('{}', 'a') AS x")
    assert spans.get_finished_spans() == ()
    con.execute("FROM v").fetchall()
    assert len(named(spans, "statement")) == 1


@pytest.mark.long
def test_questions_are_asked_below_the_statement_in_which_they_are(spans: Any) -> None:
    class Asking(Recorded):
        def __call__(self, questions: Any, con: Any, session: Session, *args: Any, **options: Any) -> Any:
            relquery = RelQuery("llm", Template.parse("{}").bind(1), [(each,) for each in questions])
            session.run(relquery)
            return super().__call__(questions, con, session, *args, **options)

    con = attach(
        duckdb.connect(), Session(lambda _: ScriptedEngine()), progress=False,
        pipeline=Asking({"How many?": "SELECT 42 AS n"}),
    )  # fmt: skip
    for ask in (con.execute, con.sql):
        assert ask("SELECT n FROM text2sql('How many?')").fetchall() == [(42,)]
    assert len(named(spans, "statement")) == len(named(spans, "relquery")) == 2
    for statement, relquery in zip(named(spans, "statement"), named(spans, "relquery"), strict=True):
        assert is_below(relquery, statement)


@pytest.mark.cells(1)
@pytest.mark.parametrize("prefetch", [True, False])
def test_an_interrupted_statement_has_not_failed(spans: Any, prefetch: bool) -> None:
    engine = ScriptedEngine(pause_s=3600)  # until it is aborted
    con = connected(engine, prefetch)
    act_when(lambda: engine.num_prompts > 0, con.interrupt)
    with pytest.raises(duckdb.InterruptException):
        con.execute("SELECT count(llm('{}', i::VARCHAR)) FROM range(5000) t(i)").fetchall()
    found = named(spans, "statement") + named(spans, "relquery")
    assert len(found) >= 2
    assert not [each for each in found if has_failed(each) or "error.type" in each.attributes]
