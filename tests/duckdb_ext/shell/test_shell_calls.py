"""Calls through the extension: what is asked, what is on record, and what is said where a call is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest
from extension_host import Installed, Serve, Service, needs_shell, serving

from relserve.cache.cache import shared_cache
from relserve.call.options import FUNCTIONS
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine, by_hash, echo
from relserve.errors import Failure, FailureKind
from relserve.session.session import Session
from tests.waiting import wait_until

WRONG = {
    "SELECT llm('{}', 1, nonsense := 3)": "max_tokens",
    "SELECT llm('{}', 1, 2)": "argument 2 has no placeholder",
    "SELECT llm('{', 1)": "'{' is never closed",
    "SELECT llm('{}', 1, max_tokens := 0)": "max_tokens must be from 1 to 1000000, not 0",
    "SELECT llm('{}', 1, 2, 3, 4, 5, 6, 7, 8, 9)": "llm() takes at most 8 values after the template",
    "SELECT llm_classify('{}', 1)": "llm_classify() needs choices := ",
    "SELECT llm(x || ' {}', x) FROM (VALUES ('a'), ('b')) t(x)": "must be the same for all rows",
    "SELECT llm('{}', x, max_tokens := x) FROM range(1, 3) t(x)": "an option must be the same for all rows",
    "SELECT llm_extract('{}', 1)": "llm_extract() needs schema := ",
}


def records(con: duckdb.DuckDBPyConnection, columns: str) -> list[tuple[object, ...]]:
    return con.execute(f"SELECT {columns} FROM llm_queries()").fetchall()


@pytest.mark.cells(1)
@pytest.mark.parametrize("threads", [1, 4])
def test_a_call_site_is_one_relquery_whatever_its_chunks(
    installed: Installed, service: Service, threads: int
) -> None:
    with installed.connect(service) as con:
        con.execute(f"SET threads = {threads}")
        con.execute(
            "CREATE TABLE big AS SELECT i, CASE WHEN i >= 100 THEN 'text ' || (i % 5000) END AS x "
            "FROM range(300000) t(i)"
        )
        assert con.execute("SELECT count(DISTINCT llm('<{}>', x)) FROM big").fetchall() == [(5000,)]
        assert records(con, "rows, distinct_prompts, null_rows, state") == [(300_000, 5000, 100, "done")]
        assert service.engine.num_prompts == 5000
        assert len({each.rel_id for each in service.engine.submissions}) == 1


def test_a_statement_asks_each_prompt_once_and_the_next_one_again(
    installed: Installed, service: Service
) -> None:
    sql = "SELECT llm('{}', x), llm('{}', x || '') FROM (VALUES ('a'), ('b'), ('a')) t(x)"
    with installed.connect(service) as con:
        for number in (1, 2):
            assert con.execute(sql).fetchall() == [("a", "a"), ("b", "b"), ("a", "a")]
            assert service.engine.num_prompts == 2 * number
        assert [row[0] for row in records(con, "statement")] == [1, 2]


def test_kept_answers_are_not_asked_again(installed: Installed, tmp_path: Path) -> None:
    engine = ScriptedEngine(identity="kept")
    session = Session(lambda model: engine, cache=shared_cache(tmp_path / "kept.db", 2**20, print))
    with serving(engine, session) as service:
        for _ in range(2):
            with installed.connect(service) as con:
                con.execute("SELECT llm('{}', i) FROM range(10) t(i)").fetchall()
        assert engine.num_prompts == 10


def test_vectors_are_lists_of_floats(installed: Installed, service: Service) -> None:
    rows = "(SELECT llm_embed(x) AS v FROM (VALUES ('a mug'), (NULL)) t(x))"
    sql = f"SELECT typeof(v), len(v), round(list_inner_product(v, v), 4) FROM {rows}"
    with installed.connect(service) as con:
        found = con.execute(sql).fetchall()
        assert found == [("FLOAT[]", 8, 1.0), ("FLOAT[]", None, None)]


def test_explain_asks_nothing(installed: Installed, service: Service) -> None:
    with installed.connect(service) as con:
        con.execute("EXPLAIN SELECT llm('{}', i) FROM range(10) t(i) WHERE llm_filter('{}', i)").fetchall()
        con.execute("CREATE VIEW v AS SELECT llm('{}', i) AS x FROM range(10) t(i)")
        con.execute("PREPARE p AS SELECT llm('{}', i) FROM range(10) t(i)")
        assert service.engine.num_prompts == 0


@needs_shell
def test_explain_in_the_shell_asks_nothing_of_constants_either(
    installed: Installed, service: Service
) -> None:
    explained = "EXPLAIN SELECT llm('constant'), llm('{}', 'text') || '!', llm_score('{}', 4.5 + 1);"
    assert "DUMMY_SCAN" in installed.shell(service, explained).out
    assert service.engine.num_prompts == 0
    assert "constant" in installed.shell(service, "SELECT llm('constant');").out
    assert service.engine.num_prompts == 1


@pytest.mark.cells(4)
@pytest.mark.parametrize("sql", WRONG)
def test_a_wrong_call_is_told_why(installed: Installed, service: Service, sql: str) -> None:
    with installed.connect(service) as con, pytest.raises(duckdb.Error) as raised:
        con.execute(sql).fetchall()
    assert WRONG[sql] in str(raised.value)
    assert service.engine.num_prompts == 0


@pytest.mark.long
def test_an_unknown_option_is_answered_with_those_there_are(installed: Installed, service: Service) -> None:
    for function in FUNCTIONS:
        with installed.connect(service) as con, pytest.raises(duckdb.Error) as raised:
            con.execute(f"SELECT {function}('{{}}', 1, colour := 'red')").fetchall()
        expected = "llm_agg(" if function == "llm_agg" else FUNCTIONS[function].options[-1]
        assert expected in str(raised.value)


def test_failed_rows_are_null_and_on_record(
    installed: Installed, serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    def answer(prompt: str, submission: Submission) -> str | Failure:
        return Failure(FailureKind.REFUSED, "not this one") if "3" in prompt else prompt

    service = serve(script=answer)
    with installed.connect(service) as con:
        rows = con.execute("SELECT llm('{}', i) FROM range(5) t(i)").fetchall()
        assert rows == [("0",), ("1",), ("2",), (None,), ("4",)]
        assert con.execute("SELECT kind, message, prompt, rows FROM llm_errors()").fetchall() == [
            ("refused", "not this one", "3", 1)
        ]
        assert "1 of 5 rows failed and is NULL: 1 refused; see llm_errors()" in capfd.readouterr().err
        with pytest.raises(duckdb.Error, match="not this one"):
            con.execute("SELECT llm('{}', i, on_error := 'raise') FROM range(5) t(i)").fetchall()


def test_connections_have_histories_of_their_own(installed: Installed, service: Service) -> None:
    with installed.connect(service) as con, con.cursor() as other:
        installed.load(other, service)
        con.execute("SELECT llm('one {}', 1)").fetchall()
        other.execute("SELECT llm('other {}', 1)").fetchall()
        assert records(con, "template") == [("one {}",)]
        assert records(other, "template") == [("other {}",)]


def test_tables_on_record_of_several_chunks(installed: Installed, serve: Serve) -> None:
    service = serve(script=lambda prompt, submission: Failure(FailureKind.REFUSED, f"no {prompt}"))
    with installed.connect(service) as con:
        con.execute("SELECT llm('{}', i) FROM range(5000) t(i)").fetchall()
        told = "SELECT count(*), count(DISTINCT message), max(rows) FROM llm_errors()"
        assert con.execute(told).fetchall() == [(5000, 5000, 1)]
        (record,) = con.execute("SELECT * EXCLUDE (rel_id, started, seconds) FROM llm_queries()").fetchall()
        names = [name for name, *_ in con.description]
        shown = dict(zip(names, record, strict=True))
        assert shown["failed_rows"] == shown["rows"] == 5000
        assert (shown["function"], shown["template"], shown["waiting_s"]) == ("llm", "{}", None)
        con.execute("SET TimeZone = 'UTC'")
        age = con.execute("SELECT now()::TIMESTAMP - started FROM llm_queries()").fetchall()[0][0]
        assert timedelta(0) <= age < timedelta(hours=1)


def test_typed_answers(installed: Installed, serve: Serve) -> None:
    service = serve(script=by_hash)
    sql = """SELECT llm_int('{}', 1), llm_double('{}', 1), llm_bool('{}', 1), llm_date('{}', 1),
        llm_extract('{}', 'x', schema := {'name': 'VARCHAR', 'ages': 'BIGINT[]'}),
        llm_prob('{}', 1), llm_probs('{}', 1, choices := ['a', 'b']), llm_tags('{}', 1, choices := ['a']),
        llm_decide(1, '{"a": {"type": "noul", "instructions": "?"},
            "b": {"type": "choice", "instructions": "?", "criteria": {"u": null, "v": "last"}}}'),
        llm_quote('{}', 'a b'), llm_quote('{}', 'a b', offsets := true)"""
    with installed.connect(service) as con:
        types = con.execute(f"DESCRIBE {sql}").fetchall()
        assert [kind for _, kind, *_ in types] == [
            "BIGINT", "DOUBLE", "BOOLEAN", "DATE", 'STRUCT("name" VARCHAR, ages BIGINT[])',
            "DOUBLE", "MAP(VARCHAR, DOUBLE)", "VARCHAR[]",
            "STRUCT(a DOUBLE, b STRUCT(choice VARCHAR, probability DOUBLE, "
            "probabilities MAP(VARCHAR, DOUBLE)))",
            "VARCHAR", 'STRUCT("text" VARCHAR, "start" BIGINT, stop BIGINT)',
        ]  # fmt: skip
        assert con.execute("SELECT count(*) FROM llm_errors()").fetchall() == [(0,)]
        assert len(con.execute(sql).fetchall()) == 1


def test_times_with_a_zone_read_in_the_zone_of_the_connection(installed: Installed, service: Service) -> None:
    with installed.connect(service) as con:
        con.execute("SET TimeZone = 'Asia/Kolkata'")
        rows = con.execute("SELECT llm('{}', TIMESTAMPTZ '2024-02-29 12:00:00+00')").fetchall()
        assert rows == [("2024-02-29 17:30:00+05:30",)]


def test_a_prepared_statement_runs_twice(installed: Installed, service: Service) -> None:
    with installed.connect(service) as con:
        con.execute("PREPARE p AS SELECT llm('{}', i) FROM range(3) t(i) WHERE i < $1")
        assert con.execute("EXECUTE p(2)").fetchall() == [("0",), ("1",)]
        assert con.execute("EXECUTE p(3)").fetchall() == [("0",), ("1",), ("2",)]


@needs_shell
def test_nothing_is_left_in_the_users_file(installed: Installed, service: Service, tmp_path: Path) -> None:
    path = tmp_path / "users.db"
    installed.shell(service, "CREATE TABLE kept AS SELECT llm('{}', 1) AS a;", str(path))
    with duckdb.connect(path, read_only=True) as con:
        assert con.execute("SELECT a FROM kept").fetchall() == [("1",)]
        entries = "SELECT table_name FROM duckdb_tables() WHERE NOT internal UNION ALL " + " UNION ALL ".join(
            f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE NOT internal"
            for kind in ("view", "function", "type")
        )
        assert con.execute(entries).fetchall() == [("kept",)]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["users.db"]


def test_a_closed_database_leaves_no_socket_open(installed: Installed, service: Service) -> None:
    with installed.connect(service) as con:
        con.execute("SELECT llm('{}', 1)").fetchall()
        assert service.num_open > 0
    wait_until(lambda: service.num_open == 0)


@pytest.mark.long
def test_many_connections_keep_few_sockets_open(installed: Installed, service: Service) -> None:
    with installed.connect(service) as con:
        for i in range(80):
            with con.cursor() as cursor:
                installed.load(cursor, service)
                assert cursor.execute("SELECT llm('{}', $1)", [i]).fetchall() == [(str(i),)]
        wait_until(lambda: service.num_open <= 16)
        assert con.execute("SELECT llm('{}', 'last')").fetchall() == [("last",)]


@pytest.mark.performance
def test_a_hundred_thousand_rows(installed: Installed, serve: Serve, limit_s: Callable[..., float]) -> None:
    service = serve(script=echo, remembers=False)
    with installed.connect(service) as con:
        con.execute("CREATE TABLE big AS SELECT 'row ' || i AS x FROM range(100000) t(i)")
        started = time.perf_counter()
        assert con.execute("SELECT count(llm('<{}>', x)) FROM big").fetchall() == [(100_000,)]
        assert time.perf_counter() - started < limit_s(3)
