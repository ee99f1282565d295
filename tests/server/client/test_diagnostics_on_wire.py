"""What PostgreSQL's clients read of warnings and errors beside their text, and ends that they wait for."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from tests.server.client.conftest import Serve, connect
from tests.server.client.raw_client import RawClient, message, startup

WARNED = [
    ("COMMIT", "25P01"), ("ROLLBACK", "25P01"), ("SET TRANSACTION READ ONLY", "25P01"),
    ("SET LOCAL statement_timeout = 5", "25P01"), ("BEGIN", None), ("BEGIN", "25001"),
]  # fmt: skip


def test_warnings_about_transactions_have_postgresqls_codes(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    told: list[str | None] = []
    con.add_notice_handler(lambda notice: told.append(notice.sqlstate))
    for text, sqlstate in WARNED:
        told.clear()
        con.execute(text)
        assert told == ([sqlstate] if sqlstate else []), text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SAVEPOINT a", "SAVEPOINT can"),
        ("ROLLBACK TO a", "ROLLBACK TO SAVEPOINT can"),
        ("RELEASE a", "RELEASE SAVEPOINT can"),
    ],
)
def test_savepoints_outside_of_a_block_are_refused_in_postgresqls_words(
    serve: Serve, text: str, words: str
) -> None:
    with pytest.raises(
        psycopg.errors.NoActiveSqlTransaction, match=f"^{words} only be used in transaction blocks"
    ):
        connect(serve(), autocommit=True).execute(text)


def test_an_error_names_the_constraint_that_failed(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    con.execute(
        'CREATE TABLE "a b" (a INTEGER CHECK (a > 0), b INTEGER NOT NULL, CHECK (a < b), CHECK (b <> 5))'
    )
    for values, told in (
        ("(0, 1)", ("a b", "a b_a_check", None)),
        ("(3, 2)", ("a b", "a b_check", None)),
        ("(3, 5)", ("a b", "a b_b_check", None)),
        ("(3, NULL)", ("a b", None, "b")),
    ):
        with pytest.raises(psycopg.errors.IntegrityError) as caught:
            con.execute(f'INSERT INTO "a b" VALUES {values}')
        diag = caught.value.diag
        assert (diag.table_name, diag.constraint_name, diag.column_name) == told


@pytest.mark.parametrize("behind", ["", "; SELECT 5"])
def test_a_client_that_ends_itself_gets_no_further_answer(serve: Serve, behind: str) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    with pytest.raises(psycopg.errors.AdminShutdown):
        con.execute(f"SELECT pg_terminate_backend(pg_backend_pid()){behind}")
    assert con.closed


def test_closing_the_portal_of_a_cursor_closes_the_cursor(serve: Serve) -> None:
    with RawClient(serve()) as client:  # libpq's own function would hold Python's lock while it waits
        client.send(startup(user="ann", database="memory"))
        client.until(b"Z")
        for text in (b"BEGIN", b"DECLARE c CURSOR FOR SELECT 1"):
            client.send(message(b"Q", text + b"\0"))
            client.until(b"Z")
        client.send(message(b"C", b"Pc\0") + message(b"S", b""))
        assert b"E" not in client.until(b"Z")
        client.send(message(b"Q", b"FETCH ALL FROM c\0"))
        assert b"C34000" in client.until(b"Z")[b"E"]


@pytest.mark.parametrize("schema", ["pg_catalog", '"pg_catalog"'])
def test_types_are_found_in_their_schema(serve: Serve, schema: str) -> None:
    con = connect(serve(), autocommit=True)
    text = f"""SELECT 'a'::{schema}."text", '{{1}}'::{schema}."int4"[], CAST(1 AS {schema}."int8")"""
    assert con.execute(text).fetchone() == ("a", [1], 1)
    assert con.execute(f'SELECT %s::{schema}."varchar"', ("b",)).fetchone() == ("b",)


@pytest.mark.parametrize(("oid", "name"), [(4451, "int4multirange"), (3912, "daterange"), (0, "0x00")])
def test_a_range_in_binary_is_refused_by_its_name(serve: Serve, oid: int, name: str) -> None:
    con = connect(serve(), autocommit=True)
    told = con.pgconn.exec_params(b"SELECT $1", [b"\0\0\0\0"], [oid], [1])
    assert name.encode() in told.error_message


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("llm_extract('of {}', 'x', schema := $1)", '{"brand": "VARCHAR"}'),
        ("llm_decide('x', $1)", '{"brand": {"type": "noul", "instructions": "Is a brand named?"}}'),
    ],
)
def test_a_schema_in_a_parameter_is_refused_in_plain_words(serve: Serve, call: str, told: str) -> None:
    asyncpg = pytest.importorskip("asyncpg")
    server = serve()

    async def ask() -> None:
        con = await asyncpg.connect(host="127.0.0.1", port=server.port, user="ann", database="memory")
        try:
            await con.fetch(f"SELECT {call}", told)
        finally:
            await con.close()

    with pytest.raises(asyncpg.FeatureNotSupportedError, match="a schema decides which columns"):
        asyncio.run(ask())


def test_each_client_sees_what_it_has_prepared(serve: Serve) -> None:
    server = serve()
    con, other = connect(server, autocommit=True), connect(server, autocommit=True)
    con.execute("PREPARE p AS SELECT 1")
    con.execute("SELECT %s, %s", (1, "x"), prepare=True)
    text = "SELECT name, statement, parameter_types, from_sql FROM pg_prepared_statements ORDER BY name"
    ((name, *prepared), (own, _, _, is_own)) = con.execute(text, prepare=False).fetchall()
    assert name.startswith("_pg3_")
    assert (prepared, own, is_own) == (["SELECT $1, $2", ["int2", "text"], False], "p", True)
    assert other.execute(text, prepare=False).fetchall() == []
    con.execute("DEALLOCATE ALL")
    assert con.execute(text, prepare=False).fetchall() == []
