"""How old result files are in the rooms that they measured."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import stale
from benchmarks.claims import Benchmark
from benchmarks.saved import Saved
from benchmarks.stale import ages, commits_since


def test_files_come_by_the_commits_that_touched_what_they_measured() -> None:
    declared = {name: Benchmark(name, (f"room/{name}",), {}, {}) for name in ("speed", "size")}
    saved = [Saved(file, name, (), commit, "2026-11-25", {}) for file, name, commit in
             (("size", "size", "a"), ("speed", "speed", "b"), ("speed_60m", "speed", "c"))]  # fmt: skip
    asked: list[tuple[str, Sequence[str]]] = []

    def count(commit: str, rooms: Sequence[str]) -> int:
        asked.append((commit, rooms))
        return {"a": 3, "b": 7, "c": 3}[commit]

    found = [(age.commits, age.saved.name) for age in ages(saved, declared, count)]
    assert found == [(7, "speed"), (3, "size"), (3, "speed_60m")]
    assert asked == [("a", ("room/size",)), ("b", ("room/speed",)), ("c", ("room/speed",))]


def test_only_commits_that_touch_a_room_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stale, "ROOT", tmp_path)

    def git(*words: str) -> str:
        author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        return subprocess.run(
            ["git", *author, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "-q")
    heads = []
    for room in ("door", "gate", "door", "hall"):
        (tmp_path / room).mkdir(exist_ok=True)
        (tmp_path / room / "code.py").write_text(f"{len(heads)}")
        git("add", ".")
        git("commit", "-qm", room)
        heads.append(git("rev-parse", "HEAD"))
    assert commits_since(heads[0], ["door"]) == 1
    assert commits_since(heads[0], ["door", "hall/code.py"]) == 2
    assert commits_since(heads[3], ["door", "gate", "hall"]) == 0
    with pytest.raises(subprocess.CalledProcessError):
        commits_since("0" * 40, ["door"])
