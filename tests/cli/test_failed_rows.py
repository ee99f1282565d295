"""Failed rows from one command to the next: `relserve sql --errors` and llm_errors() of a new process."""

import io
import json
import os
import sqlite3
from pathlib import Path

import pytest

from relserve.cache.kept_errors import FILE_NAME, MOST_COMMANDS, KeptError, keep_errors, read_errors
from relserve.cli import failed_rows
from relserve.errors import Failure, FailureKind
from relserve.session.history import ErrorRecord
from tests.command_line import relserve

FAILING = "SELECT llm_filter('Alice {}?', repeat('x', 2000000)) AS a"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_MODEL", "scripted")
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    return tmp_path


def failed(*arguments: str) -> list[dict[str, object]]:
    done = relserve("sql", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def test_what_failed_is_shown_by_the_next_command_without_its_texts(folder: Path) -> None:
    done = relserve("sql", FAILING)
    assert b"1 over context; `relserve sql --errors` says why" in done.stderr
    (row,) = failed("--errors")
    assert (row["function"], row["kind"], row["rows"]) == ("llm_filter", "over_context", 1)
    assert "prompt" not in row
    assert "Alice" not in (folder / FILE_NAME).read_text("latin-1")
    assert os.stat(folder / FILE_NAME).st_mode & 0o077 == 0


@pytest.mark.long
def test_llm_errors_of_the_next_command_has_the_latest_as_statement_0() -> None:
    for _ in range(2):
        relserve("sql", FAILING)
    rows = failed("SELECT statement, kind FROM llm_errors() ORDER BY statement")
    assert rows == [{"statement": number, "kind": "over_context"} for number in (-1, 0)]


def test_texts_are_kept_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_KEEP_ERROR_TEXTS", "1")
    relserve("sql", FAILING)
    (row,) = failed("--errors")
    assert "Alice x" in str(row["prompt"])


def test_a_command_that_ends_with_an_error_leaves_its_failed_rows_too() -> None:
    assert relserve("sql", FAILING.replace("))", "), on_error := 'raise')")).returncode == 1
    assert [row["kind"] for row in failed("--errors")] == ["over_context"]


@pytest.mark.long
def test_a_script_of_the_shell_leaves_its_failed_rows_too() -> None:
    assert b"`relserve sql --errors` says why" in relserve("shell", "-c", f"{FAILING};").stderr
    assert [row["kind"] for row in failed("--errors")] == ["over_context"]


def test_errors_beside_a_statement_are_shown_at_its_end() -> None:
    done = relserve("sql", "--errors", FAILING)
    assert b"over_context" in done.stderr
    assert b"over_context" not in done.stdout


def test_errors_beside_a_statement_without_failures_says_so() -> None:
    done = relserve("sql", "--errors", "SELECT 1 AS a", "--format", "csv")
    assert (done.returncode, done.stdout.split(), done.stderr) == (
        0, [b'"a"', b"1"], b"relserve: no row failed\n"
    )  # fmt: skip


def test_without_failures_and_without_a_text_it_says_so() -> None:
    done = relserve("sql", "--errors")
    assert (done.stdout, done.stderr) == (b"", b"relserve: no failed rows are kept of earlier commands\n")
    assert b"Give SQL, a .sql file" in relserve("sql").stderr


def test_a_first_failure_is_told_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stderr", screen := Terminal())
    failure = Failure(FailureKind.UNPARSABLE, "the reply 'perhaps' is not yes or no")
    failed_rows._tell_first([ErrorRecord("r", "llm_bool", failure, "Is it?", 1)] * 5)
    text = screen.getvalue()
    assert text.count("llm_bool() unparsable: the reply 'perhaps' is not yes or no [prompt: 'Is it?']") == 3
    assert "and 2 more" in text


@pytest.mark.parametrize(
    ("kind", "message", "kept"),
    [
        (FailureKind.UNPARSABLE, "the reply 'it\\'s Bob' is not a date", "the reply '..' is not a date"),
        (FailureKind.UNPARSABLE, 'in the reply "Bob\'s", no JSON', "in the reply '..', no JSON"),
        (
            FailureKind.REFUSED,
            "400: Bob is rude",
            "refused (the message is not kept, for it may quote texts)",
        ),
    ],
)
def test_what_a_message_quotes_is_not_kept(folder: Path, kind: FailureKind, message: str, kept: str) -> None:
    keep_errors(folder, [KeptError("r", "llm", kind, message, "Bob", 1, 0.0)])
    (error,) = read_errors(folder)
    assert (error.message, error.prompt) == (kept, None)


def test_the_latest_commands_are_kept_and_a_damaged_file_is_none(folder: Path) -> None:
    for _ in range(MOST_COMMANDS + 2):
        keep_errors(folder, [KeptError("r", "llm", FailureKind.ENGINE, "dead", None, 1, 0.0)])
    assert [e.command for e in read_errors(folder)] == [-i for i in range(MOST_COMMANDS)]
    (folder / FILE_NAME).write_bytes(b"no database" * 500)
    assert read_errors(folder) == []
    with pytest.raises(sqlite3.DatabaseError):
        keep_errors(folder, [])


def test_clearing_the_cache_deletes_them(folder: Path) -> None:
    relserve("sql", FAILING)
    relserve("cache", "clear", "--yes")
    assert not (folder / FILE_NAME).exists()
