"""Prepared statements, portals and parameters, as psycopg and asyncpg send them."""

from __future__ import annotations

import asyncio
import datetime as dt
from decimal import Decimal

import asyncpg
import psycopg
import pytest

from relserve.engines.scripted import ScriptedEngine
from tests.server.client.conftest import Serve, connect

TYPES = """
    SELECT 7::SMALLINT, 'a', TIMESTAMP '2024-01-02 03:04:05', true, [1, NULL], 1.5::DOUBLE,
        2.50::DECIMAL(5, 2), NULL
"""
VALUES = (7, "a", dt.datetime(2024, 1, 2, 3, 4, 5), True, [1, None], 1.5, Decimal("2.50"), None)


@pytest.mark.cells(1)
@pytest.mark.parametrize("is_binary", [False, True])
def test_values_come_in_both_formats(serve: Serve, is_binary: bool) -> None:
    con = connect(serve())
    assert con.cursor(binary=is_binary).execute(TYPES).fetchone() == VALUES


def test_parameters_have_the_types_of_their_places(serve: Serve) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR, d DATE, n DECIMAL(10, 2))")
    row = (1, "x", dt.date(2024, 1, 2), Decimal("1.50"))
    con.execute("INSERT INTO t VALUES (%s, %s, %s, %s)", row)
    assert (
        con.execute("SELECT * FROM t WHERE d = %s AND n < %s AND a = ANY(%s)", (row[2], 2, [1, 5])).fetchone()
        == row
    )


def test_a_statement_is_prepared_once_and_runs_often(serve: Serve) -> None:
    con = connect(serve())
    for i in range(8):
        assert con.execute("SELECT %s::BIGINT * 2", (i,), prepare=True).fetchone() == (2 * i,)


def test_describing_asks_no_model(serve: Serve) -> None:
    engine = ScriptedEngine()
    server = serve(engine)

    async def look() -> list[str]:
        con = await asyncpg.connect(host="127.0.0.1", port=server.port, user="ann", database="memory")
        prepared = await con.prepare("SELECT llm($1, range) AS a, llm_filter('{}', range) AS b FROM range(5)")
        kinds = [each.name for each in prepared.get_parameters()]
        return kinds + [each.type.name for each in prepared.get_attributes()]

    assert asyncio.run(look()) == ["text", "text", "bool"]
    assert engine.num_answered == 0


def test_a_named_portal_is_read_in_parts(serve: Serve) -> None:
    con = connect(serve())
    with con.cursor("named") as cursor:
        cursor.execute("SELECT range FROM range(10000)")
        assert cursor.fetchmany(3) == [(0,), (1,), (2,)]
        assert con.execute("SELECT 42").fetchone() == (42,)
        assert len(cursor.fetchall()) == 9997


def test_a_pipeline_goes_on_after_an_error(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    with con.pipeline() as pipeline:
        first = con.execute("SELECT 1")
        con.execute("SELECT nope")
        with pytest.raises(psycopg.errors.UndefinedColumn):
            pipeline.sync()
    assert first.fetchone() == (1,)
    assert con.execute("SELECT 2").fetchone() == (2,)


def test_too_few_parameters_are_told(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    result = con.pgconn.exec_params(b"SELECT $1::INTEGER + $2::INTEGER", [b"1"])
    assert b"requires 2" in result.error_message


def test_answers_of_llm_calls_are_those_of_python(serve: Serve) -> None:
    import relserve

    calls = "llm('Say {}', range), llm_score('{}', range, lo := 1, hi := 5)"
    text = f"SELECT {calls} FROM range(3000) ORDER BY range"
    with relserve.connect(engine=ScriptedEngine(), progress=False, cache=False) as own:
        expected = own.execute(text).fetchall()
    con = connect(serve(cache=False))
    assert con.execute(text).fetchall() == expected
    with con.cursor("named") as cursor:
        assert cursor.execute(text).fetchall() == expected
