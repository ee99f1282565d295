"""psycopg2: simple queries with parameters put in by the client, named cursors, COPY, transactions, errors."""

from __future__ import annotations

import datetime
import decimal
import io
import threading
import time
import uuid
from typing import Any

import psycopg2
import psycopg2.errorcodes
import psycopg2.extensions
import psycopg2.extras

from tests.clients.bi.programs.checks import SLOW, Checks

checks = Checks(connect=lambda: psycopg2.connect(""))


def rows(con: Any, sql: str, parameters: Any = None, **kind: Any) -> list[Any]:
    """All rows of one statement."""
    with con.cursor(**kind) as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


@checks
def by_key(con: Any) -> Any:
    return rows(con, "SELECT * FROM orders WHERE id = %s", (3,))


@checks
def all_types(con: Any) -> Any:
    """Not the year 9999 with microseconds, which is fine, but DATE 0001 and infinities are Python's limits."""
    return rows(con, "SELECT * FROM all_types ORDER BY id")


@checks
def description(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("SELECT * FROM all_types")
        return [(c.name, c.type_code, c.internal_size, c.precision, c.scale) for c in cursor.description[:-1]]


@checks
def expression_types(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), sum(id), sum(amount), avg(amount), min(ts), max(note), 1, 1.5, 'a', NULL FROM"
            " orders"
        )
        return [c.type_code for c in cursor.description], cursor.fetchall()


@checks
def parameters_of_all_types(con: Any) -> Any:
    given = (
        1, 2**40, 1.5, decimal.Decimal("12.340"), True, None, "it's \\ ü", b"\x00\xff", datetime.date(2024, 2, 29),
        datetime.time(1, 2, 3), datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.timedelta(days=1, seconds=5),
        [1, 2], ["a", None],
    )  # fmt: skip
    return rows(con, f"SELECT {', '.join(['%s'] * len(given))}", given)


@checks
def timestamptz_parameter(con: Any) -> Any:
    aware = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    return rows(con, "SELECT id FROM all_types WHERE a_timestamptz < %s ORDER BY id", (aware,))


@checks
def uuid_parameter(con: Any) -> Any:
    psycopg2.extras.register_uuid(conn_or_curs=con)
    return rows(con, "SELECT id, a_uuid FROM all_types WHERE a_uuid = %s", (uuid.UUID(int=0),))


@checks
def json_columns(con: Any) -> Any:
    return rows(con, "SELECT a_json FROM all_types ORDER BY id"), rows(
        con, "SELECT %s::json", (psycopg2.extras.Json({"a": 1}),)
    )


@checks
def dict_cursor(con: Any) -> Any:
    found = rows(
        con,
        "SELECT id, name FROM customers WHERE id < 3 ORDER BY id",
        cursor_factory=psycopg2.extras.RealDictCursor,
    )
    return [dict(row) for row in found]


@checks
def tuple_of_values(con: Any) -> Any:
    return rows(con, "SELECT id FROM orders WHERE id IN %s ORDER BY id", ((1, 2, 3),))


@checks
def any_of_a_list(con: Any) -> Any:
    return rows(con, "SELECT id FROM orders WHERE id = ANY(%s) ORDER BY id", ([1, 2, 3],))


@checks
def server_side_cursor(con: Any) -> Any:
    with con.cursor("named") as cursor:
        cursor.itersize = 100
        cursor.execute("SELECT id FROM orders ORDER BY id")
        return sum(row[0] for row in cursor), cursor.rowcount


@checks
def scrolled_cursor(con: Any) -> Any:
    with con.cursor("named", scrollable=True) as cursor:
        cursor.execute("SELECT id FROM orders ORDER BY id")
        cursor.scroll(10)
        first = cursor.fetchone()
        cursor.scroll(0, mode="absolute")
        return first, cursor.fetchone()


@checks
def held_cursor(con: Any) -> Any:
    cursor = con.cursor("named", withhold=True)
    cursor.execute("SELECT id FROM orders ORDER BY id")
    con.commit()
    found = cursor.fetchmany(3)
    cursor.close()
    return found


@checks
def copy_out(con: Any) -> Any:
    taken = io.StringIO()
    with con.cursor() as cursor:
        cursor.copy_expert("COPY (SELECT id, note FROM orders ORDER BY id) TO STDOUT WITH CSV HEADER", taken)
        return cursor.rowcount, taken.getvalue()[:200], len(taken.getvalue())


@checks
def copy_to(con: Any) -> Any:
    taken = io.StringIO()
    with con.cursor() as cursor:
        cursor.copy_to(taken, "customers", columns=("id", "name"))
    return taken.getvalue()


@checks
def copy_from(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)")
        cursor.copy_from(io.StringIO("".join(f"{i}\trow {i}\n" for i in range(5000))), "t")
        copied = cursor.rowcount
        cursor.execute("SELECT count(*), sum(a), max(b) FROM t")
        return copied, cursor.fetchall()


@checks
def copy_from_of_bad_rows(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE t (a INTEGER)")
        cursor.copy_from(io.StringIO("1\nx\n"), "t")


@checks
def executemany(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)")
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(1, "a"), (2, None)])
    return rows(con, "SELECT * FROM t ORDER BY a")


@checks
def execute_values(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)")
        psycopg2.extras.execute_values(
            cursor, "INSERT INTO t VALUES %s RETURNING a", [(i, str(i)) for i in range(250)]
        )
        return cursor.rowcount, rows(con, "SELECT sum(a) FROM t")


@checks
def rowcounts(con: Any) -> Any:
    said = []
    with con.cursor() as cursor:
        for sql in (
            "CREATE TEMP TABLE t AS SELECT id FROM orders", "UPDATE t SET id = id + 1 WHERE id > 500",
            "DELETE FROM t WHERE id < 11", "INSERT INTO t VALUES (1), (2)", "SELECT * FROM t",
        ):  # fmt: skip
            cursor.execute(sql)
            said.append((cursor.statusmessage, cursor.rowcount))
    return said


@checks
def rollback(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("INSERT INTO customers (id, name) VALUES (5001, 'nobody')")
        con.rollback()
        cursor.execute("SELECT count(*) FROM customers WHERE id = 5001")
        return cursor.fetchall()


@checks
def commit_is_seen_by_another(con: Any) -> Any:
    with con.cursor() as cursor, psycopg2.connect("") as other:
        cursor.execute("INSERT INTO customers (id, name) VALUES (5002, 'somebody')")
        before = rows(other, "SELECT count(*) FROM customers WHERE id = 5002")
        con.commit()
        other.commit()
        after = rows(other, "SELECT count(*) FROM customers WHERE id = 5002")
        cursor.execute("DELETE FROM customers WHERE id = 5002")
        con.commit()
        return before, after


@checks
def transaction_status(con: Any) -> Any:
    said = [con.info.transaction_status]
    rows(con, "SELECT 1")
    said.append(con.info.transaction_status)
    try:
        rows(con, "SELECT nope")
    except psycopg2.Error as error:
        said.append(error.pgcode)
    said.append(con.info.transaction_status)
    try:
        rows(con, "SELECT 1")
    except psycopg2.Error as error:
        said.append(error.pgcode)
    con.rollback()
    return [*said, con.info.transaction_status]


@checks
def savepoint(con: Any) -> Any:
    with con.cursor() as cursor:
        cursor.execute("SAVEPOINT a")
        cursor.execute("ROLLBACK TO SAVEPOINT a")


@checks
def autocommit(con: Any) -> Any:
    con.autocommit = True
    return rows(con, "SELECT 1"), con.info.transaction_status


@checks
def read_only_session(con: Any) -> Any:
    con.set_session(readonly=True)
    return rows(con, "CREATE TABLE refused (a INTEGER)")


@checks
def isolation_level(con: Any) -> Any:
    con.set_session(isolation_level="SERIALIZABLE")
    return rows(con, "SELECT 1")


@checks
def error_classes(con: Any) -> Any:
    said = []
    for sql in (
        "SELECT * FROM nope",
        "SELECT nope FROM orders",
        "SELEC 1",
        "INSERT INTO customers (id, name) VALUES (1, 'x')",
    ):
        try:
            rows(con, sql)
        except psycopg2.Error as error:
            said.append((type(error).__name__, psycopg2.errorcodes.lookup(error.pgcode)))
        con.rollback()
    return said


@checks
def error_position(con: Any) -> Any:
    try:
        rows(con, "SELECT id,\n  nope FROM orders")
    except psycopg2.Error as error:
        return error.diag.severity, error.diag.sqlstate, error.diag.statement_position


@checks
def cancel(con: Any) -> Any:
    threading.Timer(0.7, con.cancel).start()
    started = time.monotonic()
    try:
        rows(con, SLOW)
    except psycopg2.extensions.QueryCanceledError as error:
        con.rollback()
        return error.pgcode, time.monotonic() - started < 5, rows(con, "SELECT 1")


@checks
def several_statements(con: Any) -> Any:
    return rows(con, "SELECT 1; SELECT 2, 'last'")


@checks
def parameter_statuses(con: Any) -> Any:
    names = (
        "server_encoding", "client_encoding", "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes",
        "standard_conforming_strings", "is_superuser", "session_authorization",
    )  # fmt: skip
    return {name: con.get_parameter_status(name) for name in names} | {"server": con.server_version // 10000}


@checks
def set_client_encoding(con: Any) -> Any:
    con.set_client_encoding("UTF8")
    return rows(con, "SELECT 'ü'"), con.encoding


@checks
def long_text(con: Any) -> Any:
    text = "ü" * 1_000_000
    return [len(row[0]) for row in rows(con, "SELECT %s", (text,))]


@checks
def many_rows(con: Any) -> Any:
    return len(rows(con, "SELECT i, 'row ' || i FROM generate_series(1, 100000) AS t(i)"))


@checks
def nul_in_text(con: Any) -> Any:
    try:
        return rows(con, "SELECT %s", ("a\x00b",))
    except ValueError as error:
        return str(error)


if __name__ == "__main__":
    checks.run()
