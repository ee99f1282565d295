"""Every ```sql and ```python block of docs/*.md runs on the scripted engine, and every statement in a table's
last column. Blocks marked ```sql no-run are left out; those of one page share a connection, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from relserve.api import Connection, connect
from relserve.cli import demo
from relserve.engines.scripted import ScriptedEngine

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(sql|python)[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
STATEMENT = re.compile(r"`((?:SELECT|FROM|WITH|CREATE)\b(?:[^`])*)`")
ELSEWHERE = {  # pages with tests of their own
    "dataframes.md", "seeing.md", "functions_extract.md", "functions_agg.md", "functions_classify.md",
    "text2sql.md",
}  # fmt: skip
PAGES_WITH_TABLES = {"from_other_systems.md"}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and code of each block that is to run."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def right_hand_sides(page: Path) -> list[str]:
    """The statements in the last columns of a page's tables."""
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [code.replace("\\|", "|") for row in rows for code in STATEMENT.findall(row.split(" | ")[-1])]


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """The shipped tables behind the scripted engine; what an example keeps goes nowhere else."""
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    with connect(engine=ScriptedEngine(), progress=False) as con:
        demo.prepare(con)
        yield con


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """One such connection for statements that leave nothing behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELSERVE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        with connect(engine=ScriptedEngine(), progress=False) as con:
            demo.prepare(con)
            yield con


PAGES = [page for page in sorted(DOCS.glob("*.md")) if page.name not in ELSEWHERE and blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(con: Connection, page: Path) -> None:
    names: dict[str, Any] = {}
    for language, code in blocks(page):
        if language == "sql":
            con.execute(code).fetchall()
        else:
            exec(compile(code, page.name, "exec"), names)
    assert con.execute("SELECT count(*) FROM llm_errors()").fetchall() == [(0,)]


@pytest.mark.parametrize(
    "sql", [sql for name in sorted(PAGES_WITH_TABLES) for sql in right_hand_sides(DOCS / name)]
)
def test_right_hand_sides_of_tables_run(shared: Connection, sql: str) -> None:
    on_record = "SELECT count(*), coalesce(sum(failed_rows), 0) FROM llm_queries()"
    ((before, _),) = shared.execute(on_record).fetchall()
    assert shared.execute(sql).fetchall()
    ((after, failed),) = shared.execute(on_record).fetchall()
    assert after > before
    assert failed == 0


def test_blocks_and_statements_are_found() -> None:
    assert len(blocks(DOCS / "functions_llm.md")) > 8
    assert len(right_hand_sides(DOCS / "from_other_systems.md")) > 18
    assert BLOCK.findall("```sql no-run\nSELECT 1\n```\n```sql\nSELECT 2\n```\n") == [("sql", "SELECT 2\n")]
