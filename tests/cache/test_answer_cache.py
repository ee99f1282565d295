"""The answer cache by itself: keeping, finding, the size limit, several threads and processes."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relserve.cache import cache as answer_cache
from relserve.cache import store as answer_store
from relserve.cache.cache import AnswerCache, shared_cache
from relserve.cache.store import FILE_NAME, CacheEntry, Store
from tests.waiting import PATIENCE_S, Limit, wait_until

MB = 2**20
Make = Callable[..., AnswerCache]


def key(i: int) -> bytes:
    return i.to_bytes(16, "big")


def entry(i: int, text: str = "yes", fingerprint: str = "f", model: str = "m") -> CacheEntry:
    return CacheEntry(key(i), fingerprint, model, text, 10, 2)


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def make(tmp_path: Path, warnings: list[str]) -> Iterator[Make]:
    made: list[AnswerCache] = []

    def cache(max_bytes: int = 64 * MB) -> AnswerCache:
        made.append(AnswerCache(tmp_path / FILE_NAME, max_bytes, warnings.append))
        return made[-1]

    yield cache
    for each in made:
        each.close()


@pytest.mark.parametrize(
    "text", ["", "yes", "né 😀", "a\nb\tc", "nul \0 in it", "\ud83d alone", "x" * 100_000]
)
def test_what_is_kept_is_found_in_another_process_as_it_was(make: Make, text: str) -> None:
    cache = make()
    cache.keep([entry(1, text)])
    assert cache.flush(PATIENCE_S)
    found = make().find("f", [key(0), key(1), key(2)])
    assert found == {key(1): text}


def test_what_is_not_written_yet_is_found(make: Make) -> None:
    cache = make()
    cache.keep([entry(i) for i in range(5000)])
    assert len(cache.find("f", [key(i) for i in range(5000)])) == 5000


@pytest.mark.performance
def test_replies_are_on_file_soon_without_a_flush(make: Make, limit_s: Limit) -> None:
    cache, other = make(), make()
    for i in range(3):
        cache.keep([entry(i)])
        time.sleep(0.01)
    wait_until(lambda: len(other.find("f", [key(i) for i in range(3)])) == 3, limit_s(2))


@pytest.mark.performance
def test_a_look_up_of_ten_thousand_is_fast(make: Make, limit_s: Limit) -> None:
    cache = make()
    cache.keep([entry(i) for i in range(20_000)])
    assert cache.flush(PATIENCE_S)
    keys = [key(i) for i in range(10_000)]
    best = min(_seconds(lambda: cache.find("f", keys)) for _ in range(5))
    assert best < limit_s(0.1, busy=5)  # one at a time it takes 10 s


def test_a_later_answer_replaces_an_earlier_one(make: Make, tmp_path: Path) -> None:
    cache = make()
    for text in ("old", "new"):
        cache.keep([entry(1, text)])
        assert cache.flush(PATIENCE_S)
    assert make().find("f", [key(1)])[key(1)] == "new"
    assert opened(tmp_path).by_model()[0].answers == 1


def test_the_file_is_its_owners_alone(make: Make, tmp_path: Path) -> None:
    cache = make()
    cache.keep([entry(1)])
    assert cache.flush(PATIENCE_S)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}, modes


def test_nothing_is_made_before_there_is_something_to_keep(make: Make, tmp_path: Path) -> None:
    assert make().find("f", [key(1)]) == {}
    assert list(tmp_path.iterdir()) == []


def test_over_the_limit_the_least_recently_used_go(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    monkeypatch.setattr(answer_store, "TOUCH_AFTER_S", -10)  # every use counts at once
    cache = make(max_bytes=1 * MB)
    cache.keep([entry(i, "x" * 400) for i in range(1000)])
    assert cache.flush(PATIENCE_S)
    assert len(cache.find("f", [key(i) for i in range(100)])) == 100  # the oldest, used again
    assert cache.flush(PATIENCE_S)
    for i in range(1000, 6000, 100):
        cache.keep([entry(j, "x" * 400) for j in range(i, i + 100)])
        assert cache.flush(PATIENCE_S)
        if i % 1000 == 0:
            cache.find("f", [key(j) for j in range(100)])
            assert cache.flush(PATIENCE_S)
    left = {j for j in range(6000) if cache.find("f", [key(j)])}
    assert left.issuperset(range(100)), "what was in use is gone"
    assert left.issuperset(range(5500, 6000)), "what came last is gone"
    assert not left.intersection(range(100, 1000)), "what nobody used is still there"
    assert (tmp_path / FILE_NAME).stat().st_size < 1.3 * MB
    assert warnings == []


def test_a_lower_limit_shrinks_the_file(make: Make, tmp_path: Path) -> None:
    cache = make()
    cache.keep([entry(i, "x" * 1000) for i in range(5000)])
    assert cache.flush(PATIENCE_S)
    cache.max_bytes = 1 * MB
    cache.keep([entry(9999)])
    assert cache.flush(PATIENCE_S)
    cache.close()
    assert (tmp_path / FILE_NAME).stat().st_size < 1.1 * MB
    assert make().find("f", [key(9999)])


def test_threads_share_a_cache(make: Make, warnings: list[str]) -> None:
    cache = make()

    def work(k: int) -> None:
        for i in range(20):
            numbers = range(k * 10_000 + i * 50, k * 10_000 + i * 50 + 50)
            cache.keep([entry(j) for j in numbers])
            assert len(cache.find("f", [key(j) for j in numbers])) == 50

    failed: list[BaseException] = []
    threads = [threading.Thread(target=_noting, args=(failed, work, k)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failed == []
    assert warnings == []
    assert cache.flush(PATIENCE_S)
    assert opened(cache.path.parent).by_model()[0].answers == 6 * 1000


WRITER = """
import sys
from pathlib import Path
from relserve.cache.cache import AnswerCache
from relserve.cache.store import CacheEntry
cache = AnswerCache(Path(sys.argv[1]), 2**26, lambda text: sys.exit(text))
first = int(sys.argv[2]) * 10_000
for i in range(first, first + 2000, 20):
    cache.keep([CacheEntry(j.to_bytes(16, 'big'), 'f', 'm', 'yes', 1, 1) for j in range(i, i + 20)])
    assert cache.flush(60)
"""


def test_processes_share_a_file(make: Make, tmp_path: Path) -> None:
    path = str(tmp_path / FILE_NAME)
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, str(k)], stderr=subprocess.PIPE)
        for k in range(3)
    ]
    for each in running:
        _, said = each.communicate(timeout=60)
        assert (each.returncode, said) == (0, b"")
    keys = [key(k * 10_000 + i) for k in range(3) for i in range(2000)]
    assert len(make().find("f", keys)) == 6000


def test_a_forked_child_leaves_its_parents_cache_alone(make: Make) -> None:
    cache = make()
    cache.keep([entry(1)])
    assert cache.flush(PATIENCE_S)
    cache.find("f", [key(1)])
    child = os.fork()
    if child == 0:
        empty = cache.find("f", [key(1)]) == {}
        cache.keep([entry(2)])
        cache.close()
        os._exit(0 if empty else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert set(cache.find("f", [key(1), key(2)])) == {key(1)}


def test_connections_of_a_process_share_a_cache(tmp_path: Path) -> None:
    one = shared_cache(tmp_path / FILE_NAME, MB, print)
    assert shared_cache(tmp_path / FILE_NAME, 2 * MB, print) is one
    assert one.max_bytes == 2 * MB
    one.close()


def test_the_interpreters_end_writes_what_is_left(make: Make, tmp_path: Path) -> None:
    code = WRITER.replace("    assert cache.flush(60)\n", "")
    subprocess.run([sys.executable, "-c", code, str(tmp_path / FILE_NAME), "0"], check=True, timeout=60)
    assert len(make().find("f", [key(i) for i in range(2000)])) == 2000


def test_by_model_counts_answers_and_hits(make: Make, tmp_path: Path) -> None:
    cache = make()
    cache.keep([entry(1, "abc"), entry(2, "é"), entry(3, "x", "g", "other"), entry(4, "x", "h", "other")])
    assert cache.flush(PATIENCE_S)
    cache.find("f", [key(1), key(2), key(5)])
    cache.find("f", [key(1)])
    assert cache.flush(PATIENCE_S)
    stats = {each.model: each for each in opened(tmp_path).by_model()}
    assert (stats["m"].answers, stats["m"].bytes, stats["m"].hits) == (2, 5, 3)
    assert (stats["other"].answers, stats["other"].hits) == (2, 0)


def test_clear_removes_what_was_asked_for_and_nothing_else(make: Make, tmp_path: Path) -> None:
    cache = make()
    cache.keep([entry(1), entry(2, "x", "g", "other"), entry(3, "x", "h", "other")])
    assert cache.flush(PATIENCE_S)
    store = opened(tmp_path)
    assert store.count("other", time.time() - 60) == (0, 0)
    assert store.clear("other", time.time() + 60) == 2
    assert set(cache.find("f", [key(i) for i in range(5)])) == {key(1)}
    cache.keep([entry(2, "again", "g", "other")])  # to a model that is no longer there
    assert cache.flush(PATIENCE_S)
    assert {each.model for each in store.by_model()} == {"m", "other"}


def test_cleared_replies_are_not_left_in_the_file(make: Make, tmp_path: Path) -> None:
    cache = make()
    cache.keep([entry(i, f"a secret, number {i}") for i in range(1000)])
    assert cache.flush(PATIENCE_S)
    cache.close()
    assert b"a secret" in (tmp_path / FILE_NAME).read_bytes()
    assert opened(tmp_path).clear(None, float("inf")) == 1000
    assert all(b"a secret" not in path.read_bytes() for path in tmp_path.iterdir())
    assert (tmp_path / FILE_NAME).stat().st_size < 100_000


def test_a_damaged_reply_is_not_given(make: Make, tmp_path: Path, warnings: list[str]) -> None:
    cache = make()
    cache.keep([entry(1, "positive"), entry(2, "negative")])
    assert cache.flush(PATIENCE_S)
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("UPDATE answers SET reply = CAST('neutral!' AS BLOB) WHERE key = ?", (key(1),))
    assert set(make().find("f", [key(1), key(2)])) == {key(2)}
    assert warnings == []


def test_a_file_that_was_deleted_meanwhile_is_made_anew(
    make: Make, tmp_path: Path, warnings: list[str]
) -> None:
    cache = make()
    cache.keep([entry(1)])
    assert cache.flush(PATIENCE_S)
    cache.find("f", [key(1)])
    for path in tmp_path.iterdir():
        path.unlink()
    assert cache.find("f", [key(1)]) == {}
    cache.keep([entry(2)])
    assert cache.flush(PATIENCE_S)
    assert set(make().find("f", [key(1), key(2)])) == {key(2)}
    assert warnings == []


@pytest.mark.parametrize(("mount", "kind"), [
    ("ext4 /dev/sda1 rw", "ext4"), ("nfs4 server:/home rw", "nfs4"),
])  # fmt: skip
def test_the_kind_of_file_system_is_told_by_the_longest_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mount: str, kind: str
) -> None:
    text = f"1 0 8:1 / / rw - xfs /dev/root rw\n2 1 8:2 / {tmp_path} rw,relatime shared:1 - {mount}\n"
    monkeypatch.setattr(Path, "read_text", lambda self, **kwargs: text)
    assert answer_store._file_system(tmp_path / "sub" / FILE_NAME) == kind
    assert answer_store._file_system(Path("/elsewhere/x")) == "xfs"


def test_on_a_network_file_system_there_is_no_wal(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_store, "_file_system", lambda path: "nfs4")
    cache = make()
    cache.keep([entry(1)])
    assert cache.flush(PATIENCE_S)
    assert make().find("f", [key(1)])
    assert {path.name for path in tmp_path.iterdir()} <= {FILE_NAME, f"{FILE_NAME}-journal"}


@pytest.mark.long
def test_commits_are_batched(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    commits: list[int] = []
    write = Store.write

    def noted(self: Store, entries: list[CacheEntry], *rest: Any) -> None:
        commits.append(len(entries))
        write(self, entries, *rest)

    monkeypatch.setattr(Store, "write", noted)
    cache = make()
    began = time.monotonic()
    for i in range(200):
        cache.keep([entry(i)])
        time.sleep(0.005)
    assert cache.flush(PATIENCE_S)
    assert sum(commits) == 200
    assert len(commits) <= (time.monotonic() - began) / answer_cache.COMMIT_EVERY_S + 3


def opened(folder: Path) -> Store:
    store = Store(folder / FILE_NAME, 5)
    store.prepare()
    return store


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _noting(failed: list[BaseException], work: Callable[[int], None], k: int) -> None:
    try:
        work(k)
    except BaseException as error:
        failed.append(error)
