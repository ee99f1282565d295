"""The page about the extension: its examples run in the stock shell and on DuckDB 2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from extension_host import Installed, Service, needs_shell
from test_shell_aggregate import needs_aggregates

PAGE = (Path(__file__).parents[3] / "docs" / "duckdb_shell.md").read_text(encoding="utf-8")
FOR_BOTH = re.findall(r"^```sql\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
OF_LISTS, OF_AGGREGATES = re.findall(r"^```sql no-run\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
REVIEWS = """CREATE TABLE reviews AS SELECT 'mug' AS product, 'cup' AS name, i AS day, i % 5 AS stars,
    'text ' || i AS body FROM range(10) t(i);"""


@needs_shell
@pytest.mark.parametrize("sql", [*FOR_BOTH, OF_LISTS])
def test_examples_run_in_the_stock_shell(installed: Installed, service: Service, sql: str) -> None:
    told = installed.shell(service, f"{REVIEWS}{sql}", "-bail", "-csv")
    assert "Error" not in told.err
    assert len(told.out.splitlines()) > 1


@needs_aggregates
@pytest.mark.parametrize("sql", [*FOR_BOTH, OF_LISTS, OF_AGGREGATES])
def test_examples_run_on_duckdb_2(installed: Installed, service: Service, sql: str) -> None:
    with installed.connect(service) as con:
        con.execute(REVIEWS + "SELECT llm('{}', 1);").fetchall()
        con.execute(sql).fetchall()


def test_settings_are_told(installed: Installed, service: Service) -> None:
    with installed.connect(service) as con:
        names = con.execute(
            "SELECT name FROM duckdb_settings() WHERE name LIKE 'llm\\_%' ESCAPE '\\'"
        ).fetchall()
    assert len(names) == 2
    for (name,) in names:
        assert f"`SET {name} = " in PAGE
