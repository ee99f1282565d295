"""psycopg 3: the rest: cursors, pipelines, COPY, transactions, errors, cancel, pools."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import threading
from typing import Any

import psycopg
import psycopg_pool
from psycopg.rows import dict_row
from psycopg.types import TypeInfo
from psycopg.types.composite import CompositeInfo
from psycopg.types.enum import EnumInfo

from tests.clients.bi.programs.checks import SLOW
from tests.clients.bi.programs.psycopg3_values import checks, rows


@checks
def server_side_cursor(con: Any) -> Any:
    with con.cursor("named") as cursor:
        cursor.execute("SELECT id FROM orders WHERE id > %s ORDER BY id", (10,))
        return cursor.fetchone(), cursor.fetchmany(3), len(cursor.fetchall())


@checks
def server_side_cursor_binary(con: Any) -> Any:
    with con.cursor("named", binary=True) as cursor:
        cursor.execute("SELECT id, amount, ts FROM orders ORDER BY id")
        return cursor.fetchmany(2)


@checks
def stream(con: Any) -> Any:
    """Rows one by one as they come."""
    return sum(row[0] for row in con.cursor().stream("SELECT id FROM orders"))


@checks
def client_cursor(con: Any) -> Any:
    """Parameters put in by the client."""
    with psycopg.ClientCursor(con) as cursor:
        return cursor.execute("SELECT * FROM orders WHERE id = %s AND note = %s", (3, "note 3")).fetchall()


@checks
def raw_cursor(con: Any) -> Any:
    with psycopg.RawCursor(con) as cursor:
        return cursor.execute("SELECT id, $2::text FROM orders WHERE id = $1", (3, "x")).fetchall()


@checks
def pipeline(con: Any) -> Any:
    with con.pipeline():
        asked = [con.execute("SELECT %s::int * 2", (i,)) for i in range(20)]
        return [cursor.fetchone()[0] for cursor in asked]


@checks
def pipeline_with_an_error(con: Any) -> Any:
    con.autocommit = True
    said: list[Any] = []
    try:
        with con.pipeline():
            first = con.execute("SELECT 1")
            con.execute("SELECT nope")
            con.execute("SELECT 2")
            said.append(first.fetchone())
    except psycopg.Error as error:
        said.append(error.sqlstate)
    return said, rows(con, "SELECT 3")


@checks
def executemany(con: Any) -> Any:
    con.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)")
    with con.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(i, f"row {i}") for i in range(500)])
        return cursor.rowcount, rows(con, "SELECT count(*), sum(a), max(b) FROM t")


@checks
def executemany_returning(con: Any) -> Any:
    con.execute("CREATE TEMP TABLE t (a INTEGER)")
    with con.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s) RETURNING a", [(1,), (2,)], returning=True)
        found = [cursor.fetchone()]
        while cursor.nextset():
            found.append(cursor.fetchone())
        return found


def copied(con: Any, sql: str) -> bytes:
    """All that a COPY TO sends."""
    with con.cursor().copy(sql) as copy:
        return b"".join(bytes(piece) for piece in copy)


@checks
def copy_out(con: Any) -> Any:
    return copied(con, "COPY (SELECT id, note FROM orders WHERE id < 15 ORDER BY id) TO STDOUT").decode()


@checks
def copy_out_binary(con: Any) -> Any:
    return copied(
        con,
        "COPY (SELECT id, amount, ts, day, note FROM orders WHERE id < 15 ORDER BY id) TO STDOUT (FORMAT"
        " binary)",
    )


@checks
def copy_out_rows(con: Any) -> Any:
    with con.cursor().copy(
        "COPY (SELECT id, amount, note FROM orders WHERE id < 12 ORDER BY id) TO STDOUT"
    ) as copy:
        copy.set_types(["int8", "numeric", "text"])
        return list(copy.rows())


@checks
def copy_in_rows(con: Any) -> Any:
    con.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT, c DATE, d NUMERIC(10, 2))")
    with con.cursor().copy("COPY t FROM STDIN") as copy:
        for i in range(3000):
            copy.write_row((i, f"row\t{i}", datetime.date(2024, 1, 1), decimal.Decimal("1.25")))
    return rows(con, "SELECT count(*), sum(a), max(b), max(c), sum(d) FROM t")


@checks
def copy_in_binary(con: Any) -> Any:
    con.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT, c TIMESTAMP)")
    with con.cursor().copy("COPY t FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "text", "timestamp"])
        for i in range(50):
            copy.write_row((i, None if i % 7 == 0 else f"row {i}", datetime.datetime(2024, 1, 1, i % 24)))
    return rows(con, "SELECT count(*), sum(a), count(b), max(c) FROM t")


@checks
def copy_in_given_up(con: Any) -> Any:
    """An exception in the client's loop ends the COPY, and nothing is kept."""
    con.execute("CREATE TEMP TABLE t (a INTEGER)")
    con.commit()
    try:
        with con.cursor().copy("COPY t FROM STDIN") as copy:
            copy.write_row((1,))
            raise ZeroDivisionError
    except ZeroDivisionError:
        con.rollback()
    return rows(con, "SELECT count(*) FROM t")


@checks
def copy_in_bad_row(con: Any) -> Any:
    con.execute("CREATE TEMP TABLE t (a INTEGER)")
    with con.cursor().copy("COPY t FROM STDIN") as copy:
        copy.write(b"1\nx\n")


@checks
def transaction_blocks(con: Any) -> Any:
    con.execute("CREATE TEMP TABLE t (a INTEGER)")
    con.commit()
    with con.transaction():
        con.execute("INSERT INTO t VALUES (1)")
    try:
        with con.transaction():
            con.execute("INSERT INTO t VALUES (2)")
            raise ZeroDivisionError
    except ZeroDivisionError:
        return rows(con, "SELECT * FROM t"), con.info.transaction_status.name


@checks
def nested_transaction(con: Any) -> Any:
    with con.transaction(), con.transaction():
        return rows(con, "SELECT 1")


@checks
def read_only_connection(con: Any) -> Any:
    con.read_only = True
    con.execute("CREATE TABLE refused (a INTEGER)")


@checks
def autocommit(con: Any) -> Any:
    con.autocommit = True
    return rows(con, "SELECT 1"), con.info.transaction_status.name


@checks
def errors(con: Any) -> Any:
    said = []
    for sql in (
        "SELECT * FROM nope",
        "SELECT nope",
        "SELEC 1",
        "SELECT 1/0",
        "SELECT 'x'::int",
        "DROP TABLE nope",
        "SELECT now(",
    ):
        try:
            con.execute(sql)
        except psycopg.Error as error:
            said.append((type(error).__name__, error.sqlstate))
        con.rollback()
    return said


@checks
def wrong_parameter(con: Any) -> Any:
    return rows(con, "SELECT id FROM orders WHERE id = %s", ("not a number",))


@checks
def too_few_parameters(con: Any) -> Any:
    return psycopg.RawCursor(con).execute("SELECT $1::int, $2::int", (1,)).fetchall()


@checks
def dict_rows(con: Any) -> Any:
    return (
        con.cursor(row_factory=dict_row)
        .execute("SELECT id, name FROM customers WHERE id < 3 ORDER BY id")
        .fetchall()
    )


@checks
def type_info(con: Any) -> Any:
    found = TypeInfo.fetch(con, "numeric")
    return found.name, found.oid, found.array_oid, TypeInfo.fetch(con, "no_such_type")


@checks
def enum_info(con: Any) -> Any:
    found = EnumInfo.fetch(con, "mood")
    return found.name, found.labels


@checks
def composite_info(con: Any) -> Any:
    return CompositeInfo.fetch(con, "no_such_type")


@checks
def cancel(con: Any) -> Any:
    threading.Timer(0.7, con.cancel).start()
    try:
        con.execute(SLOW)
    except psycopg.errors.QueryCanceled as error:
        con.rollback()
        return error.sqlstate, rows(con, "SELECT 1")


@checks
def cancel_safe(con: Any) -> Any:
    threading.Timer(0.7, con.cancel_safe).start()
    try:
        con.execute(SLOW)
    except psycopg.errors.QueryCanceled as error:
        return error.sqlstate


@checks
def notices(con: Any) -> Any:
    said: list[Any] = []
    con.add_notice_handler(lambda diagnostic: said.append((diagnostic.severity, diagnostic.sqlstate)))
    con.execute("DROP TABLE IF EXISTS no_such_table")
    return said


@checks
def listen(con: Any) -> Any:
    con.autocommit = True
    con.execute("LISTEN channel")
    return list(con.notifies(timeout=0.2))


@checks
def pool(con: Any) -> Any:
    with psycopg_pool.ConnectionPool(
        "", min_size=2, max_size=4, check=psycopg_pool.ConnectionPool.check_connection
    ) as connections:
        found = []
        for i in range(6):
            with connections.connection() as each:
                found.append(each.execute("SELECT %s::int", (i,)).fetchone())
        return found


@checks
def asynchronous(con: Any) -> Any:
    async def ask() -> Any:
        async with await psycopg.AsyncConnection.connect("") as each:
            cursor = await each.execute("SELECT count(*) FROM orders WHERE id < %s", (11,))
            return await cursor.fetchall()

    return asyncio.run(ask())


@checks
def two_at_once(con: Any) -> Any:
    """A slow statement of one does not hold up another."""
    with psycopg.connect("") as slow:
        thread = threading.Thread(target=_until_cancelled, args=(slow,))
        thread.start()
        found = rows(con, "SELECT count(*) FROM orders")
        slow.cancel()
        thread.join()
        return found


def _until_cancelled(con: Any) -> None:
    try:
        con.execute(SLOW)
    except psycopg.errors.QueryCanceled:
        con.rollback()


@checks
def statement_timeout(con: Any) -> Any:
    con.execute("SET statement_timeout = '300ms'")
    con.execute(SLOW)


@checks
def connection_options(con: Any) -> Any:
    with psycopg.connect("application_name=tool options='-c statement_timeout=5s'") as other:
        return rows(other, "SHOW application_name"), rows(other, "SHOW statement_timeout")


@checks
def several_result_sets(con: Any) -> Any:
    cursor = con.execute("SELECT 1; SELECT 2, 3")
    first = cursor.fetchall()
    return first, cursor.nextset(), cursor.fetchall()


if __name__ == "__main__":
    checks.run()
