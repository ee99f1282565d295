"""pg8000, PostgreSQL in pure Python: its own parameter types, all in text."""

from __future__ import annotations

import datetime
import decimal
import io
import os
import uuid
from typing import Any

import pg8000.dbapi
import pg8000.native

from tests.clients.bi.programs.checks import Checks


def place() -> dict[str, Any]:
    """pg8000 reads no PGHOST and the like."""
    return {
        "host": os.environ["PGHOST"], "port": int(os.environ["PGPORT"]), "user": os.environ["PGUSER"],
        "password": os.environ["PGPASSWORD"], "database": os.environ["PGDATABASE"],
    }  # fmt: skip


checks = Checks(connect=lambda: pg8000.dbapi.connect(**place()))


def rows(con: Any, sql: str, parameters: Any = ()) -> Any:
    """All rows of one statement."""
    cursor = con.cursor()
    cursor.execute(sql, parameters)
    return cursor.fetchall()


@checks
def by_key(con: Any) -> Any:
    return rows(con, "SELECT * FROM orders WHERE id = %s", (3,))


@checks
def all_types(con: Any) -> Any:
    return rows(con, "SELECT * FROM all_types ORDER BY id")


@checks
def description(con: Any) -> Any:
    cursor = con.cursor()
    cursor.execute("SELECT id, amount, ts, day, note FROM orders LIMIT 1")
    return [column[:2] for column in cursor.description]


GIVEN = {
    "int": 1, "large": 2**40, "float": 1.5, "numeric": decimal.Decimal("12.340"), "bool": True, "none": None,
    "text": "it's \\ ü", "bytes": b"\x00\xff", "date": datetime.date(2024, 2, 29), "time": datetime.time(1, 2, 3),
    "datetime": datetime.datetime(2024, 2, 29, 1, 2, 3, 4), "interval": datetime.timedelta(days=1, seconds=5),
    "uuid": uuid.UUID(int=5), "list": [1, 2], "json": {"a": [1]},
}  # fmt: skip
for kind, value in GIVEN.items():
    checks.add(f"parameter_{kind}", lambda con, value=value: rows(con, "SELECT %s AS v", (value,)))


@checks
def comparisons(con: Any) -> Any:
    sql = "SELECT count(*) FROM orders WHERE ts > %s AND amount < %s AND note LIKE %s"
    return rows(con, sql, (datetime.datetime(2024, 1, 2), decimal.Decimal("50.5"), "note%"))


@checks
def any_of_a_list(con: Any) -> Any:
    return rows(con, "SELECT id FROM orders WHERE id = ANY(%s) ORDER BY id", ([1, 2, 3],))


@checks
def executemany(con: Any) -> Any:
    cursor = con.cursor()
    cursor.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)")
    cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(i, None if i % 2 else str(i)) for i in range(20)])
    return rows(con, "SELECT count(*), count(b), sum(a) FROM t")


@checks
def rowcount(con: Any) -> Any:
    cursor = con.cursor()
    cursor.execute("CREATE TEMP TABLE t AS SELECT id FROM orders")
    cursor.execute("UPDATE t SET id = id + 1 WHERE id > %s", (500,))
    return cursor.rowcount


@checks
def rollback(con: Any) -> Any:
    cursor = con.cursor()
    cursor.execute("INSERT INTO customers (id, name) VALUES (5003, 'nobody')")
    con.rollback()
    return rows(con, "SELECT count(*) FROM customers WHERE id = 5003")


@checks
def copy_out(con: Any) -> Any:
    taken = io.BytesIO()
    con.cursor().execute(
        "COPY (SELECT id, note FROM orders WHERE id < 15 ORDER BY id) TO STDOUT WITH (FORMAT CSV)",
        stream=taken,
    )
    return taken.getvalue().decode()


@checks
def copy_in(con: Any) -> Any:
    cursor = con.cursor()
    cursor.execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)")
    cursor.execute("COPY t FROM STDIN WITH (FORMAT CSV)", stream=io.BytesIO(b"1,x\n2,\n"))
    return rows(con, "SELECT * FROM t ORDER BY a")


@checks
def native(con: Any) -> Any:
    with pg8000.native.Connection(**place()) as other:
        found = other.run("SELECT id, name FROM customers WHERE id < :least ORDER BY id", least=3)
        return found, [column["name"] for column in other.columns], other.row_count


@checks
def native_prepared(con: Any) -> Any:
    with pg8000.native.Connection(**place()) as other:
        statement = other.prepare("SELECT note FROM orders WHERE id = :id")
        found = [statement.run(id=i) for i in (1, 2, 10)]
        statement.close()
        return found


@checks
def native_transaction(con: Any) -> Any:
    with pg8000.native.Connection(**place()) as other:
        other.run("BEGIN")
        other.run("CREATE TEMP TABLE t (a INTEGER)")
        other.run("ROLLBACK")
        return other.run("SELECT count(*) FROM pg_class WHERE relname = 't'")


@checks
def autocommit(con: Any) -> Any:
    con.autocommit = True
    return rows(con, "SELECT 1")


@checks
def error(con: Any) -> Any:
    return rows(con, "SELECT * FROM no_such_table")


@checks
def error_then_rollback(con: Any) -> Any:
    try:
        rows(con, "SELECT nope")
    except pg8000.dbapi.DatabaseError:
        con.rollback()
    return rows(con, "SELECT 1")


@checks
def unique_violation(con: Any) -> Any:
    return rows(con, "INSERT INTO customers (id, name) VALUES (%s, %s)", (1, "x"))


@checks
def two_phase_is_refused(con: Any) -> Any:
    """PostgreSQL has max_prepared_transactions = 0, and so refuses too."""
    con.tpc_begin(con.xid(1, "a", "b"))
    con.cursor().execute("SELECT 1")
    con.tpc_prepare()


if __name__ == "__main__":
    checks.run()
