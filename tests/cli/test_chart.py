"""Results as pictures: bars, a line over time, a histogram."""

from itertools import pairwise

import duckdb
import pytest
from rich.console import Console

from relserve.cli.chart import HEIGHT, chart_of
from relserve.errors import UsageError
from tests.command_line import relserve


def lines(sql: str) -> list[str]:
    screen = Console(width=120, force_terminal=False)
    with screen.capture() as captured:
        screen.print(chart_of(duckdb.sql(sql).to_arrow_table()))
    return captured.get().splitlines()


@pytest.mark.parametrize(
    "columns",
    ["city VARCHAR, n INT", "n INT, city VARCHAR", "city VARCHAR, n DECIMAL(9, 2), more DOUBLE"],
)
def test_a_category_and_a_number_are_bars(columns: str) -> None:
    duckdb.sql("DROP TABLE IF EXISTS t")
    duckdb.sql(f"CREATE TABLE t ({columns})")
    duckdb.sql("INSERT INTO t BY NAME SELECT * FROM (VALUES ('Rome', 10), ('Oslo', 5)) v(city, n)")
    title, rome, oslo = lines("FROM t")
    assert title.strip() == "n by city"
    assert (rome.split()[0], oslo.split()[0]) == ("Rome", "Oslo")
    assert rome.count("█") == 2 * oslo.count("█") > 0


@pytest.mark.parametrize(("value", "name"), [("NULL::VARCHAR", "NULL"), ("true", "true")])
def test_names_of_bars_are_those_of_tables(value: str, name: str) -> None:
    _, bar = lines(f"SELECT {value} AS a, 2.5 AS n")
    assert bar.split()[0] == name


def test_a_whole_number_that_comes_once_each_is_a_category() -> None:
    title, *bars = lines("SELECT stars, 10 * stars AS n FROM range(1, 6) r(stars)")
    assert title.strip() == "n by stars"
    assert [bar.split()[0] for bar in bars] == ["1", "2", "3", "4", "5"]


def test_of_many_categories_the_first_are_drawn_and_that_is_said() -> None:
    assert lines("SELECT 'c' || i AS c, i FROM range(50) t(i)")[-1].strip() == "(the first 40 of 50 rows)"


@pytest.mark.parametrize(
    "at",
    [
        "DATE '2024-01-01' + i::INT",
        "TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL 1 day * i",
        "TIME '01:00' + INTERVAL 1 hour * i",
    ],
)
def test_a_time_and_a_number_are_a_line_whatever_the_order_of_the_rows(at: str) -> None:
    title, *drawn, below = lines(f"SELECT {at} AS at, i AS n FROM range(10) t(i) ORDER BY hash(i)")
    assert title.strip() == "n by at"
    assert len(drawn) == HEIGHT
    assert (drawn[0].split()[0], drawn[-1].split()[0]) == ("9", "0")
    filled = [[i for i, cell in enumerate(line) if "⠀" < cell <= "⣿"] for line in drawn]
    assert all(max(lower) <= max(upper) for upper, lower in pairwise(filled))  # it rises
    assert "1" in below


def test_a_number_alone_is_a_histogram() -> None:
    title, *bars = lines("SELECT i * i / 10.0 AS x FROM range(100) t(i)")
    assert title.strip() == "rows by x"
    assert sum(int(bar.split()[-1]) for bar in bars) == 100
    title, *bars = lines("SELECT i % 3 AS x FROM range(9) t(i)")
    assert [(bar.split()[0], bar.split()[-1]) for bar in bars] == [("0", "3"), ("1", "3"), ("2", "3")]


@pytest.mark.parametrize(
    "sql", ["SELECT 'a' AS x", "SELECT 'a' AS x, NULL::INT AS y", "SELECT 1 AS y WHERE false"]
)
def test_what_cannot_be_drawn_says_what_can(sql: str) -> None:
    with pytest.raises(UsageError, match="--chart draws a category or a time with a number"):
        lines(sql)


def test_a_chart_for_programs_is_on_stderr() -> None:
    sql = "SELECT 'a' AS c, 1 AS n UNION ALL SELECT 'b', 2"
    done = relserve("sql", "--chart", "--format", "csv", sql, "--model", "scripted")
    assert done.stdout.count(b"\n") == 3
    assert "█" in done.stderr.decode()
    assert "█" in relserve("sql", "--chart", sql, "--model", "scripted").stdout.decode()
