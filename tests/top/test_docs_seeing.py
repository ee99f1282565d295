"""The examples of docs/seeing.md run, and it names every column there is."""

import re
import warnings
from pathlib import Path

import pytest
from relserve_duckdb.explanation import SCHEMA

from relserve import demo
from relserve.api import connect
from relserve.errors import FailureKind
from relserve.history import ERROR_SCHEMA, QUERY_SCHEMA

PAGE = (Path(__file__).parents[2] / "docs" / "seeing.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(code: str, capsys: pytest.CaptureFixture[str]) -> None:
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


@pytest.mark.parametrize("name", [*SCHEMA.names, *QUERY_SCHEMA.names, *ERROR_SCHEMA.names, *FailureKind])
def test_every_column_is_named(name: str) -> None:
    assert f"`{name}`" in PAGE
