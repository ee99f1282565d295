"""Every SQL example of the pages on functions runs, and gives rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from relserve.api import Connection, connect

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("functions_extract.md", "functions_agg.md", "functions_classify.md")
SQL = re.compile(r"```sql\n(.*?)```", re.DOTALL)
EXAMPLES = [
    pytest.param(sql, id=f"{page}-{i}")
    for page in PAGES
    for i, sql in enumerate(SQL.findall((DOCS / page).read_text(encoding="utf-8")))
]


@pytest.fixture(scope="module")
def con() -> Iterator[Connection]:
    with connect(model="scripted", progress=False) as con:
        yield con


@pytest.mark.parametrize("sql", EXAMPLES)
def test_examples_run_and_nothing_fails(con: Connection, sql: str) -> None:
    ((before,),) = con.execute("SELECT count(*) FROM llm_queries()").fetchall()
    rows = con.execute(sql).fetchall()
    assert rows or "llm_filter" in sql
    errors = con.execute("SELECT message FROM llm_errors() WHERE kind <> 'low_confidence'").fetchall()
    assert errors == []
    assert con.execute("SELECT count(*) > ? FROM llm_queries()", [before]).fetchall() == [(True,)]


def test_every_page_has_examples() -> None:
    for page in PAGES:
        assert any(page in example.id for example in EXAMPLES), page
