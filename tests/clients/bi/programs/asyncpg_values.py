"""asyncpg: values and parameters, all in binary and typed by the server."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

from tests.clients.bi.programs.checks import Checks

checks = Checks(connect=lambda: None, close=lambda con: None)
TYPES = """SELECT id, a_smallint, a_bigint, a_real, a_double, a_numeric, a_boolean, a_text, a_date, a_time, a_timestamp,
    a_timestamptz, an_interval, a_uuid, a_bytea, a_json, some_integers, some_texts, a_mood FROM all_types ORDER BY id"""


def check(work: Callable[[asyncpg.Connection], Awaitable[Any]]) -> None:
    """Take a coroutine as a check, on a connection and in a loop of its own."""

    async def run() -> Any:
        con = await asyncpg.connect()
        try:
            return await work(con)
        finally:
            await con.close(timeout=5)

    checks.add(work.__name__, lambda _: asyncio.run(run()))


@check
async def by_key(con: Any) -> Any:
    return await con.fetch("SELECT * FROM orders WHERE id = $1", 3)


@check
async def all_types(con: Any) -> Any:
    return await con.fetch(TYPES)


@check
async def attributes(con: Any) -> Any:
    statement = await con.prepare(TYPES)
    return [(a.name, a.type.oid, a.type.name, a.type.kind, a.type.schema) for a in statement.get_attributes()]


@check
async def parameter_types(con: Any) -> Any:
    statement = await con.prepare(
        "SELECT id FROM orders WHERE id = $1 AND amount > $2 AND ts < $3 AND note LIKE $4 AND day = $5"
    )
    return [(p.oid, p.name) for p in statement.get_parameters()]


@check
async def parameter_in_an_expression(con: Any) -> Any:
    return await con.fetch("SELECT $1 + 1 AS v", 3)


@check
async def parameters_with_casts(con: Any) -> Any:
    return await con.fetch(
        "SELECT $1::text, $2::float8, $3::int, $4::numeric, $5::date, $6::timestamp, $7::uuid, $8::bytea, $9::bool",
        "a", 1.5, 3, decimal.Decimal("2.50"), datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1),
        uuid.UUID(int=5), b"\x00\xff", True,
    )  # fmt: skip


@check
async def intervals_and_times(con: Any) -> Any:
    return await con.fetch(
        "SELECT $1::interval, $2::time, $3::timestamptz", datetime.timedelta(days=3, seconds=7),
        datetime.time(1, 2, 3), datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc),
    )  # fmt: skip


@check
async def array_parameters(con: Any) -> Any:
    return await con.fetch("SELECT $1::int[] AS a, $2::text[] AS b", [1, None, 3], ["x", None])


@check
async def any_of_a_list(con: Any) -> Any:
    return await con.fetch("SELECT id FROM orders WHERE id = ANY($1::bigint[]) ORDER BY id", [1, 2])


@check
async def any_of_an_untyped_list(con: Any) -> Any:
    return await con.fetch("SELECT id FROM orders WHERE id = ANY($1) ORDER BY id", [1, 2])


@check
async def comparisons(con: Any) -> Any:
    sql = "SELECT count(*) FROM orders WHERE ts > $1 AND amount < $2 AND day <> $3"
    return await con.fetchval(
        sql, datetime.datetime(2024, 1, 2), decimal.Decimal("50.5"), datetime.date(2024, 1, 5)
    )


@check
async def enum_parameter(con: Any) -> Any:
    return await con.fetchval("SELECT count(*) FROM orders WHERE mood = $1", "ok")


@check
async def limit_parameter(con: Any) -> Any:
    return await con.fetch("SELECT id FROM orders ORDER BY id LIMIT $1 OFFSET $2", 3, 5)


@check
async def null_parameter(con: Any) -> Any:
    return await con.fetch(
        "SELECT $1::text AS a, count(*) FROM orders WHERE note IS NOT DISTINCT FROM $1", None
    )


@check
async def wrong_python_type(con: Any) -> Any:
    try:
        await con.fetch("SELECT * FROM orders WHERE id = $1", "three")
    except asyncpg.DataError as error:
        return type(error).__name__


@check
async def too_few_parameters(con: Any) -> Any:
    try:
        await con.fetch("SELECT $1::int + $2::int", 1)
    except asyncpg.InterfaceError as error:
        return type(error).__name__
