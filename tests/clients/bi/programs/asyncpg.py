"""asyncpg: the rest: statements, cursors, transactions, COPY, cancel, pools, codecs."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import io
from typing import Any

import asyncpg

from tests.clients.bi.programs.asyncpg_values import check, checks
from tests.clients.bi.programs.checks import SLOW


@check
async def fetchrow_and_fetchval(con: Any) -> Any:
    row = await con.fetchrow("SELECT id, name FROM customers WHERE id = 1")
    return dict(row), await con.fetchval("SELECT count(*) FROM customers")


@check
async def execute_status(con: Any) -> Any:
    said = [await con.execute("CREATE TEMP TABLE t (a INTEGER)")]
    said.append(await con.execute("INSERT INTO t VALUES (1), (2)"))
    said.append(await con.execute("UPDATE t SET a = a + $1", 1))
    said.append(await con.execute("DELETE FROM t WHERE a > $1", 2))
    return [*said, await con.execute("SELECT * FROM t")]


@check
async def script(con: Any) -> Any:
    """Several statements at once by the simple protocol."""
    return await con.execute("CREATE TEMP TABLE t (a INTEGER); INSERT INTO t VALUES (1); SELECT * FROM t")


@check
async def executemany(con: Any) -> Any:
    await con.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT, c TIMESTAMP)")
    when = datetime.datetime(2024, 1, 1)
    await con.executemany("INSERT INTO t VALUES ($1, $2, $3)", [(i, f"row {i}", when) for i in range(500)])
    return await con.fetch("SELECT count(*), sum(a), max(b), max(c) FROM t")


@check
async def executemany_is_one_transaction(con: Any) -> Any:
    await con.execute("CREATE TEMP TABLE t (a INTEGER PRIMARY KEY)")
    try:
        await con.executemany("INSERT INTO t VALUES ($1)", [(1,), (2,), (1,)])
    except asyncpg.PostgresError as error:
        return error.sqlstate, await con.fetchval("SELECT count(*) FROM t")


@check
async def fetchmany(con: Any) -> Any:
    await con.execute("CREATE TEMP TABLE t (a INTEGER)")
    return await con.fetchmany("INSERT INTO t VALUES ($1) RETURNING a", [(1,), (2,), (3,)])


@check
async def cursor(con: Any) -> Any:
    async with con.transaction():
        return sum(
            [row[0] async for row in con.cursor("SELECT id FROM orders WHERE id > $1", 10, prefetch=50)]
        )


@check
async def cursor_forward(con: Any) -> Any:
    async with con.transaction():
        found = await con.cursor("SELECT id FROM orders ORDER BY id")
        first = await found.fetchrow()
        await found.forward(10)
        return first, await found.fetch(3)


@check
async def prepared(con: Any) -> Any:
    statement = await con.prepare("SELECT note FROM orders WHERE id = $1")
    return [await statement.fetchval(i) for i in (1, 2, 10)], statement.get_statusmsg()


@check
async def prepared_after_a_change(con: Any) -> Any:
    """The statement is prepared anew when its table has changed."""
    await con.execute("CREATE TEMP TABLE t (a INTEGER)")
    before = await con.fetch("SELECT * FROM t")
    await con.execute("ALTER TABLE t ADD COLUMN b TEXT")
    await con.execute("INSERT INTO t VALUES (1, 'x')")
    return before, [dict(row) for row in await con.fetch("SELECT * FROM t")]


@check
async def transaction(con: Any) -> Any:
    await con.execute("CREATE TEMP TABLE t (a INTEGER)")
    try:
        async with con.transaction():
            await con.execute("INSERT INTO t VALUES (1)")
            raise ZeroDivisionError
    except ZeroDivisionError:
        return await con.fetchval("SELECT count(*) FROM t")


@check
async def read_only_transaction(con: Any) -> Any:
    async with con.transaction(isolation="repeatable_read", readonly=True):
        return await con.fetchval("SELECT count(*) FROM orders")


@check
async def nested_transaction(con: Any) -> Any:
    async with con.transaction(), con.transaction():
        return await con.fetchval("SELECT 1")


@check
async def errors(con: Any) -> Any:
    said = []
    for sql in (
        "SELECT * FROM nope",
        "SELECT nope",
        "SELEC 1",
        "SELECT 1/0",
        "SELECT 'x'::int",
        "DROP VIEW nope",
    ):
        try:
            await con.fetch(sql)
        except asyncpg.PostgresError as error:
            said.append((type(error).__name__, error.sqlstate))
    return said


@check
async def unique_violation(con: Any) -> Any:
    try:
        await con.execute("INSERT INTO customers (id, name) VALUES ($1, $2)", 1, "x")
    except asyncpg.UniqueViolationError as error:
        return error.sqlstate


@check
async def copy_from_query(con: Any) -> Any:
    taken = io.BytesIO()
    status = await con.copy_from_query(
        "SELECT id, note FROM orders WHERE id < $1 ORDER BY id", 15, output=taken, format="csv"
    )
    return status, taken.getvalue().decode()


@check
async def copy_from_table(con: Any) -> Any:
    taken = io.BytesIO()
    return await con.copy_from_table("customers", columns=["id", "name"], output=taken), len(taken.getvalue())


@check
async def copy_records_to_table(con: Any) -> Any:
    """In binary."""
    await con.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT, c DATE, d NUMERIC(10, 2))")
    records = [(i, f"row {i}", datetime.date(2024, 1, 1), decimal.Decimal("1.25")) for i in range(500)]
    status = await con.copy_records_to_table("t", records=records)
    return status, await con.fetch("SELECT count(*), sum(a), max(b), max(c), sum(d) FROM t")


@check
async def copy_to_table(con: Any) -> Any:
    await con.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)")
    status = await con.copy_to_table("t", source=io.BytesIO(b"1,x\n2,\n"), format="csv")
    return status, await con.fetch("SELECT * FROM t ORDER BY a")


@check
async def cancelled_by_timeout(con: Any) -> Any:
    try:
        await con.fetch(SLOW, timeout=0.5)
    except TimeoutError:
        return await con.fetchval("SELECT 1")


@check
async def cancelled_task(con: Any) -> Any:
    task = asyncio.ensure_future(con.fetch(SLOW))
    await asyncio.sleep(0.5)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return await con.fetchval("SELECT 1")


@check
async def reset(con: Any) -> Any:
    """What a pool does with a connection that is given back."""
    await con.execute("SET application_name = 'changed'")
    await con.reset()
    return await con.fetchval("SHOW application_name")


@check
async def pool(con: Any) -> Any:
    async with asyncpg.create_pool(min_size=2, max_size=3) as connections:
        asked = [connections.fetchval("SELECT $1::int * 2", i) for i in range(9)]
        return await asyncio.gather(*asked)


@check
async def type_codec(con: Any) -> Any:
    await con.set_type_codec("json", encoder=str, decoder=lambda text: ("decoded", text), schema="pg_catalog")
    return await con.fetchval("SELECT a_json FROM all_types WHERE id = 1")


@check
async def enum_codec(con: Any) -> Any:
    await con.set_type_codec("mood", encoder=str, decoder=str.upper, schema="main")
    return await con.fetchval("SELECT 'happy'::mood")


@check
async def introspected_composite(con: Any) -> Any:
    return await con.fetchval("SELECT ROW(1, 'a') AS r")


@check
async def notice(con: Any) -> Any:
    said: list[Any] = []
    con.add_log_listener(lambda _, message: said.append((message.severity, message.sqlstate)))
    await con.execute("DROP TABLE IF EXISTS no_such_table")
    await asyncio.sleep(0.1)
    return said


@check
async def listeners(con: Any) -> Any:
    await con.add_listener("channel", print)
    await con.remove_listener("channel", print)
    return await con.fetchval("SELECT 1")


@check
async def server_settings(con: Any) -> Any:
    other = await asyncpg.connect(server_settings={"application_name": "tool", "search_path": "main"})
    try:
        return await other.fetchval("SHOW application_name"), await other.fetchval("SHOW search_path")
    finally:
        await other.close()


@check
async def settings(con: Any) -> Any:
    told = con.get_settings()
    return {
        name: getattr(told, name)
        for name in ("client_encoding", "DateStyle", "integer_datetimes", "TimeZone")
    }


@check
async def statement_cache(con: Any) -> Any:
    return [await con.fetchval("SELECT count(*) FROM orders WHERE id < $1", i) for i in range(20)]


@check
async def many_rows(con: Any) -> Any:
    return len(await con.fetch("SELECT i, 'row ' || i FROM generate_series(1, 100000) AS t(i)"))


if __name__ == "__main__":
    checks.run()
