"""What goes wrong with the answer cache's file is said once, and the query goes on; each for real."""

import json
import os
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from tests.forked import run_program
from tests.waiting import PATIENCE_S, Limit

# Runs a query of 3,000 distinct prompts in two connections, one after the other, and tells what happened.
QUERY = """
import json, os, sys, time
import relserve, relserve_duckdb
from relserve.cache.cache import _caches
from relserve.engines.scripted import ScriptedEngine, echo
import relserve.api, sqlite3
before = sys.argv[1] if len(sys.argv) > 1 else ""
exec(before)
engine = ScriptedEngine(echo, chunk=100, identity="test", pause_s=0.002)
right, seconds, asked = [], [], []
for _ in range(2):
    began = time.monotonic()
    con = relserve.connect(engine=engine, progress=False)
    rows = con.execute("SELECT llm('say {}', i) FROM range(3000) t(i)").fetchall()
    right.append(sorted(rows) == sorted((f"say {i}",) for i in range(3000)))
    seconds.append(time.monotonic() - began)
    asked.append(engine.num_prompts)
    con.close()
    for cache in _caches.values():
        cache.flush(60)
print(json.dumps({"right": right, "asked": asked[-1], "asked first": asked[0], "seconds": seconds}))
"""
# No file may have more than 150,000 bytes, once a hundred of these prompts' answers are kept.
FULL = """
import resource
con = relserve.connect(engine=ScriptedEngine(echo, identity="test"), progress=False)
con.execute("SELECT llm('say {}', i) FROM range(100) t(i)").fetchall()
con.close()
assert all(cache.flush(60) for cache in _caches.values())
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
"""
AS_NOBODY = "os.setgroups([]); os.setgid(65534); os.setuid(65534)" if os.geteuid() == 0 else ""


def run(folder: Path, before: str = "", **env: str) -> tuple[dict[str, Any], list[str]]:
    """What a process reports, and the lines that it wrote to stderr."""
    env = {**os.environ, "RELSERVE_CACHE_DIR": str(folder), "RELSERVE_ANSWER_CACHE_MB": "64", **env}
    done = run_program(QUERY, before, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr.splitlines()


def let_nobody_in(folder: Path) -> None:
    """Where the tests run as root, whom no mode keeps out, their processes go on as the user nobody."""
    for each in (folder, *list(folder.parents)[:2]) if AS_NOBODY else ():
        each.chmod(each.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)


def answers(folder: Path) -> int:
    with sqlite3.connect(folder / FILE_NAME) as db:
        return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])


def one_warning(said: list[str], *words: str) -> None:
    assert len(said) == 1, said
    assert said[0].startswith("relserve: the answer cache ")
    assert all(word in said[0] for word in words), said[0]


def test_nothing_wrong(tmp_path: Path) -> None:
    report, said = run(tmp_path)
    assert (report["right"], report["asked"], said) == ([True, True], 3000, [])
    assert run(tmp_path)[0]["asked"] == 0


def test_a_full_disk(tmp_path: Path) -> None:
    report, said = run(tmp_path, FULL)
    assert report["right"] == [True, True]
    one_warning(said, "cannot be written", "is the disk full?", "relserve cache clear", "go on without it")
    # What was kept before the disk was full is there and right.
    kept = answers(tmp_path)
    assert 0 < kept < 3000
    report, said = run(tmp_path)
    assert (report["right"], report["asked"], said) == ([True, True], 3000 - kept, [])


@pytest.mark.long
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    let_nobody_in(tmp_path)
    report, said = run(folder, AS_NOBODY)
    assert (report["right"], report["asked"]) == ([True, True], 6000)
    one_warning(
        said, "Permission denied", "make it writable", "RELSERVE_CACHE_DIR", "RELSERVE_ANSWER_CACHE_MB"
    )


@pytest.mark.long
def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    run(tmp_path)
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("DELETE FROM answers WHERE id > 1000")
    for path in tmp_path.iterdir():
        path.chmod(0o444)
    let_nobody_in(tmp_path)
    tmp_path.chmod(0o555)
    try:
        report, said = run(tmp_path, AS_NOBODY)
    finally:
        tmp_path.chmod(0o755)
    assert report["right"] == [True, True]
    one_warning(said, "make it writable")


@pytest.mark.long
def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    report, said = run(tmp_path / "file")
    assert (report["right"], report["asked"]) == ([True, True], 6000)
    one_warning(
        said, "Not a directory" if "Not a directory" in said[0] else "File exists", "RELSERVE_CACHE_DIR"
    )


@pytest.mark.parametrize(
    "content",
    [b"this is no database" * 1000, pytest.param(b"\0" * 5000, marks=pytest.mark.long)],
    ids=["text", "zeros"],
)
def test_garbage_is_moved_aside_and_a_new_file_begins(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    report, said = run(tmp_path)
    assert (report["right"], report["asked"]) == ([True, True], 3000)
    one_warning(said, "was damaged", f"{FILE_NAME}.damaged", "delete it")
    assert (tmp_path / f"{FILE_NAME}.damaged").read_bytes() == content
    report, said = run(tmp_path)
    assert (report["asked"], said) == (0, [])


@pytest.mark.long
def test_pages_overwritten_in_the_middle(tmp_path: Path) -> None:
    run(tmp_path)
    file = tmp_path / FILE_NAME
    size = file.stat().st_size
    with file.open("r+b") as open_file:
        for at in range(3 * 4096, size - 4096, 4096):
            open_file.seek(at)
            open_file.write(os.urandom(2000))
    report, said = run(tmp_path)
    assert report["right"] == [True, True]
    one_warning(said, "was damaged")
    report, said = run(tmp_path)
    assert (report["right"], report["asked"], said) == ([True, True], 0, [])


@pytest.mark.long
def test_a_cut_file(tmp_path: Path) -> None:
    run(tmp_path)
    os.truncate(tmp_path / FILE_NAME, 40_000)
    report, said = run(tmp_path)
    assert report["right"] == [True, True]
    one_warning(said, "was damaged")
    assert run(tmp_path)[0]["asked"] == 0


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("CREATE TABLE theirs AS SELECT 'precious' AS x")
    content = (tmp_path / FILE_NAME).read_bytes()
    report, said = run(tmp_path)
    assert (report["right"], report["asked"]) == ([True, True], 6000)
    one_warning(said, "not of this version of relserve", "move it away")
    assert (tmp_path / FILE_NAME).read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


@pytest.mark.performance
@pytest.mark.parametrize("first", ["", pytest.param("run before", marks=pytest.mark.long)])
def test_a_locked_database(tmp_path: Path, first: str, limit_s: Limit) -> None:
    if first:
        run(tmp_path)
    db = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    try:
        report, said = run(tmp_path)
    finally:
        db.close()
    assert (report["right"], report["asked"]) == ([True, True], 6000)
    one_warning(said, "locked", "fuser")
    assert max(report["seconds"]) < limit_s(5), "the query waited for the lock"
    report, said = run(tmp_path)
    assert (report["asked"], said) == (0 if first else 3000, [])


def test_an_interrupt_ends_the_wait_for_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relserve.cache.cache.READ_WAIT_S", 600.0)
    warnings: list[str] = []
    cache, cancel = AnswerCache(tmp_path / FILE_NAME, 1 << 20, warnings.append), threading.Event()
    waiting = threading.Thread(target=cache.find, args=("f", [b"key"], True, cancel), daemon=True)
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        waiting.start()
        cancel.set()
        waiting.join(PATIENCE_S)
        assert not waiting.is_alive()
    assert not warnings
    cache.close()


@pytest.mark.long
def test_a_writer_elsewhere_does_not_keep_readers_waiting(tmp_path: Path) -> None:
    run(tmp_path)
    db = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        report, said = run(tmp_path)
    finally:
        db.close()
    assert (report["right"], report["asked first"]) == ([True, True], 0)
    one_warning(said, "locked")


@pytest.mark.long
def test_switched_off(tmp_path: Path) -> None:
    report, said = run(tmp_path, RELSERVE_ANSWER_CACHE_MB="0")
    assert (report["asked"], said, list(tmp_path.iterdir())) == (6000, [], [])


@pytest.mark.long
def test_switched_off_for_one_connection(tmp_path: Path) -> None:
    off = "connect = relserve.connect; relserve.connect = lambda **options: connect(cache=False, **options)"
    report, said = run(tmp_path, off)
    assert (report["asked"], said, list(tmp_path.iterdir())) == (6000, [], [])
