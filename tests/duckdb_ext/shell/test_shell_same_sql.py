"""The SQL suite through the extension: the rows are those that Python's connection gives."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from extension_host import Installed, Service, needs_shell, serving
from sql_cases import LARGE, ORACLE, SMALL, SMALL_TABLES, Case, by_digit
from sql_fixtures import make_tables
from test_shell_aggregate import needs_aggregates

from relserve.engines.scripted import ScriptedEngine

FILES = """
COPY (SELECT id, name FROM t WHERE id < 3) TO 'small.csv';
COPY (SELECT id, name FROM t WHERE id < 3) TO 'small.parquet';
COPY (SELECT id, name FROM t WHERE id < 3) TO 'small.json';
"""
READS = re.compile(r"(?is)\A\s*(select|from|with|values)\b[^;]*\Z")
NOT_IN_DUCKDB_1 = ("'<{}>'.llm(", "#1", "::BIGNUM")  # macros as methods and of #1; digits are a double there
IN_THE_SHELL = [
    case
    for case in SMALL
    if READS.match(case.sql) and not case.parameters and not case.shows
    and not any(form in case.sql and "ORDER BY #1" not in case.sql for form in NOT_IN_DUCKDB_1)
]  # fmt: skip
# DuckDB drops an aggregate's ORDER BY that is the window's, and with it what tells that values are in order
ORDER_OF_THE_WINDOW = re.compile(
    r"SELECT id, .*ORDER BY id\) OVER (w FROM|\(PARTITION BY g ORDER BY id).* < 70(?! Q)"
)
dropped = pytest.mark.xfail(
    strict=True, reason="DuckDB drops ORDER BY inside; llm_agg_list(list(..)) keeps it"
)
# of llm_agg the extension takes options in a struct, and no names of arguments
ON_LARGE_TABLES = [
    pytest.param(case, id=case.sql[:90], marks=[dropped] if ORDER_OF_THE_WINDOW.match(case.sql) else [])
    for case in LARGE
    if "max_tokens := 99" not in case.sql and "prompt :=" not in case.sql
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cases")


@pytest.fixture(scope="module")
def scripted() -> Iterator[Service]:
    with serving(ScriptedEngine(script=by_digit)) as service:
        yield service


@pytest.fixture(scope="module")
def con(installed: Installed, scripted: Service, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with contextlib.chdir(folder), installed.connect(scripted) as con:
        con.execute(SMALL_TABLES + FILES)
        yield con


@pytest.fixture(scope="module")
def with_large_tables(installed: Installed, scripted: Service) -> Iterator[duckdb.DuckDBPyConnection]:
    with installed.connect(scripted) as con:
        con.execute("SELECT llm('{}', 1)").fetchall()  # from which llm_agg knows the socket
        make_tables(con)
        yield con


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables in a DuckDB that never heard of relserve."""
    with duckdb.connect() as con:
        con.execute(ORACLE)
        make_tables(con)
        yield con


@pytest.fixture(scope="module")
def in_the_shell(installed: Installed, scripted: Service, folder: Path) -> dict[str, Path]:
    """The results of all cases, from one run of the stock command, by their texts."""
    results = {case.sql: folder / f"{i}.parquet" for i, case in enumerate(IN_THE_SHELL)}
    copies = [f"COPY ({sql}) TO '{path}' (FORMAT parquet);" for sql, path in results.items()]
    installed.shell(scripted, "\n".join([SMALL_TABLES, FILES, *copies]), cwd=folder)
    return results


@pytest.mark.cells(5)
@pytest.mark.parametrize("case", SMALL, ids=[case.sql[:90] for case in SMALL])
def test_in_python(con: duckdb.DuckDBPyConnection, case: Case) -> None:
    con.execute("DROP TABLE IF EXISTS made; DROP TABLE IF EXISTS tt;" + SMALL_TABLES)
    rows = con.execute(case.sql, case.parameters).fetchall()
    if case.shows:
        rows += con.execute(case.shows).fetchall()
    assert in_order(case, rows) == in_order(case, case.rows)


@pytest.mark.cells(5)
@needs_aggregates
@pytest.mark.parametrize("case", ON_LARGE_TABLES)
def test_large_tables_and_aggregates(
    with_large_tables: duckdb.DuckDBPyConnection, oracle: duckdb.DuckDBPyConnection, case: Case
) -> None:
    found, threads = [], 1 + 3 * (LARGE.index(case) % 2)
    for con, sql in ((with_large_tables, case.sql), (oracle, case.like or case.sql)):
        con.execute("CREATE OR REPLACE TABLE z AS SELECT id, body FROM p WHERE id < 3000")
        con.execute(f"DROP TABLE IF EXISTS made; DROP TABLE IF EXISTS tt; SET threads = {threads}")
        rows = con.execute(sql).fetchall()
        found.append(in_order(case, rows + (con.execute(case.shows).fetchall() if case.shows else [])))
    assert found[0] == found[1]


@needs_aggregates
def test_without_an_order_values_are_sorted_whichever_thread_ends_the_group(
    with_large_tables: duckdb.DuckDBPyConnection,
) -> None:
    with_large_tables.execute("SET threads = 4")
    sql = "SELECT llm_agg('J {}', body) FROM p WHERE id < 70 GROUP BY GROUPING SETS (())"
    answers = {with_large_tables.execute(sql).fetchall()[0][0] for _ in range(100)}
    assert len(answers) == 1


@pytest.mark.cells(6)
@needs_shell
@pytest.mark.parametrize("case", IN_THE_SHELL, ids=[case.sql[:90] for case in IN_THE_SHELL])
def test_in_the_stock_shell(in_the_shell: dict[str, Path], case: Case) -> None:
    rows = duckdb.execute(f"FROM '{in_the_shell[case.sql]}'").fetchall()
    assert in_order(case, rows) == in_order(case, case.rows)


@pytest.mark.long
@needs_shell
def test_long_numbers_in_the_stock_shell(installed: Installed, scripted: Service) -> None:
    for number in (
        "123456789012345678901234567890123456789012",
        "-7",
        "0",
        "-99999999999999999999999999999999999",
    ):
        ran = installed.shell(scripted, f"SELECT llm('{{}}', '{number}'::BIGNUM) AS n;", "-csv")
        assert ran.out == f"n\n{number}\n"


def in_order(case: Case, rows: list[Any] | None) -> list[Any]:
    """The rows, sorted unless their order counts."""
    assert rows is not None
    if case.ordered:
        return rows
    return sorted(rows, key=lambda row: [(value is not None, str(value)) for value in row])


def test_there_are_enough_cases() -> None:
    assert len(SMALL) >= 150
    assert len(IN_THE_SHELL) >= 100
