"""The database of `relserve sql`: missing or mistyped it is told, and no empty file stays behind."""

from pathlib import Path

import duckdb
import pytest

from tests.command_line import relserve


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELSERVE_MODEL", "scripted")
    return tmp_path


def refused(*arguments: str) -> str:
    done = relserve(*arguments)
    assert (done.returncode, done.stdout) == (1, b"")
    return done.stderr.decode()


@pytest.mark.parametrize("command", ["sql", "explain"])
def test_a_mistyped_database_is_told_and_not_made(folder: Path, command: str) -> None:
    duckdb.connect("shop.db").close()
    said = refused(command, "--db", "shpo.db", "SELECT llm('{}', body) FROM mails")
    assert "there is no database 'shpo.db'. Did you mean 'shop.db'?" in said
    assert [path.name for path in folder.iterdir()] == ["shop.db"]


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        ("mails", "no table 'mails': no database was given. Add --db FILE, or read a file in place"),
        ("Reviews", "no table 'Reviews': it is one of the shipped tables: add --examples"),
        ("query", "no table 'query': no database was given"),  # a variable of our own code
    ],
)
def test_a_table_without_a_database_says_what_would_bring_it(table: str, hint: str) -> None:
    assert hint in refused("sql", f"SELECT * FROM {table}")


def test_the_only_database_at_hand_is_named() -> None:
    duckdb.connect("shop.duckdb").close()
    assert "Add --db shop.duckdb, or" in refused("sql", "FROM mails")


@pytest.mark.long
def test_a_failed_command_removes_what_it_made_unless_that_has_tables(folder: Path) -> None:
    refused("sql", "--db", "new.db", "CREATE TABLE t AS FROM 'none.csv'")
    assert not list(folder.iterdir())
    refused("sql", "--db", "new.db", "CREATE TABLE t (x INT); SELECT y FROM t")
    assert relserve("sql", "--db", "new.db", "FROM t").returncode == 0
