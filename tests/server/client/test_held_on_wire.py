"""What a client's session keeps in the memory that all clients share has limits."""

from __future__ import annotations

import psycopg
import pytest

from relserve.server.client.held import DEFINED
from tests.server.client.conftest import Serve, connect


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "text",
    ["SET VARIABLE v = repeat('x', 2000)", f"PREPARE p AS SELECT '{'x' * 2000}'"],
    ids=["variable", "prepared"],
)
def test_a_session_that_holds_too_much_is_ended(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("relserve.server.client.held.MOST_HELD", 1000)
    server = serve()
    con, other = connect(server, autocommit=True), connect(server)
    con.execute("SET VARIABLE v = 1")
    with pytest.raises(psycopg.OperationalError, match="keep rows in a temporary table") as raised:
        con.execute(text)
    assert raised.value.sqlstate == "53400"
    with pytest.raises(psycopg.OperationalError):
        con.execute("SELECT 1")
    assert other.execute("SELECT 1").fetchone() == (1,)


def test_statements_of_messages_and_settings_have_so_many_characters(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relserve.server.client.portals.MOST_PREPARED", 4000)
    monkeypatch.setattr("relserve.server.client.variables.MOST_CHARS", 1000)
    con = connect(serve(), autocommit=True)
    for size in (600, 601):
        con.execute(f"SELECT '{'x' * size}'", prepare=True)
    with pytest.raises(psycopg.Error, match="close some") as raised:
        con.execute(f"SELECT '{'y' * 600}'", prepare=True)
    assert raised.value.sqlstate == "53400"
    con.execute("DEALLOCATE ALL")
    con.execute(f"SELECT '{'z' * 600}'", prepare=True)
    con.execute(f"SET a.b = '{'x' * 600}'")
    con.execute(f"SET a.b = '{'y' * 600}'")  # in place of the one before
    with pytest.raises(psycopg.Error, match="at most 1,000 characters"):
        con.execute(f"SET a.c = '{'x' * 600}'")
    con.execute("SET a.c = 'x'")


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "text",
    ["CREATE TYPE large AS ENUM (SELECT 'x' || range FROM range(2000))",
     f"CREATE VIEW large AS SELECT '{'x' * 11_000}' AS a", f"CREATE MACRO large() AS '{'x' * 11_000}'",
     f"COMMENT ON TABLE small IS '{'x' * 11_000}'", f"CREATE TABLE large (a TEXT DEFAULT '{'x' * 11_000}')"],
)  # fmt: skip
def test_what_is_defined_has_so_many_bytes_in_all(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("CREATE TABLE small AS SELECT 1 AS a")
    (defined_size,) = con.execute(DEFINED).fetchall()[0]  # the llm functions are macros, too
    monkeypatch.setattr("relserve.server.client.held.MOST_DEFINED", int(defined_size) + 10_000)
    with pytest.raises(psycopg.Error, match="keep values in a table") as raised:
        con.execute(text)
    assert raised.value.sqlstate == "53400"
    assert con.execute("FROM small").fetchall() == [(1,)]
    defined = "SELECT count(*) FROM duckdb_{}() WHERE NOT internal AND {} = 'large'"
    for what in (("tables", "table_name"), ("views", "view_name"), ("types", "type_name")):
        assert con.execute(defined.format(*what)).fetchone() == (0,)
    con.execute("CREATE TYPE moods AS ENUM ('good', 'bad')")
