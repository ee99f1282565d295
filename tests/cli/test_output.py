"""How results are written: odd types as DuckDB prints them, nothing lost, nothing read as markup."""

import csv
import io
import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from rich.console import Console

from relserve.cli.columns import fitting
from relserve.cli.console import console
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
    print_table(console(file=screen), result(sql))
    return screen.getvalue()


def test_csv_holds_every_type(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write(result(ODD), Format.csv)
    head, row = capfdbinary.readouterr().out.decode().splitlines()
    assert head.split(",")[0] == '"text"'
    assert row == (
        '"a ""b"", c",1.50,"[1,null]","{""k"":""2024-01-01""}","\\xAA","1 day",nan,,true,'
        '12345678901234567890123,"","2024-01-01 12:30:00"'
    )


def test_what_is_nested_in_csv_is_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    struct = "{'a': 'x, \"y\"', 'b': NULL} AS s, NULL::STRUCT(a INT) AS n"
    sql = f"SELECT [{{'a': 1}}] AS l, MAP {{'k': 'v'}} AS m, {struct}"
    write(result(sql), Format.csv)
    _, row = csv.reader(capfdbinary.readouterr().out.decode().splitlines())
    assert [json.loads(cell) for cell in row[:3]] == [[{"a": 1}], {"k": "v"}, {"a": 'x, "y"', "b": None}]
    assert row[3] == ""


def test_parquet_holds_every_type(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    write(result(f"{ODD}"), Format.parquet)
    file = tmp_path / "result.parquet"
    file.write_bytes(capfdbinary.readouterr().out)
    (row,) = duckdb.sql(f"SELECT text, price, row.k, span::VARCHAR FROM '{file}'").fetchall()
    assert row == ('a "b", c', Decimal("1.50"), date(2024, 1, 1), "1 day")


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


@pytest.mark.parametrize(("widths", "room", "kept"), [
    ([10, 10, 10], 40, [0, 1, 2]),
    ([10, 10, 10], 39, [0, None, 2]),
    ([10, 10, 10], 31, [0, None, 2]),
    ([10, 10, 10], 30, [0, None]),
    ([10, 10, 10], 5, [0, None]),
    ([50], 20, [0, None]),
    ([5] * 9, 60, [0, 1, 2, None, 6, 7, 8]),
])  # fmt: skip
def test_columns_that_a_screen_has_room_for(widths: list[int], room: int, kept: list[int | None]) -> None:
    assert fitting(widths, room) == kept


def test_a_wide_result_leaves_columns_out_and_says_so() -> None:
    columns = ", ".join(f"{i} AS a_rather_long_name_{i}, 'text {i}' AS t{i}" for i in range(20))
    screen = io.StringIO()
    narrow = Console(file=screen, width=80, emoji=False, markup=False)
    print_table(narrow, result(f"SELECT {columns}"), hint="all: x")
    *table, said = screen.getvalue().splitlines()
    assert max(map(len, table)) <= 80
    assert "a_rather_lo…" in table[1]
    assert "│ text 19 │" in table[3]
    assert said == "(6 of 40 columns shown; all: x)"


def test_lines_and_markdown_hold_every_value_whole(capsys: pytest.CaptureFixture[str]) -> None:
    columns = "'a|b' || chr(10) || '\\' AS größe, repeat('x', 200) AS x, NULL::INTEGER AS n"
    table = result(f"SELECT {columns} FROM range(2)")
    write(table, Format.line)
    row = ["größe = a|b", "        \\", f"    x = {'x' * 200}", "    n = NULL"]
    assert capsys.readouterr().out.splitlines() == [*row, "", *row]
    write(table, Format.markdown)
    head, sides, *rows = capsys.readouterr().out.splitlines()
    assert (head, sides) == ("| größe | x | n |", "| --- | --- | ---: |")
    assert rows == 2 * [f"| a\\|b<br>\\\\ | {'x' * 200} | NULL |"]
