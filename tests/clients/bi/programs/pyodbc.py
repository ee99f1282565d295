"""pyodbc over psqlODBC: ODBC's catalog functions, parameters, types, and the settings that BI tools use."""

from __future__ import annotations

import datetime
import decimal
import os
from typing import Any

import pyodbc

from tests.clients.bi.programs.checks import Checks

pyodbc.pooling = False


def connect(**settings: Any) -> Any:
    """With more of psqlODBC's settings, such as UseDeclareFetch=1."""
    place = {
        "DRIVER": "{PostgreSQL Unicode}", "SERVER": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
        "DATABASE": os.environ["PGDATABASE"], "UID": os.environ["PGUSER"], "PWD": os.environ["PGPASSWORD"],
        "BoolsAsChar": 0, **settings,
    }  # fmt: skip
    return pyodbc.connect(";".join(f"{name}={value}" for name, value in place.items()))


checks = Checks(connect=connect)


def rows(con: Any, sql: str, *parameters: Any) -> Any:
    """All rows of one statement."""
    return con.cursor().execute(sql, *parameters).fetchall()


def columns_of(found: Any, *names: str) -> Any:
    """These columns of the rows, sorted, for ODBC's order of equals is free."""
    return sorted(([getattr(row, name) for name in names] for row in found), key=str)


@checks
def by_key(con: Any) -> Any:
    return rows(con, "SELECT * FROM orders WHERE id = ?", 3)


@checks
def all_types(con: Any) -> Any:
    return rows(con, "SELECT * FROM all_types WHERE id <> 3 ORDER BY id")


@checks
def description(con: Any) -> Any:
    found = con.cursor().execute("SELECT * FROM all_types").description
    return [(c[0], c[1].__name__, *c[3:]) for c in found]


@checks
def tables(con: Any) -> Any:
    found = con.cursor().tables(schema="main").fetchall()
    return columns_of(found, "table_cat", "table_schem", "table_name", "table_type", "remarks")


@checks
def tables_of_a_type(con: Any) -> Any:
    return columns_of(
        con.cursor().tables(schema="main", tableType="VIEW").fetchall(), "table_name", "table_type"
    )


@checks
def schemas(con: Any) -> Any:
    return sorted(
        {row.table_schem for row in con.cursor().tables(catalog="", schema="%", table="").fetchall()}
        & {"main"}
    )


@checks
def columns(con: Any) -> Any:
    found = con.cursor().columns(table="all_types", schema="main").fetchall()
    return [
        [
            r.column_name,
            r.data_type,
            r.type_name,
            r.column_size,
            r.decimal_digits,
            r.nullable,
            r.ordinal_position,
        ]
        for r in found
    ]


@checks
def columns_with_defaults_and_remarks(con: Any) -> Any:
    found = con.cursor().columns(schema="main", table="order%").fetchall()
    return columns_of(found, "table_name", "column_name", "column_def", "remarks", "is_nullable")


@checks
def primary_keys(con: Any) -> Any:
    found = con.cursor().primaryKeys("order_lines", schema="main").fetchall()
    return columns_of(found, "column_name", "key_seq", "pk_name")


@checks
def foreign_keys(con: Any) -> Any:
    found = con.cursor().foreignKeys(foreignTable="order_lines", foreignSchema="main").fetchall()
    return columns_of(
        found, "pktable_name", "pkcolumn_name", "fktable_name", "fkcolumn_name", "key_seq", "fk_name"
    )


@checks
def keys_that_refer_to_a_table(con: Any) -> Any:
    found = con.cursor().foreignKeys(table="customers", schema="main").fetchall()
    return columns_of(found, "pktable_name", "pkcolumn_name", "fktable_name", "fkcolumn_name")


@checks
def statistics(con: Any) -> Any:
    found = con.cursor().statistics("order_lines", schema="main").fetchall()
    return columns_of(found, "index_name", "non_unique", "ordinal_position", "column_name", "type")


@checks
def special_columns(con: Any) -> Any:
    return columns_of(
        con.cursor().rowIdColumns("orders", schema="main").fetchall(), "column_name", "type_name"
    )


@checks
def type_info(con: Any) -> Any:
    return columns_of(con.cursor().getTypeInfo().fetchall(), "type_name", "data_type", "column_size")


@checks
def procedures(con: Any) -> Any:
    return len(con.cursor().procedures(schema="main").fetchall())


@checks
def server(con: Any) -> Any:
    return (
        con.getinfo(pyodbc.SQL_DBMS_NAME),
        con.getinfo(pyodbc.SQL_DBMS_VER)[:2],
        con.getinfo(pyodbc.SQL_DATABASE_NAME),
    )


GIVEN = {
    "int": 1, "large": 2**40, "float": 1.5, "numeric": decimal.Decimal("12.34"), "bool": True, "text": "it's \\ ü",
    "date": datetime.date(2024, 2, 29), "datetime": datetime.datetime(2024, 2, 29, 1, 2, 3),
}  # fmt: skip
for kind, value in GIVEN.items():
    checks.add(f"parameter_{kind}", lambda con, value=value: rows(con, "SELECT ? AS v", value))


@checks
def bytes_parameter(con: Any) -> Any:
    return rows(con, "SELECT ?::bytea AS v", b"\x00\xff")


@checks
def comparisons(con: Any) -> Any:
    sql = "SELECT count(*) FROM orders WHERE ts > ? AND amount < ? AND note LIKE ? AND day <> ? AND id <> ?"
    return rows(
        con,
        sql,
        datetime.datetime(2024, 1, 2),
        decimal.Decimal("50.5"),
        "note%",
        datetime.date(2024, 1, 5),
        7,
    )


@checks
def null_parameter(con: Any) -> Any:
    con.cursor().execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)").execute(
        "INSERT INTO t VALUES (?, ?)", None, None
    )
    return rows(con, "SELECT * FROM t")


@checks
def executemany(con: Any) -> Any:
    cursor = con.cursor()
    cursor.execute("CREATE TEMP TABLE t (a INTEGER, b VARCHAR(20))")
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [(i, f"row {i}") for i in range(50)])
    return rows(con, "SELECT count(*), sum(a), max(b) FROM t")


@checks
def fast_executemany(con: Any) -> Any:
    cursor = con.cursor()
    cursor.execute("CREATE TEMP TABLE t (a INTEGER, b VARCHAR(20))")
    cursor.fast_executemany = True
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [(i, f"row {i}") for i in range(50)])
    return rows(con, "SELECT count(*), sum(a), max(b) FROM t")


@checks
def booleans(con: Any) -> Any:
    return rows(con, "SELECT vip FROM customers WHERE id BETWEEN 6 AND 8 ORDER BY id")


@checks
def booleans_as_characters(_: Any) -> Any:
    """psqlODBC's default."""
    with connect(BoolsAsChar=1) as con:
        return rows(con, "SELECT vip FROM customers WHERE id BETWEEN 6 AND 8 ORDER BY id")


@checks
def declare_fetch(_: Any) -> Any:
    """Results by a cursor of the server, 50 rows at a time."""
    with connect(UseDeclareFetch=1, Fetch=50) as con:
        return sum(row[0] for row in con.cursor().execute("SELECT id FROM orders"))


@checks
def declare_fetch_with_a_parameter(_: Any) -> Any:
    with connect(UseDeclareFetch=1, Fetch=50) as con:
        return len(con.cursor().execute("SELECT id FROM orders WHERE id > ?", 500).fetchall())


@checks
def server_side_prepare_off(_: Any) -> Any:
    with connect(UseServerSidePrepare=0) as con:
        return rows(con, "SELECT id, note FROM orders WHERE id = ? AND note = ?", 3, "note 3")


@checks
def read_only(_: Any) -> Any:
    with connect(ReadOnly=1) as con:
        return rows(con, "SELECT count(*) FROM orders")


@checks
def long_text(con: Any) -> Any:
    return [len(row[0]) for row in rows(con, "SELECT repeat('x', 90000)")]


@checks
def fetchmany(con: Any) -> Any:
    cursor = con.cursor().execute("SELECT id FROM orders ORDER BY id")
    return cursor.fetchmany(2), cursor.fetchone(), len(cursor.fetchall())


@checks
def rowcounts(con: Any) -> Any:
    cursor = con.cursor()
    cursor.execute("CREATE TEMP TABLE t AS SELECT id FROM orders")
    return (
        cursor.execute("UPDATE t SET id = 0 WHERE id > 990").rowcount,
        cursor.execute("DELETE FROM t").rowcount,
    )


@checks
def rollback(con: Any) -> Any:
    con.cursor().execute("INSERT INTO customers (id, name) VALUES (5006, 'nobody')")
    con.rollback()
    return rows(con, "SELECT count(*) FROM customers WHERE id = 5006")


@checks
def error_leaves_the_transaction(con: Any) -> Any:
    """psqlODBC takes the statement alone back, by a savepoint, and the transaction goes on."""
    con.cursor().execute("CREATE TEMP TABLE t (a INTEGER)")
    try:
        con.cursor().execute("INSERT INTO t SELECT nope")
    except pyodbc.Error as error:
        return error.args[0], rows(con, "SELECT count(*) FROM t")


@checks
def escapes(con: Any) -> Any:
    return rows(
        con, "SELECT {d '2024-01-02'}, {ts '2024-01-02 03:04:05'}, {fn ucase('abc')}, {fn concat('a', 'b')}"
    )


@checks
def error(con: Any) -> Any:
    return rows(con, "SELECT * FROM no_such_table")


@checks
def unique_violation(con: Any) -> Any:
    con.cursor().execute("INSERT INTO customers (id, name) VALUES (1, 'x')")


@checks
def several_result_sets(con: Any) -> Any:
    cursor = con.cursor().execute("SELECT 1; SELECT 2, 3")
    first = cursor.fetchall()
    return first, cursor.nextset(), cursor.fetchall()


if __name__ == "__main__":
    checks.run()
