"""A value of every type of DuckDB reads in a prompt as DuckDB prints it, or is refused by its type's name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sql_fixtures import Made, make

from relserve.engines.scripted import echo
from relserve.errors import UsageError


@pytest.fixture(scope="module")
def world() -> Iterator[Made]:
    made = make(tables=False, script=echo)
    yield made
    made.con.close()


AS_PRINTED = [
    "true", "-1::TINYINT", "1::USMALLINT", "2::UBIGINT", "(-1)::HUGEINT", "1::UHUGEINT", "12::BIGNUM",
    "0.1::FLOAT", "0.1::DOUBLE", "1.50::DECIMAL(9, 2)", "1.5::DECIMAL(38, 10)", "'é'::VARCHAR",
    "'a'::ENUM('a', 'BIT')", "'{\"a\": 1}'::JSON", "'00000000-0000-0000-0000-000000000007'::UUID",
    "DATE 'infinity'", "TIME '12:00:01.5'", "TIME_NS '12:00:00.123456789'",
    "TIMESTAMP '290309-12-22 (BC) 00:00:00'", "TIMESTAMP_S '2024-01-01 00:00:00'",
    "TIMESTAMP_MS '2024-01-01 00:00:00.123'", "TIMESTAMP_NS '2024-01-01 00:00:00.123456789'",
    "TIMESTAMPTZ '2024-01-01 00:00:00+00'", "INTERVAL '1 month 2 days'", "union_value(k := 1)",
    "[1, 2]::INT[2]", "NULL",
]  # fmt: skip
AS_JSON = {
    "{'a': 'x', 'BIT': 1}": '{"a": "x", "BIT": 1}',
    "{}": "{}",
    "MAP {'k': 1}": '{"k":1}',
    "[1, NULL]": "[1, null]",
    "[1::VARIANT]": "[1]",
    "{'a': 'POINT (1 2)'::GEOMETRY}": '{"a": "POINT (1 2)"}',
    "'plain'::BLOB": "plain",
}
REFUSED = {
    "1::VARIANT": "VARIANT",
    "{'a': 1}::VARIANT": "VARIANT",
    "'POINT (1 2)'::GEOMETRY": "GEOMETRY",
    "'POINT (1 2)'::GEOMETRY('OGC:CRS84')": "GEOMETRY",
    "'101'::BIT": "BIT",
    "['101'::BIT]": "BIT",
    "{'a': '101'::BIT}": "BIT",
    "'12:00:00+02'::TIMETZ": "TIME WITH TIME ZONE",
    "MAP {1: ['12:00:00+02'::TIMETZ]}": "TIME WITH TIME ZONE",
}


@pytest.mark.cells(10)
@pytest.mark.parametrize("value", AS_PRINTED)
def test_it_reads_as_duckdb_prints_it(world: Made, value: str) -> None:
    ((said, printed),) = world.rows(f"SELECT llm('{{}}', v), v::VARCHAR FROM (SELECT {value} AS v)")
    assert said == printed


@pytest.mark.parametrize("value", AS_JSON)
def test_it_reads_as_json_or_text(world: Made, value: str) -> None:
    assert world.rows(f"SELECT llm('{{}}', v) FROM (SELECT {value} AS v)") == [(AS_JSON[value],)]


@pytest.mark.parametrize("value", REFUSED)
def test_it_is_refused_by_its_name_and_read_as_text(world: Made, value: str) -> None:
    refused = f"cannot read values of this type; give them as text, value::VARCHAR: {REFUSED[value]}$"
    for call in ("llm('{} {}', 1, v)", "llm_filter('{}', v)"):
        with pytest.raises(UsageError, match=refused):
            world.rows(f"SELECT {call} FROM (SELECT {value} AS v)")
    ((said, printed),) = world.rows(f"SELECT llm('{{}}', v::VARCHAR), v::VARCHAR FROM (SELECT {value} AS v)")
    assert said == printed
