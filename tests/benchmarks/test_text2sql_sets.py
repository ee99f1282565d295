"""The sets of benchmarks.text2sql_accuracy: their gold queries run and have rows."""

import json
import sqlite3
from pathlib import Path

import duckdb
import pytest

from benchmarks.text2sql.asking import is_right
from benchmarks.text2sql.public_sets import FILES, public_set
from benchmarks.text2sql.questions import held_out, shipped, unseen
from benchmarks.text2sql.sqlite_tables import import_sqlite
from training.tiny.real_rows import data_folder

ITEM = {
    "tables": [
        {"name": "owners", "columns": [
            {"name": "id", "type": "int", "references": None, "values": []},
            {"name": "name", "type": "text", "references": None, "values": ["Ann", "Bob"]},
        ]},
        {"name": "cats", "columns": [
            {"name": "name", "type": "text", "references": None, "values": ["Tom", "Mia"]},
            {"name": "weight", "type": "num", "references": None, "values": []},
            {"name": "owner_id", "type": "int", "references": "owners", "values": []},
        ]},
    ],
    "question": "Which cats of Ann weigh more than 4.5?",
    "sql": "SELECT c.name FROM cats c JOIN owners o ON owner_id = o.id WHERE o.name = 'Ann' AND weight > 4.5",
    "shape": "join_filter",
}  # fmt: skip


def test_questions_about_the_shipped_tables_have_answers() -> None:
    groups = list(shipped())
    assert sum(len(group.questions) for group in groups) == 60
    for group in groups:
        for question in group.questions:
            for gold in question.gold:
                assert group.databases[0].execute(gold).fetchall(), (question.text, gold)


@pytest.mark.long
def test_held_out_questions_have_answers_on_two_databases() -> None:
    groups = list(held_out(3))
    assert len(groups) == 3
    for group in groups:
        gold = group.questions[0].gold
        assert len(group.databases) == 2
        assert is_right(gold[0], gold, group)
        assert not is_right(None, gold, group)
        group.close()


def test_tables_and_rows_of_a_question_that_somebody_wrote(tmp_path: Path) -> None:
    file = tmp_path / "items.json"
    file.write_text(json.dumps({"items": [ITEM]}), encoding="utf-8")
    (group,) = unseen(file=file)
    assert all(con.execute(ITEM["sql"]).fetchall() for con in group.databases)
    assert is_right("SELECT name FROM cats WHERE weight > 4.5", group.questions[0].gold, group) is False
    first, second = (con.execute("SELECT * FROM cats").fetchall() for con in group.databases)
    assert first != second


def test_a_sqlite_database_keeps_its_keys_and_types(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    source = sqlite3.connect(file)
    source.executescript(
        "CREATE TABLE child (id INTEGER PRIMARY KEY, day DATE, parent INT REFERENCES parent(id));"
        "CREATE TABLE parent (id INTEGER PRIMARY KEY, note TEXT, size NUMERIC);"
        "INSERT INTO parent VALUES (1, 'a', 2), (2, NULL, 2.5);"
        "INSERT INTO child VALUES (1, '2024-02-03', 1), (2, NULL, 2);"
    )
    source.close()
    con = duckdb.connect()
    import_sqlite(file, con)
    types = con.execute("SELECT typeof(size), typeof(day) FROM child JOIN parent ON parent = parent.id")
    assert set(types.fetchall()) == {("DOUBLE", "DATE")}
    kinds = con.execute(
        "SELECT constraint_type FROM duckdb_constraints() WHERE constraint_type LIKE '% KEY'"
    ).fetchall()
    assert sorted(kinds) == [("FOREIGN KEY",), ("PRIMARY KEY",), ("PRIMARY KEY",)]


@pytest.mark.cells(1)
@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_public_questions_have_gold_queries_that_run(name: str) -> None:
    folder = data_folder()
    if folder is None:
        pytest.skip("no public questions: set RELSERVE_DATA")
    group, num_left_out = next(iter(public_set(name, folder.parent)))
    assert len(group.questions) > num_left_out
    for question in group.questions:
        group.databases[0].execute(question.gold[0])
