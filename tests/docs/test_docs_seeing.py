"""The examples of docs/seeing.md run, and it names every column there is."""

import re
import warnings
from pathlib import Path

import pytest
from relserve_duckdb.explain.explanation import SCHEMA

from relserve.api import connect
from relserve.cli import demo
from relserve.errors import FailureKind
from relserve.session.history import ERROR_SCHEMA, QUERY_SCHEMA
from tests.traces import forget_provider

PAGE = (Path(__file__).parents[2] / "docs" / "seeing.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(
    code: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("RELSERVE_ANSWER_CACHE_MB")  # as users have it
    if "opentelemetry" in code:
        forget_provider(monkeypatch)
    with warnings.catch_warnings():
        exec(compile(code, "seeing.md", "exec"), {})
    if "explain_llm" in code:
        (shown,) = re.findall(r"prints\n\n```\n(.*?)```", PAGE, re.DOTALL)
        assert capsys.readouterr().out == shown


@pytest.mark.parametrize("code", blocks("sql"))
def test_sql_examples_run(code: str) -> None:
    with connect(model="scripted", progress=False) as con:
        demo.prepare(con)
        con.execute(code).fetchall()


def part(start: str, end: str) -> str:
    return PAGE[PAGE.index(start) : PAGE.index(end, PAGE.index(start))]


PARTS = {
    "explain": part("| column of `.table`", "Where the numbers come from"),
    "kinds": part("| kind | words |", "## What is recorded"),
    "queries": part("* `llm_queries()`, one row", "* `llm_errors()`, one row"),
    "errors": part("* `llm_errors()`, one row", "`statement` numbers"),
}
NAMES = {
    "explain": SCHEMA.names, "kinds": list(FailureKind), "queries": QUERY_SCHEMA.names,
    "errors": ERROR_SCHEMA.names,
}  # fmt: skip


@pytest.mark.parametrize(("where", "name"), [(where, name) for where in NAMES for name in NAMES[where]])
def test_every_column_is_named_where_its_table_is_told(where: str, name: str) -> None:
    assert f"`{name}`" in PARTS[where]
