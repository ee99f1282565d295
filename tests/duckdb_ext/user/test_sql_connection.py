"""The proxies behave like DuckDB's connection and relation, and leave nothing behind."""

from __future__ import annotations

import copy
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from relserve_duckdb import Connection, attach
from sql_fixtures import Made, make

from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import TemplateError
from relserve.session.session import Session
from tests.waiting import PATIENCE_S, wait_until

DATA = pa.table({"a": ["x", "y", None]})


def _reader() -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(DATA.schema, DATA.to_batches())


def _sql(made: Made, text: str, **kwargs: Any) -> Any:
    relation = made.con.sql(text, **kwargs)
    assert relation is not None
    return relation


def test_behaves_like_a_connection(made: Made) -> None:
    con = made.con
    assert con.execute("SELECT 1 AS one, 2 AS two").fetchone() == (1, 2)
    assert con.description[0][0] == "one"
    assert con.execute("SELECT * FROM range(5)").fetchmany(2) == [(0,), (1,)]
    assert con.execute("SELECT llm('d {}', id) AS a FROM p LIMIT 2").df()["a"].tolist() == ["d 0", "d 1"]
    assert con.table("u").limit(1).fetchall() == [(0, "user 0", 0)]
    assert con.execute(con.extract_statements("SELECT llm('s')")[0]).fetchall() == [("s",)]
    with con.cursor() as cursor:
        assert cursor.execute("SELECT llm('c {}', 1)").fetchall() == [("c 1",)]
    with pytest.raises(duckdb.ConnectionException):
        cursor.execute("SELECT 1")
    with pytest.raises(AttributeError):
        con.no_such_method()


@pytest.mark.long
def test_a_reader_nearby_of_which_the_text_says_nothing_does_no_harm(made: Made) -> None:
    r = _reader()  # its name is a letter of "order"
    made.con.register("o", _reader())
    made.rows("SELECT llm('order {}', id) FROM p")
    assert made.asked == (10_000, 1)
    assert made.con.execute("SELECT llm('{}', a) FROM r").fetchall() == [("x",), ("y",), (None,)]
    assert made.rows("SELECT llm('{}', a) FROM o") == [("x",), ("y",), (None,)]
    assert r.read_all().num_rows == 0


@pytest.mark.cells(1)
@pytest.mark.parametrize("method", ["execute", "sql"])
def test_views_over_what_can_be_read_once_are_read_once(made: Made, method: str) -> None:
    made.con.register("once", _reader())
    run = getattr(made.con, method)
    run("CREATE TEMP VIEW below AS FROM once")
    run("CREATE TEMP VIEW above AS FROM below")
    assert made.rows("SELECT llm('{}', a) FROM above") == [("x",), ("y",), (None,)]
    run("CREATE SEQUENCE numbers")
    run("CREATE TEMP MACRO next_one() AS nextval('numbers')")
    assert made.rows("SELECT next_one(), llm('{}', 'x' || range) FROM range(2)") == [(1, "x0"), (2, "x1")]


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT llm(?, body) FROM p WHERE id < ?", ["x {}", 3]),
        ("SELECT llm('x {}', body, max_tokens := $2) FROM p WHERE id < $1", (3, 7)),
        ("SELECT llm('{} {}', $word, body) FROM p WHERE id < $n", {"word": "x", "n": 3}),
        ("INSERT INTO z SELECT ?, llm('x {}', body) FROM p WHERE id < ?", [-1, 3]),
        ("UPDATE z SET id = $2, body = llm('x {}', body) WHERE id < $1", [3, -1]),
        ("CREATE TABLE n AS SELECT -1 AS id, llm('x {}', body) AS body FROM p WHERE id < $1", [3]),
    ],
)
def test_parameters(made: Made, sql: str, parameters: Any) -> None:
    rows = made.rows(sql, parameters)
    if not sql.startswith("SELECT"):
        rows = made.rows(f"SELECT body FROM {'n' if 'TABLE' in sql else 'z'} WHERE id = -1")
    assert sorted(rows) == [("x text 0",), ("x text 1",), ("x text 2",)]
    assert made.asked == (3, 1)


def test_executemany(made: Made) -> None:
    made.con.executemany("INSERT INTO z VALUES (-1, llm('x {}', ?))", [["a"], ["b"], ["a"]])
    assert made.rows("SELECT body FROM z WHERE id = -1") == [("x a",), ("x b",), ("x a",)]
    assert made.engine.num_prompts == 2
    with pytest.raises(TemplateError):
        made.con.executemany("INSERT INTO z VALUES (-1, llm('x {} {}', ?))", [["a"]])


def test_variables_of_the_caller_are_tables(made: Made) -> None:
    mine, reader = DATA, _reader()
    made.con.register("registered", _reader())
    relation = made.con.sql("SELECT 'x' AS a UNION ALL SELECT 'y' UNION ALL SELECT NULL")
    for name in ("mine", "reader", "registered", "relation", "DATA"):
        rows = made.con.execute(f"SELECT llm('q {{}}', a) FROM {name}").fetchall()
        assert rows == [("q x",), ("q y",), (None,)]
    assert mine.num_rows == 3
    assert reader.read_all().num_rows == 0  # it can be read once, and was read whole
    assert relation is not None
    assert relation.fetchall() == [("x",), ("y",), (None,)]


def test_relations_prefetch_when_read(made: Made) -> None:
    relation = _sql(made, "SELECT id, llm('r {}', body) AS y FROM p")
    assert relation.columns == ["id", "y"]
    assert "Seq Scan" in relation.explain()
    assert made.asked == (0, 0)
    assert relation.limit(2).fetchall() == [(0, "r text 0"), (1, "r text 1")]
    assert made.asked == (2, 1)
    assert relation.filter("id < 700").aggregate("count(y)").fetchall() == [(700,)]
    assert made.asked == (502, 2)
    assert (len(relation), relation.shape) == (10000, (10000, 2))
    assert relation.limit(1).union(relation.limit(2)).order("id").fetchall()[0] == (0, "r text 0")
    assert "text 0" in repr(relation)
    assert relation.limit(1).to_arrow_table().num_rows == 1
    relation.limit(3).create("copied")
    assert made.rows("SELECT count(*) FROM copied") == [(3,)]


def test_relation_asks_no_more_than_it_shows_or_counts(made: Made) -> None:
    made.rows("CREATE TABLE many AS SELECT i FROM range(30000) r(i)")
    relation = _sql(made, "SELECT llm('x {}', i) AS y FROM many")
    assert (len(relation), relation.shape) == (30000, (30000, 1))
    assert made.asked == (0, 0)
    assert "x 0" in repr(relation)
    assert made.asked == (10000, 1)


def test_relations_of_every_origin(made: Made) -> None:
    assert made.con.table("u").project("llm('t {}', uname) AS y").count("y").fetchall() == [(300,)]
    assert made.con.from_arrow(_reader()).project("llm('o {}', a)").fetchall() == [
        ("o x",),
        ("o y",),
        (None,),
    ]
    assert _sql(made, "SELECT llm('p {}', $1)", params=["a"]).fetchall() == [("p a",)]
    made.con.sql("CREATE TABLE n AS SELECT llm('n')")
    assert made.rows("FROM n") == [("n",)]
    assert made.asked == (24, 4)
    with pytest.raises(TemplateError):
        made.con.sql("SELECT llm('{} {}', 1)")


def test_unread_result_is_not_lost_to_a_relation(made: Made) -> None:
    made.con.execute("SELECT id FROM p")
    with pytest.raises(duckdb.Error, match="unfinished result"):
        _sql(made, "SELECT llm('r {}', body) FROM p").fetchall()
    assert len(made.con.fetchall()) == 10000


def test_making_a_relation_leaves_an_unread_result_its_answers(made: Made) -> None:
    made.con.execute("SELECT llm('x {}', body) FROM p")
    for text in ("SELECT 1", "SELECT llm('y {}', body) FROM p"):
        assert made.con.sql(text) is not None
    assert len(made.con.fetchall()) == 10000
    assert made.asked == (500, 1)


def test_relation_methods_see_the_variables_of_the_caller(made: Made) -> None:
    mine = pa.table({"a": [1, 2]})
    assert _sql(made, "SELECT 2 AS i").filter("i IN (SELECT a FROM mine)").fetchall() == [(2,)]
    assert _sql(made, "SELECT 2 AS i").query("two", "SELECT llm('{}', a) FROM mine, two").fetchall() == [
        ("1",),
        ("2",),
    ]
    assert mine.num_rows == 2


def test_proxies_copy_and_list_what_is_behind_them(made: Made) -> None:
    relation = _sql(made, "SELECT llm('x {}', 1) AS y")
    assert {"fetchall", "df", "filter", "explain"} <= set(dir(relation))
    assert {"fetchall", "df", "table", "interrupt"} <= set(dir(made.con))
    assert copy.copy(relation).fetchall() == [("x 1",)]


def test_chained_calls_stay_on_the_proxy(made: Made) -> None:
    assert made.con.begin().execute("SELECT llm('x {}', 1)") is made.con
    assert made.con.rollback() is made.con
    made.con.register("seen", DATA)
    assert made.con.unregister("seen") is made.con


def test_failing_statement_aborts_the_transaction_and_ours_never_does(made: Made) -> None:
    made.con.begin()
    made.rows("CREATE TABLE mine AS SELECT 'u' || i AS a FROM range(3000) r(i)")
    with pytest.raises(TemplateError):
        made.rows("SELECT llm('{} {}', a) FROM mine")
    assert made.rows("SELECT count(llm('t {}', a)) FROM mine") == [(3000,)]  # seen by no other connection
    assert made.rows("SELECT count(llm('t {}', body)) FROM p") == [(10000,)]
    with pytest.raises(duckdb.BinderException):
        made.rows("SELECT llm('t {}', nosuch) FROM mine")
    with pytest.raises(duckdb.TransactionException, match="ROLLBACK"):
        made.rows("SELECT llm('t {}', a) FROM mine")
    made.con.rollback()
    assert made.rows("SELECT llm('t {}', 1)") == [("t 1",)]


@pytest.mark.parametrize("made_first", ["CREATE VIEW one AS SELECT 1 AS a", "PREPARE one AS SELECT 1 AS a"])
def test_a_text_that_makes_something_and_then_reads_gives_its_rows(made: Made, made_first: str) -> None:
    read = "EXECUTE one" if made_first.startswith("PREPARE") else "FROM one"
    assert made.rows(f"{made_first}; {read}") == [(1,)]


def test_transaction_in_sql_keeps_one_relquery(made: Made) -> None:
    made.con.execute("BEGIN")
    made.rows("SELECT llm('t {}', body) FROM p")
    made.con.execute("COMMIT")
    assert made.asked == (500, 1)


def test_user_file_keeps_no_trace(tmp_path: Path) -> None:
    path = str(tmp_path / "user.db")
    made = make(path=path, macro=True)
    made.rows("SELECT llm('x {}', body) FROM p LIMIT 1")
    made.con.close()
    plain = duckdb.connect(path)
    names = "SELECT function_name FROM duckdb_functions() WHERE function_name ILIKE '%llm%'"
    assert plain.execute(names).fetchall() == []
    assert {t for (t,) in plain.execute("SHOW TABLES").fetchall()} == {
        "p", "u", "empty", "nulls", "v", "vv", "z", "odd"
    }  # fmt: skip
    again = attach(plain, Session(lambda model: ScriptedEngine(script=echo)))
    again.execute("SELECT rate(body) FROM p").fetchall()
    assert [q.num_distinct for q in again.session.history.queries()] == [500]
    assert again.execute("SELECT rate(title) FROM p LIMIT 2").fetchall() == [(None,), ("rate title 1",)]
    assert again.execute("SELECT y FROM vv LIMIT 1").fetchall() == [("v text 2",)]
    again.close()


@pytest.mark.long
def test_a_database_that_was_just_made_is_not_searched() -> None:
    """Reading the list of its functions would take as long as opening it."""
    raw = duckdb.connect()
    raw.execute("CREATE MACRO rate(t) AS 'llm'")
    searched = attach(raw, Session(lambda model: ScriptedEngine()))
    taken_as_new = attach(raw, Session(lambda model: ScriptedEngine()), is_new=True)
    assert searched._indirect_calls.mentions("SELECT rate(1)")
    assert not taken_as_new._indirect_calls.mentions("SELECT rate(1)")
    taken_as_new.execute("CREATE MACRO more(t) AS 'llm'")
    assert taken_as_new._indirect_calls.mentions("SELECT rate(1), more(2)")
    raw.close()


def test_a_short_name_of_a_view_is_no_part_of_other_words(made: Made) -> None:
    assert not made.con._indirect_calls.mentions("SELECT avg(rated) FROM values_of")  # `v`, `rate`
    assert made.con._indirect_calls.mentions('SELECT "RATE"(1) FROM "V"')


@pytest.mark.long
def test_views_and_macros_that_threads_make_at_once_are_all_known(made: Made) -> None:
    def makes(number: int) -> None:
        with made.con.cursor() as con:
            for each in range(5):
                con.execute(f"CREATE VIEW w{number}_{each} AS SELECT llm('x {{}}', body) AS y FROM p")
                con.execute(f"CREATE MACRO m{number}_{each}(a) AS llm('x {{}}', a)")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(makes, range(8)))
    for number in range(8):
        for each in range(5):
            assert made.con._indirect_calls.mentions(f"FROM w{number}_{each}")
            assert made.con._indirect_calls.mentions(f"SELECT m{number}_{each}(1)")


@pytest.mark.long
def test_complete_runs_a_result_to_its_end(made: Made) -> None:
    made.con.execute("SELECT llm('x {}', id, on_error := 'raise') FROM p").complete()
    assert made.engine.num_prompts == 10000
    assert made.rows("SELECT 1") == [(1,)]


def test_read_only_database(tmp_path: Path) -> None:
    path = str(tmp_path / "read_only.db")
    make(path=path).con.close()
    con = attach(duckdb.connect(path, read_only=True), Session(lambda model: ScriptedEngine(script=echo)))
    assert con.execute("SELECT llm('{}', title) FROM p WHERE id = 1").fetchall() == [("title 1",)]
    assert con.execute("SELECT rows FROM llm_queries()").fetchall() == [(1,)]
    con.close()


@pytest.mark.long
def test_attach_twice(made: Made) -> None:
    other = ScriptedEngine()
    again = attach(made.con, Session(lambda model: other), progress=False)
    assert isinstance(again, Connection)
    again.execute("SELECT llm('x {}', body) FROM p").fetchall()
    assert (other.num_prompts, made.engine.num_prompts) == (500, 0)
    assert made.rows("SELECT llm('x {}', 1)") != []  # the latest functions count
    assert other.num_prompts == 501


@pytest.mark.long
def test_a_constant_call_of_any_type_is_one_row(made: Made) -> None:
    made.rows("SELECT llm('one')")
    made.rows("SELECT llm_int('How many? {}', 'three'), llm_bool('Yes?'), llm_date('When? {}', 'now')")
    made.con.sql("""SELECT llm_extract('{}', 'a', schema := '{"a": "VARCHAR"}') FROM range(3)""").fetchall()
    assert made.rows("SELECT rows, distinct_prompts FROM llm_queries()") == [(1, 1)] * 5


@pytest.mark.long
def test_llm_queries_is_a_table_like_any_other(made: Made) -> None:
    made.rows("SELECT llm('a {}', body), llm_filter('b {}', title) FROM p")
    made.con.execute("CREATE VIEW seen AS SELECT function, rows, started FROM llm_queries()")
    assert made.rows("SELECT function, rows FROM seen ORDER BY 1") == [("llm", 10000), ("llm_filter", 10000)]
    assert made.rows("SELECT sum(failed_rows) FROM llm_queries()") == [(9800,)]
    joined = "SELECT count(*) FROM llm_queries() q JOIN llm_errors() e USING (rel_id)"
    assert made.rows(joined) == [(40,)]
    assert made.rows("SELECT max(n) FROM (SELECT (SELECT count(*) FROM llm_queries()) AS n FROM u)") == [(2,)]


def test_close_in_mid_stream_asks_nothing_more() -> None:
    made = make(prefetch=False, chunk=64)
    made.con.execute(
        "SET streaming_buffer_size = '10KB'; CREATE TABLE big AS SELECT i FROM range(300000) r(i)"
    )
    made.con.execute("SELECT llm('x {}', i) FROM big").fetchone()
    made.engine.stalls_after = (seen := made.engine.num_answered) + 64
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(made.con.fetchall)
        wait_until(lambda: made.engine.num_answered > seen)
        made.con.close()
        with pytest.raises(duckdb.Error):
            rest.result(PATIENCE_S)
    asked, made.engine.stalls_after = made.asked, None
    assert asked[0] < 300_000
    time.sleep(0.3)  # for many chunks more
    assert made.engine.num_answered == seen + 64
    assert made.asked == asked


def test_closed_connection_under_a_live_relation(made: Made) -> None:
    relation = _sql(made, "SELECT llm('x {}', body) FROM p")
    made.con.close()
    made.con.close()
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        relation.fetchall()
    assert made.asked == (0, 0)
