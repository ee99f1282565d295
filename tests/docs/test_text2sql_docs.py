"""The examples of docs/text2sql.md, sql_examples/05_text2sql.sql and the demo's questions run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

import relserve
from relserve.api import Connection, connect
from relserve.call.relquery import Submission
from relserve.cli import demo
from relserve.engines.scripted import ScriptedEngine
from relserve.text2sql.options import OPTIONS
from relserve.tiny_sql import MODEL_DIR

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "text2sql.md").read_text(encoding="utf-8")
FILE = (ROOT / "sql_examples" / "05_text2sql.sql").read_text(encoding="utf-8")
SHOWN = (files("relserve.examples") / "questions.sql").read_text(encoding="utf-8")
COUNTED = "SELECT {0}, count(*) AS n FROM {1} GROUP BY ALL ORDER BY ALL"
RIGHT = {
    "How many beers are there of each style?": COUNTED.format("style", "beers"),
    "How many beers are there for each style?": COUNTED.format("style", "beers"),
    "How many films are there for each genre?": COUNTED.format("genre", "films"),
    "Which film is the oldest?": "SELECT title FROM films ORDER BY year LIMIT 1",
    "Which beer is the strongest?": "SELECT name FROM beers ORDER BY abv DESC LIMIT 1",
    "How many are strong?": "SELECT count(*) FROM beers WHERE abv > 9",
    "How many tickets are urgent?": "SELECT count(*) FROM tickets WHERE urgent",
    "What is the average price of products?": "SELECT avg(price) FROM products",
    "What is the average price of products in the office category?": (
        "SELECT avg(price) FROM products WHERE category = 'office'"
    ),
    "What are the names of the 3 products with the lowest price?": (
        "SELECT name FROM products ORDER BY price LIMIT 3"
    ),
    "What are the names of the 3 beers with the highest abv?": (
        "SELECT name FROM beers ORDER BY abv DESC LIMIT 3"
    ),
}


def knowing(prompt: str, submission: Submission) -> str:
    """The right SQL of the question in a prompt."""
    found = [sql for question, sql in RIGHT.items() if question in prompt]
    return f"```sql\n{found[-1]}\n```" if found else "I do not know."


@pytest.fixture
def con() -> Iterator[Connection]:
    with connect(engine=ScriptedEngine(knowing), progress=False) as con:
        demo.prepare(con)
        yield con


def test_the_page_runs_from_its_beginning_to_its_end(
    con: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relserve, "connect", lambda model: connect(engine=ScriptedEngine(knowing)))
    found = re.findall(r"```(sql|python)\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == 7
    for language, code in found:
        if language == "sql":
            assert con.execute(code).fetchall(), code
        else:
            exec(compile(code, "text2sql.md", "exec"), {})
    assert con.execute("SELECT count(*) FROM llm_errors()").fetchall() == [(0,)]


def test_the_page_names_every_option() -> None:
    for name in OPTIONS:
        assert f"| `{name.removesuffix('_s')}` |" in PAGE


@pytest.mark.parametrize("text", [FILE, SHOWN], ids=["sql_examples", "demo"])
def test_the_example_statements_run(con: Connection, text: str) -> None:
    for query in demo.queries(text):
        assert con.execute(query.sql).fetchall(), query.title
    assert con.execute("SELECT count(*) FROM llm_errors()").fetchall() == [(0,)]


@pytest.mark.long
@pytest.mark.vllm
@pytest.mark.skipif(not (MODEL_DIR / "model.safetensors").exists(), reason="tiny-sql has no weights here")
def test_the_embedded_model_answers_the_demos_questions() -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    with connect(progress=False) as con:
        demo.prepare(con)
        for query in demo.queries(SHOWN):
            (question,) = (question for question in RIGHT if f"'{question}'" in query.sql)
            expected = query.sql.replace(f"text2sql('{question}')", f"({RIGHT[question]})")
            assert con.execute(query.sql).fetchall() == con.execute(expected).fetchall(), con.last_sql
