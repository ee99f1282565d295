"""Columns that `Connection.describe` tells, held against those of the same statement when it runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import duckdb
import pytest
from guests import Guest
from relserve_duckdb import Connection
from relserve_duckdb.describe import describer
from sql_fixtures import Made, make

from relserve.engines.scripted import echo
from relserve.errors import UsageError
from tests.waiting import Limit

TABLES = """
CREATE TYPE mood AS ENUM ('a', 'b''c');
CREATE TABLE every (
    a INTEGER, d DATE, dd DECIMAL(9, 2), e ENUM('x', 'y z'), m mood, s STRUCT("a b" INTEGER, "A" VARCHAR[]),
    mp MAP(VARCHAR, STRUCT("select" mood)), u UNION(n INTEGER, s VARCHAR), j JSON, js JSON[], ar INTEGER[3],
    ts TIMESTAMP WITH TIME ZONE, tt TIME WITH TIME ZONE, h HUGEINT, uh UHUGEINT, bt BIT, bl BLOB, v VARIANT,
    iv INTERVAL, ns TIMESTAMP_NS, n TIME_NS, uu UUID, big BIGNUM, f FLOAT, l DECIMAL(38, 10)[][]);
CREATE TEMP TABLE mine AS SELECT 1::UTINYINT AS z;
CREATE TEMP MACRO next_of(x) AS x + 1;
CREATE VIEW asking AS SELECT id, llm('v {}', body) AS y FROM p;
PREPARE counted AS SELECT count(*) AS "Count" FROM p WHERE id < $1;
PREPARE inserted AS INSERT INTO empty(id) VALUES ($1);
PREPARE asked AS SELECT llm('is {}', $1) AS answer;
"""
READING = (
    "FROM every",
    "SELECT NULL, ROW(1, 'x'), [NULL], {'A': 1, 'b c': [2]}",
    "SELECT next_of(z), z + 1 FROM mine",
    "SELECT 1 AS a, 2 AS a",
    "VALUES (1, 'x')",
    "WITH x AS (SELECT id FROM p) SELECT max(id), count(*) FILTER (WHERE id > 3) FROM x",
    "SELECT id, llm('x {}', body), llm_filter('x {}', body) AS f, llm_score('x {}', body) FROM p LIMIT 0",
    "SELECT llm_extract('x {}', body, schema := '{\"a\":\"INTEGER\"}'), llm_date('{}', d) FROM p LIMIT 0",
    "SELECT llm_agg('s {}', body ORDER BY id) FILTER (WHERE id > 3), g FROM p WHERE id < 0 GROUP BY g",
    "SELECT llm_agg(DISTINCT 's {}', body) OVER (PARTITION BY g) AS w FROM p WHERE id < 0",
    "SELECT llm('constant'), CASE WHEN llm_filter('is {}', 'x') THEN 1 ELSE 2.5 END WHERE false",
    "FROM asking LIMIT 0",
    "FROM llm_queries()",
    "EXPLAIN SELECT 1",
    "DESCRIBE every",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "SUMMARIZE mine",
    "SHOW threads",
    "PRAGMA table_info('p')",
    "PRAGMA database_size",
    "CALL pragma_version()",
    "FROM range(3)",
)
WITHOUT_ROWS = (
    "INSERT INTO empty(id) VALUES (1)", "UPDATE p SET id = 1", "DELETE FROM p",
    "CREATE TABLE q AS SELECT 1 AS x",
    "CREATE TABLE q (x INTEGER)", "CREATE VIEW q AS SELECT llm('x {}', body) AS y FROM p", "DROP TABLE p",
    "COPY p TO 'nowhere.csv'", "SET threads = 1", "BEGIN", "COMMIT", "CHECKPOINT", "USE memory",
    "PREPARE q AS SELECT llm('x {}', 1)", "EXECUTE inserted(1)", "ALTER TABLE p ADD COLUMN q INTEGER",
    "INSERT INTO empty(body) SELECT llm('x {}', body) FROM p WHERE body <> 'returning'",
    "MERGE INTO empty USING (SELECT 1 AS id) s ON s.id = empty.id WHEN MATCHED THEN DELETE", "", "-- nothing",
)  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Iterator[Made]:
    made = make(script=echo)
    made.con.execute(TABLES)
    yield made
    made.con.close()


@pytest.fixture
def without_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describer, "is_reachable", lambda con: False)


def _executed(con: Connection, text: str) -> list[tuple[str, str]]:
    found = con.execute(text)
    columns = [(name, str(kind)) for name, kind, *_ in found.description]
    found.fetchall()
    return columns


@pytest.mark.parametrize("text", READING)
def test_columns_are_those_of_the_statement_that_runs(world: Made, text: str) -> None:
    asked = world.asked
    found = world.con.describe(text)
    assert (found.parameters, world.asked) == ([], asked)
    assert found.columns == _executed(world.con, text)


@pytest.mark.parametrize("text", READING)
@pytest.mark.usefixtures("without_c")
def test_columns_are_the_same_without_the_c_interface(world: Made, text: str) -> None:
    asked = world.asked
    found = world.con.describe(text)
    assert world.asked == asked
    assert found.columns == _executed(world.con, text)


@pytest.mark.parametrize("text", WITHOUT_ROWS)
def test_a_statement_without_rows_has_no_columns_and_does_not_run(world: Made, text: str) -> None:
    tables = world.rows("SHOW ALL TABLES")
    for _ in range(2):
        assert world.con.describe(text).columns == []
    assert world.rows("SHOW ALL TABLES") == tables
    assert world.rows("SELECT count(*), min(id), max(id) FROM p") == [(10000, 0, 9999)]


@pytest.mark.usefixtures("without_c")
@pytest.mark.parametrize("text", WITHOUT_ROWS)
def test_nor_without_the_c_interface(world: Made, text: str) -> None:
    assert world.con.describe(text).columns == []
    assert world.rows("SELECT count(*), min(id), max(id) FROM p") == [(10000, 0, 9999)]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "INSERT INTO empty(id) VALUES (1) RETURNING id, body || 'x' AS y",
            [("id", "BIGINT"), ("y", "VARCHAR")],
        ),
        ("UPDATE u SET tier = 1 RETURNING *", [("id", "BIGINT"), ("uname", "VARCHAR"), ("tier", "BIGINT")]),
        ('DELETE FROM u RETURNING id AS "Count"', [("Count", "BIGINT")]),
    ],
)
def test_returning_gives_rows(
    world: Made, monkeypatch: pytest.MonkeyPatch, text: str, columns: list[tuple[str, str]]
) -> None:
    assert world.con.describe(text).columns == columns
    monkeypatch.setattr(describer, "is_reachable", lambda con: False)
    assert world.con.describe(text).columns == columns
    assert world.rows("SELECT count(*) FROM u WHERE tier = 1") == [(60,)]


def test_prepared_statements_give_what_they_hold(world: Made) -> None:
    asked = world.asked
    assert world.con.describe("EXECUTE counted(5)").columns == [("Count", "BIGINT")]
    assert world.con.describe("EXECUTE asked('x')").columns == [("answer", "VARCHAR")]
    assert world.asked == asked


def test_a_pivot_has_a_column_for_each_value(world: Made) -> None:
    text = "PIVOT u ON tier USING count(*) GROUP BY uname"
    assert world.con.describe(text).columns == _executed(world.con, text)


def test_a_transaction_and_its_tables_are_seen(world: Made) -> None:
    con = world.con.cursor()
    con.execute("BEGIN; CREATE TABLE fresh AS SELECT 1 AS x, TIME '1:02' AS t")
    assert con.describe("FROM fresh").columns == [("x", "INTEGER"), ("t", "TIME")]
    con.execute("ROLLBACK")
    with pytest.raises(duckdb.CatalogException, match="fresh does not exist"):
        con.describe("FROM fresh")
    con.close()


def test_dataframes_of_the_caller_are_seen(world: Made) -> None:
    frame = world.con.sql("SELECT 1 AS x").to_arrow_table()  # type: ignore[union-attr]
    assert world.con.describe("FROM frame").columns == [("x", "INTEGER")]
    assert frame.num_rows == 1
    guest = world.con.cursor_for(world.con.session, Guest())
    with pytest.raises(duckdb.CatalogException, match="frame does not exist"):
        guest.describe("FROM frame")
    guest.close()


def test_errors_are_duckdbs_own(world: Made) -> None:
    con = world.con
    for text, kind in (
        ("SELECT nope FROM p", duckdb.BinderException), ("FROM nope", duckdb.CatalogException),
        ("SELEC 1", duckdb.ParserException), ("EXECUTE nope", duckdb.BinderException),
    ):  # fmt: skip
        with pytest.raises(kind) as raised:
            con.execute(text)
        with pytest.raises(kind) as described:
            con.describe(text)
        assert str(described.value) == str(raised.value)
    with pytest.raises(UsageError, match="takes one statement, not 2"):
        con.describe("SELECT 1; SELECT 2")
    with pytest.raises(duckdb.BinderException, match=r"LINE 1: SELECT llm_agg\('x \{\}', nope ORDER BY id\)"):
        con.describe("SELECT llm_agg('x {}', nope ORDER BY id) FROM p")


def test_an_unread_result_is_left_alone(world: Made) -> None:
    with world.con.cursor() as con:
        con.execute("SELECT id FROM p")
        assert con.fetchone() == (0,)
        with pytest.raises(duckdb.ResourceInUseException):
            con.describe("SELECT 1")
        assert len(con.fetchall()) == 9999
        assert con.describe("SELECT 1").columns == [("1", "INTEGER")]
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        con.describe("SELECT 1")


@pytest.mark.performance
def test_it_takes_little_time(world: Made, limit_s: Limit) -> None:
    for text in (
        "SELECT * FROM p WHERE id = $1 AND d > $2",
        "SELECT $1 + 1, $2",
        "SELECT llm('x {}', body) FROM p",
    ):
        taken = []
        for _ in range(20):
            started = time.perf_counter()
            world.con.describe(text)
            taken.append(time.perf_counter() - started)
        assert statistics.median(taken) < limit_s(3e-3, busy=0.5)
