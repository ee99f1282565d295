"""psycopg 3: values and parameters of all types, in text and binary, and prepared statements."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import psycopg
from psycopg.types.json import Json

from tests.clients.bi.programs.checks import Checks

checks = Checks(connect=lambda: psycopg.connect(""))


def rows(con: Any, sql: str, parameters: Any = None, **options: Any) -> list[Any]:
    """All rows of one statement."""
    return con.execute(sql, parameters, **options).fetchall()


@checks
def by_key(con: Any) -> Any:
    return rows(con, "SELECT * FROM orders WHERE id = %s", (3,))


@checks
def by_key_binary(con: Any) -> Any:
    return rows(
        con, "SELECT * FROM orders WHERE id = %s AND amount < %s", (3, decimal.Decimal("99.5")), binary=True
    )


TYPES = """SELECT id, a_smallint, a_bigint, a_real, a_double, a_numeric, a_boolean, a_text, a_date, a_time, a_timestamp,
    a_timestamptz, an_interval, a_uuid, a_bytea, a_json, some_integers, some_texts, a_mood FROM all_types ORDER BY id"""


@checks
def all_types_text(con: Any) -> Any:
    return rows(con, TYPES)


@checks
def all_types_binary(con: Any) -> Any:
    return rows(con, TYPES, binary=True)


@checks
def description(con: Any) -> Any:
    found = con.execute(TYPES).description
    return [(c.name, c.type_code, c.type_display, c.precision, c.scale, c.display_size) for c in found[:-1]]


GIVEN = {
    "int": 1, "large": 2**40, "float": 1.5, "numeric": decimal.Decimal("12.340"), "bool": True, "none": None,
    "text": "it's \\ ü", "bytes": b"\x00\xff", "date": datetime.date(2024, 2, 29), "time": datetime.time(1, 2, 3),
    "datetime": datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
    "aware": datetime.datetime(2024, 2, 29, 1, tzinfo=datetime.timezone.utc),
    "interval": datetime.timedelta(days=1, seconds=5), "uuid": uuid.UUID(int=5), "list": [1, 2], "texts": ["a", None],
    "json": Json({"a": [1]}),
}  # fmt: skip
for kind, value in GIVEN.items():
    checks.add(f"parameter_{kind}", lambda con, value=value: rows(con, "SELECT %s AS v", (value,)))


@checks
def parameters_binary(con: Any) -> Any:
    sql = "SELECT %b::bigint, %b::float8, %b::text, %b::date, %b::timestamp, %b::uuid, %b::bytea"
    return rows(
        con,
        sql,
        (1, 1.5, "ü", datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1), uuid.UUID(int=5), b"\0"),
    )


@checks
def comparisons_with_parameters(con: Any) -> Any:
    sql = (
        "SELECT count(*) FROM orders WHERE ts BETWEEN %s AND %s AND amount > %s AND note LIKE %s AND day"
        " <> %s"
    )
    given = (
        datetime.datetime(2024, 1, 2), datetime.datetime(2024, 1, 20), decimal.Decimal("5"), "note%",
        datetime.date(2024, 1, 5),
    )  # fmt: skip
    return rows(con, sql, given)


@checks
def any_of_a_list(con: Any) -> Any:
    return rows(con, "SELECT id FROM orders WHERE id = ANY(%s) ORDER BY id", ([1, 2, 3],))


@checks
def enum_parameter(con: Any) -> Any:
    return rows(con, "SELECT count(*) FROM orders WHERE mood = %s", ("sad",))


@checks
def null_comparisons(con: Any) -> Any:
    return rows(con, "SELECT count(*) FROM orders WHERE %s::text IS NULL OR note = %s", (None, "x"))


@checks
def prepared(con: Any) -> Any:
    sql = "SELECT %s::int + 1, note FROM orders WHERE id = %s"
    return [con.execute(sql, (i, i), prepare=True).fetchone() for i in range(1, 9)]


@checks
def prepared_by_itself(con: Any) -> Any:
    """After five runs the driver prepares a statement."""
    return [con.execute("SELECT amount FROM orders WHERE id = %s", (i,)).fetchone() for i in range(1, 12)]


@checks
def prepared_statement_after_a_change(con: Any) -> Any:
    con.execute("CREATE TEMP TABLE t (a INTEGER)")
    for i in range(7):
        con.execute("INSERT INTO t (a) VALUES (%s)", (i,), prepare=True)
    con.execute("ALTER TABLE t ADD COLUMN b TEXT")
    con.execute("INSERT INTO t (a) VALUES (%s)", (100,), prepare=True)
    return rows(con, "SELECT count(*), sum(a), count(b) FROM t")
