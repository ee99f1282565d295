"""PostgreSQL's types for DuckDB's, and back."""

from __future__ import annotations

import duckdb
import pytest

from relserve.server.wire.types import ELEMENT_OF, KNOWN, UHUGEINT, PgType, duckdb_type, numeric, pg_type


@pytest.mark.parametrize(
    ("sql", "name", "size"),
    [
        ("BOOLEAN", "bool", 1), ("TINYINT", "int2", 2), ("UTINYINT", "int2", 2), ("SMALLINT", "int2", 2),
        ("USMALLINT", "int4", 4), ("INTEGER", "int4", 4), ("UINTEGER", "int8", 8), ("BIGINT", "int8", 8),
        ("UBIGINT", "numeric", -1), ("HUGEINT", "numeric", -1), ("UHUGEINT", "numeric", -1),
        ("BIGNUM", "numeric", -1), ("DECIMAL(9, 3)", "numeric", -1), ("FLOAT", "float4", 4),
        ("DOUBLE", "float8", 8), ("VARCHAR", "text", -1), ("BLOB", "bytea", -1), ("DATE", "date", 4),
        ("TIME", "time", 8), ("TIME_NS", "time", 8), ("TIMETZ", "timetz", 12), ("TIMESTAMP", "timestamp", 8),
        ("TIMESTAMP_S", "timestamp", 8), ("TIMESTAMP_MS", "timestamp", 8), ("TIMESTAMP_NS", "timestamp", 8),
        ("TIMESTAMPTZ", "timestamptz", 8), ("TIMESTAMPTZ_NS", "timestamptz", 8), ("INTERVAL", "interval", 16),
        ("UUID", "uuid", 16), ("BIT", "varbit", -1), ("JSON", "json", -1), ("VARIANT", "json", -1),
        ("ENUM('[]', 'b')", "text", -1), ("GEOMETRY", "text", -1), ("STRUCT(a INTEGER)", "json", -1),
        ("MAP(VARCHAR, INTEGER)", "json", -1), ("UNION(n INTEGER)", "json", -1), ("INTEGER[]", "_int4", -1),
        ("DECIMAL(9, 3)[]", "_numeric", -1), ("INTEGER[3]", "_int4", -1), ("INTEGER[][]", "json", -1),
        ("STRUCT(a INTEGER)[]", "json", -1), ("VARIANT[]", "json", -1), ("JSON[]", "_json", -1),
        ("ENUM('a')[]", "_text", -1), ("MAP(VARCHAR, INTEGER)[2]", "json", -1),
    ],
)  # fmt: skip
def test_every_type_of_duckdb_has_one_of_postgresql(sql: str, name: str, size: int) -> None:
    (kind,) = duckdb.sql(f"SELECT NULL::{sql}").types
    assert (pg_type(str(kind)).name, pg_type(str(kind)).size) == (name, size)


def test_the_type_of_null_is_text() -> None:
    (kind,) = duckdb.sql("SELECT NULL").types
    assert pg_type(str(kind)).name == "text"


def test_modifiers_tell_precision_and_scale() -> None:
    assert pg_type("DECIMAL(10,2)") == PgType(1700, (10 << 16 | 2) + 4)
    assert pg_type("DECIMAL(10,2)[]") == PgType(1231, (10 << 16 | 2) + 4, 1700)
    assert pg_type("UBIGINT") == numeric(20, 0)
    assert pg_type("HUGEINT") == PgType(1700)
    assert pg_type("UHUGEINT") == UHUGEINT


@pytest.mark.parametrize("oid", sorted({*KNOWN, *ELEMENT_OF}))
def test_the_way_back_gives_types_that_duckdb_has(oid: int) -> None:
    back = duckdb_type(oid)
    if back is None:
        assert oid in (1700, 1231, 705, 24, 1008, 2205, 2210, 2206, 2211, 22, 1006, 30, 1013)
    else:
        (kind,) = duckdb.sql(f"SELECT NULL::{back}").types
        assert pg_type(str(kind)).name.removeprefix("_") in KNOWN[ELEMENT_OF.get(oid, oid)].name or oid in (
            18, 19, 26, 1002, 1003, 1028, 1042, 1043, 1014, 1015, 1560, 1561, 3807,
        )  # fmt: skip


def test_a_type_left_open_stays_open() -> None:
    assert duckdb_type(0) is None
    assert duckdb_type(999_999) is None
