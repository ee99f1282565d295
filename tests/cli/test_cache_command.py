"""`relserve cache` and `relserve cache clear`."""

import os
import pty
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from relserve.cache.store import FILE_NAME, CacheEntry, Store
from relserve.text2sql.catalog.reading import read_schema
from relserve.text2sql.retrieval.library import ValueLibrary
from tests import command_line

MONTH_S = 30 * 86_400


def relserve(
    folder: Path, *args: str, limit: str = "64", stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    env = {"RELSERVE_CACHE_DIR": str(folder), "RELSERVE_ANSWER_CACHE_MB": limit}
    done = command_line.relserve("cache", *args, stdin=stdin, env=env)
    return subprocess.CompletedProcess(args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Three answers of `tiny`, one of them two months old, and two of a server."""
    made = Store(tmp_path / FILE_NAME, 5)
    made.prepare()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 2 * MONTH_S)
    made.write([CacheEntry(bytes(16), "f", "tiny", "old", 1, 1)], [], {})
    monkeypatch.undo()
    made.write([CacheEntry(bytes([i]) * 16, "f", "tiny", "new", 1, 1) for i in (1, 2)], [], {})
    made.write([CacheEntry(bytes([i]) * 16, "g", "http://there/v1", "x", 1, 1) for i in (3, 4)], [], {"f": 7})
    return made


def left(store: Store) -> dict[str, int]:
    return {each.model: each.answers for each in store.by_model()}


def test_it_shows_what_there_is(tmp_path: Path, store: Store) -> None:
    done = relserve(tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / FILE_NAME) in done.stdout
    assert "64 MB" in done.stdout
    lines = [line.replace("│", " ").split() for line in done.stdout.splitlines()]
    assert ["answers", "5"] in lines
    assert "last used from" in done.stdout
    tiny = next(line for line in lines if line[:1] == ["tiny"])
    assert (tiny[1], tiny[4]) == ("3", "7")
    assert any(line[:2] == ["http://there/v1", "2"] for line in lines)


def test_it_shows_an_empty_folder_and_makes_nothing_in_it(tmp_path: Path) -> None:
    done = relserve(tmp_path)
    assert "none yet" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert "nothing to delete" in relserve(tmp_path, "clear", "--yes").stdout


def test_it_says_when_the_cache_is_off(tmp_path: Path, store: Store) -> None:
    assert "RELSERVE_ANSWER_CACHE_MB is 0" in relserve(tmp_path, limit="0").stdout


@pytest.mark.cells(3)
@pytest.mark.parametrize(("options", "expected"), [
    (["clear"], {}),
    (["clear", "--model", "tiny"], {"http://there/v1": 2}),
    (["clear", "--older-than", "30d"], {"tiny": 2, "http://there/v1": 2}),
    (["clear", "--older-than", "30d", "--model", "tiny"], {"tiny": 2, "http://there/v1": 2}),
    (["clear", "--older-than", "52w"], {"tiny": 3, "http://there/v1": 2}),
])  # fmt: skip
def test_clear_deletes_what_was_asked_for(
    tmp_path: Path, store: Store, options: list[str], expected: dict[str, int]
) -> None:
    done = relserve(tmp_path, *options, "--yes")
    assert done.returncode == 0, done.stderr
    assert left(store) == expected


def test_clear_spares_an_answer_whose_use_just_now_is_not_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    used = {bytes([1]) * 16: now - 50 * 60, bytes([2]) * 16: now - 120 * 60}
    for key, at in used.items():
        monkeypatch.setattr(time, "time", lambda at=at: at)
        with closing(Store(tmp_path / FILE_NAME, 5)) as store:
            store.prepare()
            store.write([CacheEntry(key, "f", "tiny", "x", 1, 1)], [], {})
    monkeypatch.undo()
    with closing(Store(tmp_path / FILE_NAME, 5)) as store:
        store.prepare()
        assert store.read(list(used)).stale == [bytes([2]) * 16]  # a use of the first stays unsaid
        assert relserve(tmp_path, "clear", "--older-than", "30m", "--yes").returncode == 0
        assert list(store.read(list(used)).texts) == [bytes([1]) * 16]


def test_clear_deletes_nothing_unasked(tmp_path: Path, store: Store) -> None:
    done = relserve(tmp_path, "clear")
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert "Delete 5 answers" in done.stderr
    assert left(store) == {"tiny": 3, "http://there/v1": 2}


@pytest.mark.cells(1)
@pytest.mark.parametrize(("answer", "deleted"), [("y", True), ("n", False), ("", False)])
def test_clear_asks_on_a_terminal(tmp_path: Path, store: Store, answer: str, deleted: bool) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-c", "from relserve.cli.main import main; main()", "cache", "clear"]
    env = {**os.environ, "RELSERVE_CACHE_DIR": str(tmp_path), "RELSERVE_ANSWER_CACHE_MB": "64"}
    running = subprocess.Popen(command, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    os.write(master, f"{answer}\n".encode())
    out, _ = running.communicate(timeout=60)
    os.close(master)
    os.close(slave)
    assert b"Delete 5 answers" in out
    assert (left(store) == {}) is deleted


@pytest.mark.parametrize(("options", "words"), [
    (["clear", "--older-than", "a month"], ["'a month' is no length of time", "30d"]),
    (["clear", "--older-than", "30"], ["no length of time"]),
    (["clear", "--model", "tinny"], ["no answers of 'tinny'", "'tiny'", "'http://there/v1'"]),
])  # fmt: skip
def test_mistakes_are_one_helpful_line(
    tmp_path: Path, store: Store, options: list[str], words: list[str]
) -> None:
    done = relserve(tmp_path, *options, "--yes")
    assert done.returncode == 1
    assert all(word in done.stderr for word in words), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sum(left(store).values()) == 5


@pytest.mark.parametrize("args", [[], ["clear", "--yes"]])
def test_a_damaged_file_is_one_line_that_says_what_to_do(tmp_path: Path, args: list[str]) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"garbage" * 1000)
    done = relserve(tmp_path, *args)
    assert done.returncode == 1
    assert "is damaged" in done.stderr
    assert "delete it" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_teaches() -> None:
    done = relserve(Path("/nowhere"), "clear", "--help")
    assert all(word in done.stdout for word in ("--model", "--older-than", "--yes", "30d"))


@pytest.mark.long
def test_learnt_lengths_are_shown_and_cleared_alone(tmp_path: Path, store: Store) -> None:
    assert "lengths  none learnt yet" in relserve(tmp_path).stdout
    assert "nothing to delete" in relserve(tmp_path, "clear", "--lengths").stdout
    folder = tmp_path / "lengths"
    folder.mkdir()
    for name in ("a-0.json", "b-1.json"):
        (folder / name).write_text("x" * 1200)
    assert f"lengths  of answers of 2 models, 2.4 kB in {folder}" in relserve(tmp_path).stdout
    refused = relserve(tmp_path, "clear", "--lengths", "--model", "tiny", "--yes")
    assert (refused.returncode, "leave --model" in refused.stderr) == (1, True)
    unasked = relserve(tmp_path, "clear", "--lengths")
    assert "add --yes" in unasked.stderr
    assert len(list(folder.iterdir())) == 2
    done = relserve(tmp_path, "clear", "--lengths", "--yes")
    assert (done.returncode, "of 2 models" in done.stdout) == (0, True)
    assert not list(folder.iterdir())
    assert sum(left(store).values()) == 5


@pytest.fixture
def values(tmp_path: Path) -> Path:
    """The index of a database's values, as text2sql builds it, and one that a killed process left."""
    folder = tmp_path / "values"
    with duckdb.connect(tmp_path / "shop.db") as con:
        con.execute("CREATE TABLE beers AS SELECT 'Bitter ' || i AS name FROM range(9) t(i)")
        ValueLibrary(folder).values(con, read_schema(con, None, None))
    (folder / "x.tmp").mkdir()
    assert len(list(folder.iterdir())) == 2
    return folder


def test_values_are_shown_and_cleared_with_the_answers(tmp_path: Path, store: Store, values: Path) -> None:
    assert "values   of 2 databases" in relserve(tmp_path).stdout
    done = relserve(tmp_path, "clear", "--yes")
    assert "deleted 5 answers" in done.stdout
    assert "deleted the values of 2 databases" in done.stdout
    assert (left(store), list(values.iterdir())) == ({}, [])
    assert "values   none kept yet" in relserve(tmp_path).stdout


def test_values_are_cleared_where_no_answers_are_kept(tmp_path: Path, values: Path) -> None:
    assert "Delete the values of 2 databases" in relserve(tmp_path, "clear").stderr
    assert "deleted the values of 2 databases" in relserve(tmp_path, "clear", "--yes").stdout
    assert list(values.iterdir()) == []


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("options", "answers", "has_values"),
    [
        (["--values"], 5, False),
        (["--model", "tiny"], 2, True),
        (["--older-than", "30d"], 4, True),
        (["--lengths"], 5, True),
    ],
)
def test_some_are_cleared_alone(
    tmp_path: Path, store: Store, values: Path, options: list[str], answers: int, has_values: bool
) -> None:
    assert relserve(tmp_path, "clear", "--yes", *options).returncode == 0
    assert (sum(left(store).values()), bool(list(values.iterdir()))) == (answers, has_values)


@pytest.mark.cells(1)
@pytest.mark.parametrize("kind", ["--values", "--lengths"])
def test_what_has_no_models_is_not_cleared_by_one(tmp_path: Path, values: Path, kind: str) -> None:
    done = relserve(tmp_path, "clear", "--yes", kind, "--model", "tiny")
    assert done.returncode
    assert "leave --model and --older-than out" in done.stderr
    assert list(values.iterdir())
