"""How results are written: odd types as DuckDB prints them, nothing lost, nothing read as markup."""

import io
import json

import duckdb
import pyarrow as pa
import pytest
from rich.console import Console

from relserve.cli.console import PLAIN_WIDTH
from relserve.cli.formats import Format
from relserve.cli.output import print_table, write

ODD = """
SELECT 'a "b", c' AS text, 1.50::DECIMAL(4, 2) AS price, [1, NULL] AS list, {'k': DATE '2024-01-01'} AS row,
       '\\xAA'::BLOB AS blob, INTERVAL 1 day AS span, 'nan'::DOUBLE AS nan, NULL AS nothing, true AS flag,
       12345678901234567890123::HUGEINT AS huge, '' AS empty, TIMESTAMP '2024-01-01 12:30:00' AS moment
"""


def result(sql: str) -> pa.Table:
    return duckdb.sql(sql).to_arrow_table()


def shown(sql: str) -> str:
    screen = io.StringIO()
    print_table(Console(file=screen, width=PLAIN_WIDTH, emoji=False), result(sql))
    return screen.getvalue()


def test_csv_holds_every_type(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write(result(ODD), Format.csv)
    head, row = capfdbinary.readouterr().out.decode().splitlines()
    assert head.split(",")[0] == '"text"'
    assert row == (
        '"a ""b"", c",1.50,"[1, NULL]","{\'k\': 2024-01-01}","\\xAA","1 day",nan,,true,'
        '12345678901234567890123,"","2024-01-01 12:30:00"'
    )


def test_json_lines_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    write(result(ODD), Format.json)

    def refuse(word: str) -> None:
        raise AssertionError(word)

    row = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert row == {
        "text": 'a "b", c', "price": 1.5, "list": [1, None], "row": {"k": "2024-01-01"}, "blob": "\\xAA",
        "span": "1 day", "nan": None, "nothing": None, "flag": True, "huge": 12345678901234567890123,
        "empty": "", "moment": "2024-01-01 12:30:00",
    }  # fmt: skip


def test_json_keeps_columns_of_the_same_name(capsys: pytest.CaptureFixture[str]) -> None:
    write(result("SELECT 1 AS a, 2 AS a, 3 AS a_1"), Format.json)
    assert list(json.loads(capsys.readouterr().out).values()) == [1, 2, 3]


def test_a_table_shows_values_as_duckdb_prints_them() -> None:
    text = shown(ODD)
    assert all(word in text for word in ("1 day", "2024-01-01", "NULL", "true"))
    assert not any(word in text for word in ("datetime", "Decimal", "MonthDayNano"))
    assert ":beer: [bold]x[/bold]" in shown("SELECT ':beer: [bold]x[/bold]' AS t")


def test_explain_shows_the_plan_as_it_is_drawn() -> None:
    text = shown("EXPLAIN SELECT i FROM range(3) t(i)")
    assert "Function: RANGE" in text
    assert "explain_value" not in text
    assert len(text.splitlines()) > 4
