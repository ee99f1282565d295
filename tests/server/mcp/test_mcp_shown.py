"""Values of DuckDB as agents see them."""

import json

import duckdb
import pytest

from relserve.server.mcp.shown import LONGEST, rows_of

CUT = f".. ({LONGEST + 1:,} characters)"


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("sum(x) FROM range(3) t(x)", 3),
        ("(2::HUGEINT ** 100)::HUGEINT", "1267650600228229401496703205376"),
        ("1.50::DECIMAL(9, 2)", "1.50"),
        ("'nan'::DOUBLE", "NaN"),
        ("'inf'::FLOAT", "Infinity"),
        ("{'a': ['-inf'::DOUBLE, 1.5, NULL]}", {"a": ["-Infinity", 1.5, None]}),
        ("MAP {'nan'::DOUBLE: 'inf'::DOUBLE}", [["NaN", "Infinity"]]),
        ("TIMESTAMPTZ '2025-01-02 03:04:05+00'", "2025-01-02T03:04:05Z"),
        ("MAP {1: 'a'}", [[1, "a"]]),
        ("{'a': [1, NULL], 'b': DATE '2025-01-02'}", {"a": [1, None], "b": "2025-01-02"}),
        ("'\\xFF'::BLOB", "/w=="),
        ("NULL", None),
        (f"repeat('a', {LONGEST + 1})", "a" * LONGEST + CUT),
        ("list(x) FROM range(100000) t(x)", json.dumps([*range(1000)], separators=(",", ":"))[:20]),
    ],
)
def test_a_value_is_json(sql: str, shown: object) -> None:
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        ((found,),) = rows_of(con.sql(f"SELECT {sql}").to_arrow_table())
    read = json.loads(json.dumps(found, allow_nan=False))
    begins = isinstance(shown, str) and read.startswith(shown) and len(read) < LONGEST + len(CUT) + 5
    assert begins or read == shown
