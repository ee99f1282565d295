"""The line that the default tiny is asked about tables that are not the shipped ones: when, and once."""

from __future__ import annotations

import csv

import pandas as pd
import pytest

import relserve
from relserve.cli import demo
from relserve.engines.protocol import Engine
from relserve.engines.scripted import ScriptedEngine
from relserve.examples import TABLES
from relserve.session.foreign_tables import TEXT, TEXT_OF_QUESTIONS, are_foreign

OWN = ["Der Zug nach Kassel hat Verspätung.", "Quarterly EBITDA margins were restated by the auditors."]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is told to the person who waits; whoever names no model is answered by the scripted engine."""
    lines: list[str] = []

    def find(*_: str | None, **__: str | None) -> Engine:
        return ScriptedEngine()

    monkeypatch.delenv("RELSERVE_MODEL", raising=False)
    monkeypatch.setattr(relserve.api, "announce", lines.append)
    monkeypatch.setattr(relserve.api, "find_engine", find)
    return lines


@pytest.mark.parametrize("table", TABLES)
def test_the_rows_of_a_shipped_table_are_known(table: str) -> None:
    with TABLES[table].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [column for column in rows[0] if column not in ("id", "product_id", "price", "abv", "year")]
    for column in texts:
        values = [(row[column],) for row in rows if row[column]]
        for start in range(0, len(values), 7):
            assert not are_foreign("{}", values[start : start + 7])
    assert not are_foreign("{}", [(row,) for row in rows])


@pytest.mark.parametrize(("template", "rows", "foreign"), [
    ("Sum up: {}", [(text,) for text in OWN], True),
    ("Capital of {}?", [("Uzbekistan",)], True),
    ("Is {} a prime number?", [(7,), (8,)], False),  # numbers tell nothing
    ("Sum up: {}", [(None,)], False),
    ("Explain quantum chromodynamics", [()], True),
    ("Is this a good product? It broke after two days.", [()], False),
    ("Sum up: {}", [], False),
])  # fmt: skip
def test_inputs_are_judged_by_their_words(
    template: str, rows: list[tuple[object, ...]], foreign: bool
) -> None:
    assert are_foreign(template, rows) is foreign


def test_it_is_said_once_a_connection(said: list[str]) -> None:
    for _ in range(2):
        with relserve.connect(cache=False, progress=False) as con:
            for text in OWN:
                con.execute("SELECT llm('Sum up: {}', ?)", [text]).fetchall()
    assert said == [TEXT, TEXT]


def test_it_is_said_once_of_all_frames(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from relserve.frames import call
    from relserve.session.history import History

    monkeypatch.setattr(call, "HISTORY", History())
    for text in OWN:
        relserve.llm(pd.DataFrame({"note": [text]}), "Sum up: {note}", cache=False)
    assert said == [TEXT]


@pytest.mark.long
def test_the_demo_says_nothing_of_it(said: list[str]) -> None:
    with relserve.connect(cache=False, progress=False) as con:
        for query in demo.prepare(con):
            demo.rows(con, query.sql)
        con.execute("SELECT llm('{} {}', upper(llm('Sum up: {}', review)), stars) FROM reviews").fetchall()
    assert said == []


@pytest.mark.long
def test_a_model_that_was_named_is_the_users_choice(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ask = f"SELECT llm('Sum up: {{}}', '{OWN[0]}')"
    with relserve.connect(model="tiny", cache=False, progress=False) as con:
        con.execute(ask).fetchall()
    with relserve.connect(engine=ScriptedEngine(), cache=False, progress=False) as con:
        con.execute(ask).fetchall()
    with relserve.connect(cache=False, progress=False) as con:
        con.execute(f"SELECT llm('Sum up: {{}}', '{OWN[0]}', model := 'scripted')").fetchall()
    monkeypatch.setenv("RELSERVE_MODEL", "tiny")
    with relserve.connect(cache=False, progress=False) as con:
        con.execute(ask).fetchall()
    assert said == []


@pytest.fixture
def pointing(said: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whoever names no model for a question gets a scripted tiny-sql, which understands none."""

    def find(*names: str | None, **_: str | None) -> Engine:
        return ScriptedEngine(model="tiny-sql" if "tiny-sql" in names else "tiny")

    monkeypatch.setattr(relserve.api, "find_engine", find)
    return said


@pytest.mark.cells(1)
@pytest.mark.parametrize(("options", "expected"), [({}, [TEXT_OF_QUESTIONS]), ({"model": "tiny-sql"}, [])])
def test_questions_about_other_tables_are_told_of_once(
    pointing: list[str], options: dict[str, str], expected: list[str]
) -> None:
    with relserve.connect(cache=False, progress=False) as con:
        con.execute("CREATE TABLE trains AS SELECT 1 AS id, 'Kassel' AS city")
        for _ in range(2):
            with pytest.raises(relserve.Text2SqlError):
                con.text2sql("How many trains are there?", **options)
    assert pointing == expected


@pytest.mark.long
def test_of_questions_about_the_shipped_tables_nothing_is_said(pointing: list[str]) -> None:
    with relserve.connect(cache=False, progress=False) as con:
        demo.prepare(con)
        with pytest.raises(relserve.Text2SqlError):
            con.text2sql("How many beers are there?")
    assert pointing == []
