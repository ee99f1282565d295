"""READ ONLY, however it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from tests.server.client.conftest import Serve, connect
from tests.waiting import PATIENCE_S


@pytest.fixture
def con(serve: Serve) -> psycopg.Connection[Any]:
    """A client without a transaction, with a table t."""
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute("CREATE TABLE t (a INTEGER)")
    return con


def writes(con: psycopg.Connection[Any], text: str = "INSERT INTO t VALUES (1)") -> bool:
    """Whether a statement that writes is taken."""
    try:
        con.execute(text)
    except psycopg.errors.ReadOnlySqlTransaction:
        return False
    return True


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "statement",
    [
        "SET default_transaction_read_only = on", "SET default_transaction_read_only TO 'yes'",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
    ],
)  # fmt: skip
@pytest.mark.parametrize("cursor", [psycopg.Cursor, psycopg.ClientCursor])
def test_a_client_that_only_reads(
    con: psycopg.Connection[Any], statement: str, cursor: type[psycopg.Cursor[Any]]
) -> None:
    con.cursor_factory = cursor
    con.execute(statement)
    assert con.info.parameter_status("default_transaction_read_only") == "on"
    assert con.execute("SHOW transaction_read_only").fetchone() == ("on",)
    for text in ("INSERT INTO t VALUES (1)", "CREATE TABLE u (a INTEGER)", "EXPLAIN ANALYZE DELETE FROM t"):
        assert not writes(con, text), text
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), con.cursor().copy("COPY t FROM STDIN") as copy:
        copy.write_row([1])
    con.execute("CREATE TEMP TABLE mine AS SELECT llm('Say {}', 1) AS a")
    assert con.execute("SELECT count(*) FROM t, mine").fetchone() == (0,)
    con.execute("BEGIN")
    assert not writes(con)
    con.execute("ROLLBACK")
    con.execute("BEGIN READ WRITE")
    assert writes(con)
    con.execute("COMMIT")
    con.execute("RESET default_transaction_read_only")
    assert writes(con)
    assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)


@pytest.mark.parametrize("statement", ["SET TRANSACTION READ ONLY", "SET transaction_read_only = on"])
def test_a_transaction_that_only_reads(con: psycopg.Connection[Any], statement: str) -> None:
    con.execute("BEGIN")
    con.execute(statement)
    assert con.execute("SHOW transaction_read_only").fetchone() == ("on",)
    assert not writes(con)
    con.execute("ROLLBACK AND CHAIN")
    assert not writes(con)
    con.execute("ROLLBACK")
    assert con.execute("SHOW transaction_read_only").fetchone() == ("off",)
    assert writes(con)


def test_a_transaction_says_so_before_it_runs_anything(con: psycopg.Connection[Any]) -> None:
    con.execute("BEGIN")
    con.execute("SELECT 1")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="before any query"):
        con.execute("SET TRANSACTION READ ONLY")
    con.execute("ROLLBACK")
    con.execute("BEGIN READ ONLY")
    con.execute("SELECT 1")
    with pytest.raises(psycopg.errors.ActiveSqlTransaction):
        con.execute("SET TRANSACTION READ WRITE")
    con.execute("ROLLBACK")


def test_a_text_of_several_statements_that_begins_so(con: psycopg.Connection[Any]) -> None:
    assert not writes(con, "BEGIN READ ONLY; INSERT INTO t VALUES (1); COMMIT")
    con.execute("ROLLBACK")
    assert writes(con, "BEGIN READ ONLY; SELECT 1; COMMIT; INSERT INTO t VALUES (1)")


def test_no_switch_is_taken_for_another(con: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="Boolean"):
        con.execute("SET default_transaction_read_only = maybe")
    assert writes(con)


@pytest.fixture(params=[{}, {"allow_files": True}], ids=["locked", "files allowed"])
def file_and_reader(
    request: pytest.FixtureRequest, serve: Serve, tmp_path: Path
) -> tuple[Path, psycopg.Connection[Any]]:
    """A file with a table t, part of it still in the log that a crash leaves, and a client of its server."""
    file = tmp_path / "shop.db"
    crash = "CREATE TABLE t (a INTEGER); CHECKPOINT; INSERT INTO t VALUES (7)"
    code = f"import duckdb, os; duckdb.connect({str(file)!r}).execute({crash!r}); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE_S)
    server = serve(database=file, read_only=True, **request.param)
    return file, connect(server, dbname="shop", autocommit=True)


@pytest.mark.cells(1)
def test_a_server_that_only_reads(file_and_reader: tuple[Path, psycopg.Connection[Any]]) -> None:
    file, con = file_and_reader
    before = file.read_bytes()
    assert con.execute("SELECT llm('Say {}', a) IS NOT NULL, a FROM t").fetchall() == [(True, 7)]
    assert con.execute("SELECT relname FROM pg_catalog.pg_class WHERE relname = 't'").fetchall() == [("t",)]
    con.execute("SET default_transaction_read_only = off")
    for text in ("INSERT INTO t VALUES (1)", "CREATE VIEW v AS FROM t", "DROP TABLE t"):
        assert not writes(con, text), text
    con.execute("CREATE TEMP TABLE mine AS FROM t")
    assert writes(con, "INSERT INTO mine VALUES (8)")
    assert con.execute("SELECT count(*) FROM mine").fetchone() == (2,)
    assert file.read_bytes() == before


@pytest.mark.cells(2)
@pytest.mark.parametrize("space", [" ", "\u00a0", "\u3000", "\u2028"])
def test_no_text_writes_the_file_of_a_server_that_only_reads(
    serve: Serve, tmp_path: Path, space: str
) -> None:
    """DuckDB's own lock lets COPY write the database's file, and its parser takes odd spaces for blanks."""
    file = tmp_path / "shop.db"
    duckdb.connect(str(file)).execute("CREATE TABLE t AS SELECT 7 AS a").close()
    con = connect(serve(database=file, read_only=True), dbname="shop", autocommit=True)
    before = file.read_bytes()
    copy = f"COPY t TO '{file}' (FORMAT csv, USE_TMP_FILE false)"
    for text in (copy, f"WITH a AS (SELECT{space}e'\\'' AS q), b AS ({copy}) SELECT 1 --'"):
        with pytest.raises(psycopg.Error):
            con.execute(text)
    assert file.read_bytes() == before
    assert con.execute("SELECT a FROM t").fetchall() == [(7,)]
