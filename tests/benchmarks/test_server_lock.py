"""The benchmark of the lock sees what it looks for: a lock that lets anything through does not pass it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.lock import locked
from benchmarks.lock.texts import made
from benchmarks.lock.watched import WatchedFolder
from benchmarks.server_lock import LockComparison


@pytest.fixture
def compared(tmp_path: Path):
    """The lock beside DuckDB."""
    compared = LockComparison(tmp_path, seed=3, count=150, num_refused=2)
    yield compared
    compared.child.end()


@pytest.mark.long
def test_the_lock_lets_nothing_through(compared: LockComparison) -> None:
    compared.compare()
    assert compared.told == []
    assert compared.total("made") == 150
    assert compared.total("refused") > 50
    assert compared.total("let through") > 15


@pytest.mark.long
def test_a_lock_that_lets_anything_through_is_seen(
    compared: LockComparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked, "check_allowed", lambda con, text, user: con.extract_statements(text)[:1])
    compared.compare()
    seen = " ".join(compared.told)
    for effect in ("file secret.", "file out.", "setting ", "that asks a session", "FUNCTION "):
        assert effect in seen, effect


def test_the_same_seed_makes_the_same_texts_of_all_kinds() -> None:
    texts = [made(5, number) for number in range(300)]
    assert texts == [made(5, number) for number in range(300)]
    assert texts != [made(6, number) for number in range(300)]
    assert len(Counter(text.kind for text in texts)) == 6
    whole = "".join(text.text for text in texts)
    pieces = ["\u00a0", "\u200b", "`", "$é$", "/* /*", "e'", "read_text", "COPY", "current_query", "EXECUTE"]
    assert [piece for piece in pieces if piece not in whole] == []


def test_a_file_that_is_opened_is_seen(tmp_path: Path) -> None:
    watched = WatchedFolder(tmp_path)
    assert watched.events() == set()
    (tmp_path / "secret.txt").read_text()
    (tmp_path / "new").write_text("")
    assert watched.events() == {"secret.txt", "new"}
    watched.restore()
    assert not (tmp_path / "new").exists()
    assert watched.events() == set()
