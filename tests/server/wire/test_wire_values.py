"""DataRow messages: the same bytes as PostgreSQL's, nested values as JSON, and how long a batch takes.

`postgres_values.json` holds what a PostgreSQL 15.18 sent for the same values, in text and, in hex, in binary.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from relserve.errors import ProtocolError
from relserve.server.wire import values
from relserve.server.wire.types import INT2, PgType, ResultColumn, pg_type
from relserve.server.wire.values import data_rows

RECORDED = json.loads((Path(__file__).parent / "postgres_values.json").read_text(encoding="utf-8"))
TEXT, BINARY = 0, 1


@cache
def database(is_lossless: bool) -> duckdb.DuckDBPyConnection:
    """One database for all tests with this setting, which is the whole database's."""
    con = duckdb.connect()
    con.execute(f"SET arrow_lossless_conversion = {is_lossless}")
    return con


def results(
    sql: str, zone: str, *, is_lossless: bool = True
) -> tuple[list[pa.RecordBatch], list[ResultColumn]]:
    """The batches of a query, and its columns as a client hears of them."""
    con = database(is_lossless).cursor()
    con.execute(f"SET TimeZone = '{zone}'")
    relation = con.sql(sql)
    kinds = map(str, relation.types)
    columns = [ResultColumn(name, pg_type(kind)) for name, kind in zip(relation.columns, kinds, strict=True)]
    return list(relation.to_arrow_reader()), columns


def run(sql: str, zone: str = "UTC") -> tuple[pa.RecordBatch, list[ResultColumn]]:
    """The rows of a query that gives one batch, and its columns."""
    (batch,), columns = results(sql, zone)
    return batch, columns


def read_rows(data: bytes, num_columns: int) -> list[list[bytes | None]]:
    """The values of DataRow messages."""
    rows, at = [], 0
    while at < len(data):
        kind, size, count = struct.unpack_from("!cih", data, at)
        assert (kind, count) == (b"D", num_columns)
        end, at = at + 1 + size, at + 7
        row: list[bytes | None] = []
        for _ in range(count):
            (length,) = struct.unpack_from("!i", data, at)
            at += 4
            row.append(None if length < 0 else data[at : at + length])
            at += max(length, 0)
        assert at == end
        rows.append(row)
    return rows


def sent(
    sql: str, format_code: int = TEXT, zone: str = "UTC", *, is_lossless: bool = True
) -> list[list[bytes | None]]:
    """What a client gets for a query."""
    batches, columns = results(sql, zone, is_lossless=is_lossless)
    formats = [format_code] * len(columns)
    return [row for batch in batches for row in read_rows(data_rows(batch, columns, formats), len(columns))]


@pytest.mark.cells(60)
@pytest.mark.parametrize("recorded", RECORDED, ids=[f"{each['duckdb']} {each['zone']}" for each in RECORDED])
def test_values_are_postgresqls_byte_for_byte(recorded: dict[str, Any]) -> None:
    sql = f"SELECT {recorded['duckdb']} AS x UNION ALL SELECT NULL ORDER BY x NULLS LAST"
    zone = recorded["zone"]
    assert pg_type(str(duckdb.sql(sql).types[0])).oid == recorded["oid"]
    assert sent(sql, TEXT, zone) == [[recorded["text"].encode()], [None]]
    assert sent(sql, BINARY, zone) == [[bytes.fromhex(recorded["binary"])], [None]]


@pytest.mark.parametrize("recorded", [each for each in RECORDED if "TIMETZ" not in each["duckdb"]][::3])
def test_values_are_the_same_without_lossless_conversion(recorded: dict[str, Any]) -> None:
    sql = f"SELECT {recorded['duckdb']} AS x"
    assert sent(sql, TEXT, recorded["zone"], is_lossless=False) == [[recorded["text"].encode()]]
    assert sent(sql, BINARY, recorded["zone"], is_lossless=False) == [[bytes.fromhex(recorded["binary"])]]


def test_a_time_whose_offset_is_lost_is_no_value() -> None:
    with pytest.raises(ProtocolError, match="without its offset"):
        sent("SELECT TIMETZ '12:00:00+02'", is_lossless=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("{'a': 1, 'b': [1, NULL], 'c': NULL}", '{"a":1,"b":[1,null],"c":null}'),
        ("{'a\"b': 'é\n'}", '{"a\\"b":"é\\n"}'),
        ("{'t': true, 'd': DATE '2020-01-01', 'n': 1.50, 'f': 'nan'::DOUBLE, 'x': 1e300}",
         '{"t":true,"d":"2020-01-01","n":1.50,"f":"NaN","x":1e+300}'),
        ("{'h': 5::HUGEINT, 'u': 18446744073709551615::UBIGINT, 'b': '101'::BIT, 'z': TIMETZ '12:00:00+02'}",
         '{"h":5,"u":18446744073709551615,"b":"101","z":"12:00:00+02"}'),
        ("{'j': '{\"a\": 1}'::JSON, 'i': INTERVAL 1 MONTH, 'x': '\\xDE'::BLOB}",
         '{"j":{"a": 1},"i":"1 mon","x":"\\\\xde"}'),
        ("{'s': {'t': []::INTEGER[]}}", '{"s":{"t":[]}}'),
        ("{'s': {}, 't': 1}", '{"s":{},"t":1}'),
        ("[[1], NULL, [NULL, 2], []]", "[[1],null,[null,2],[]]"),
        ("[{'a': 1}, NULL]", '[{"a":1},null]'),
        ("[{'a': 1}]::STRUCT(a INTEGER)[1]", '[{"a":1}]'),
        ("MAP {'a': 1, 'b': NULL}", '{"a":1,"b":null}'),
        ("MAP {1: [true]}", '{"1":[true]}'),
        ("MAP {}::MAP(VARCHAR, INTEGER)", "{}"),
        ("union_value(num := 2)", '{"num":2}'),
        ("{'u': union_value(s := 'x')}", '{"u":{"s":"x"}}'),
        ("row(1, 'x')", '{"element1":1,"element2":"x"}'),
        ("1::VARIANT", "1"),
        ("'x'::VARIANT", '"x"'),
        ("[1, NULL]::VARIANT", "[1,null]"),
        ("{'a': 1.50, 'b': {'x': true, 'y': NULL}}::VARIANT", '{"a":1.50,"b":{"x":true,"y":null}}'),
        ("(-0.05)::DECIMAL(30, 2)::VARIANT", "-0.05"),
        ("DATE '2020-01-01'::VARIANT", '"2020-01-01"'),
        ("TIMESTAMP '2020-01-01 00:00:01.5'::VARIANT", '"2020-01-01 00:00:01.5"'),
        ("'fc0e9bd4-2c76-4e21-b685-e17aa2a233c3'::UUID::VARIANT", '"fc0e9bd4-2c76-4e21-b685-e17aa2a233c3"'),
        ("0.1::FLOAT::VARIANT", "0.10000000149011612"),
        ("{'x': 'nan'::DOUBLE, 'y': '-inf'::DOUBLE, 'z': 'no \"NaN'}::VARIANT",
         '{"x":"NaN","y":"-Infinity","z":"no \\"NaN"}'),
        ("'infinity'::DATE::VARIANT", '"infinity"'),
        ("[{'a': 1}::VARIANT, NULL]", '[{"a":1},null]'),
    ],
)  # fmt: skip
def test_nested_values_are_json(value: str, text: str) -> None:
    sql = f"SELECT {value} AS x UNION ALL SELECT NULL"
    assert sorted(sent(sql), key=str) == sorted([[text.encode()], [None]], key=str)
    json.loads(text)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (["[union_value(n := 1), NULL]", "NULL", "[]"], ['[{"n":1},null]', None, "[]"]),
        (["[[union_value(n := 1)], NULL]", "NULL"], ['[[{"n":1}],null]', None]),
        (["[union_value(n := 1)]::UNION(n INTEGER)[1]", "NULL"], ['[{"n":1}]', None]),
        (["[{'a': [1::HUGEINT]}, NULL]::STRUCT(a HUGEINT[])[2]", "NULL"], ['[{"a":[1]},null]', None]),
        (["[1::HUGEINT]::HUGEINT[1]", "NULL", "[NULL]"], ["{1}", None, "{NULL}"]),
        (["MAP {'a': union_value(n := 5::HUGEINT)}", "NULL"], ['{"a":{"n":5}}', None]),
        (["[1::VARIANT, NULL]", "NULL"], ["[1,null]", None]),
        (["[MAP {'a': 1}, NULL]", "NULL", "[MAP {}]"], ['[{"a":1},null]', None, "[{}]"]),
    ],
)
def test_nulls_around_nested_values(values: list[str], texts: list[str | None]) -> None:
    """Arrow's own ways to flatten and filter end the process, or know none of these types."""
    sql = " UNION ALL ".join(f"SELECT {value} AS x" for value in values)
    expected = [[None if text is None else text.encode()] for text in texts]
    assert sorted(sent(sql), key=str) == sorted(expected, key=str)
    batches, columns = results(sql, "UTC")
    rows = [data_rows(batch.slice(i, 1), columns, [TEXT]) for batch in batches for i in range(batch.num_rows)]
    assert sorted((read_rows(row, 1)[0] for row in rows), key=str) == sorted(expected, key=str)


def test_enums_and_types_that_postgresql_has_not_are_texts() -> None:
    assert sent("SELECT 'x'::ENUM('x', 'y'), 'POINT(1 2)'::GEOMETRY, NULL") == [
        [b"x", b"0101000000000000000000F03F0000000000000040", None]
    ]


def test_a_slice_of_a_batch_gives_its_own_rows() -> None:
    every = ", ".join(f"[{each['duckdb']}][1 + (i % 1)] AS c{n}" for n, each in enumerate(RECORDED[:120:2]))
    batch, columns = run(
        f"SELECT i, i::DECIMAL(9, 2), i::HUGEINT, [i, NULL], {{'i': i}}, {every} FROM range(50) r(i)"
    )
    for format_code in (TEXT, BINARY):
        formats = [format_code] * len(columns)
        whole = read_rows(data_rows(batch, columns, formats), len(columns))
        assert read_rows(data_rows(batch.slice(7, 5), columns, formats), len(columns)) == whole[7:12]


def test_nulls_of_every_recorded_type_in_a_slice() -> None:
    for each in RECORDED[::4]:
        batch, columns = run(
            f"SELECT CASE WHEN i = 2 THEN {each['duckdb']} END AS x FROM range(4) r(i)", each["zone"]
        )
        for format_code, value in ((TEXT, each["text"].encode()), (BINARY, bytes.fromhex(each["binary"]))):
            rows = read_rows(data_rows(batch.slice(1), columns, [format_code]), 1)
            assert rows == [[None], [value], [None]]


def test_no_rows_and_no_columns() -> None:
    batch, columns = run("SELECT 1 AS x")
    assert data_rows(batch.slice(0, 0), columns, [TEXT]) == b""
    nothing = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert data_rows(nothing, [], []) == b"D\0\0\0\6\0\0" * 2


def test_rows_that_do_not_fit_into_one_array_go_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, columns = run("SELECT repeat('x', 10) AS x, i FROM range(100) r(i)")
    whole = data_rows(batch, columns, [TEXT, BINARY])
    monkeypatch.setattr(values, "ROW_LIMIT_BYTES", 200)
    assert data_rows(batch, columns, [TEXT, BINARY]) == whole
    monkeypatch.setattr(values, "ROW_LIMIT_BYTES", 20)
    with pytest.raises(ProtocolError, match="longer than 20 bytes") as raised:
        data_rows(batch, columns, [TEXT, BINARY])
    assert raised.value.sqlstate == "54000"


def test_a_column_promised_narrower_than_its_values_is_an_error() -> None:
    batch, _ = run("SELECT 70000 AS x")
    with pytest.raises(pa.ArrowInvalid, match="not in range"):
        data_rows(batch, [ResultColumn("x", PgType(INT2))], [BINARY])


def test_a_date_before_postgresqls_first_is_an_error_in_binary() -> None:
    with pytest.raises(ProtocolError, match="date out of range") as raised:
        sent("SELECT DATE '5877642-06-25 (BC)'", BINARY)
    assert raised.value.sqlstate == "22008"


@pytest.mark.performance
@pytest.mark.parametrize("format_code", [TEXT, BINARY])
def test_three_hundred_thousand_values_take_a_second(limit_s: Callable[..., float], format_code: int) -> None:
    wanted = "i, i / 7, (i / 100)::DECIMAL(18, 2), 'row ' || i, DATE '2000-01-01' + i::INTEGER, to_seconds(i)"
    batches, columns = results(f"SELECT {wanted} FROM range(50_000) r(i)", "UTC")
    start = time.perf_counter()
    data = b"".join(data_rows(batch, columns, [format_code] * len(columns)) for batch in batches)
    assert time.perf_counter() - start < limit_s(1.0)
    assert data.count(b"row ") == 50_000
