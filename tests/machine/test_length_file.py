"""Where learnt lengths of answers are kept, and what a file that strangers wrote to does: nothing."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from relserve.machine import length_file
from relserve.machine.length_file import (
    find_lengths,
    lengths_path,
    read_lengths,
    text_of,
)
from relserve.policies.model.lengths import LengthLearner
from relserve.vllm_plugin.settings import read


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("RELSERVE_KEEP_LEARNT", raising=False)


def learnt(tokens: int = 20, kind: str = "k") -> dict[str, Any]:
    learner = LengthLearner()
    lengths = learner.of(kind, 256)
    for _ in range(40):
        lengths.ended(tokens, is_whole=True)
    return learner.as_dict()


def text(parts: dict[str, Any]) -> str:
    return text_of(json.dumps(parts["general"]), {k: json.dumps(v) for k, v in parts["kinds"].items()})


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_what_was_learnt_comes_back(tmp_path: Path) -> None:
    found = read_lengths(write(tmp_path / "x.json", text(learnt(20, 'k"ü'))))
    assert found.as_dict() == learnt(20, 'k"ü')
    assert found.of('k"ü', 256).row == pytest.approx(20, abs=3)


def test_each_model_has_a_file_and_schedulers_find_it() -> None:
    assert lengths_path("org/name") != lengths_path("other/name")
    write(lengths_path("org/name"), text(learnt()))
    assert list(find_lengths("org/name").kinds) == ["k"]
    assert not find_lengths("org/other").kinds
    given = {"relserve": {"variant": "dpu+marginal"}}
    assert read(given, "org/name").lengths_path == str(lengths_path("org/name"))
    assert read({"relserve": {"variant": "stock"}}, "org/name").lengths_path == ""
    mine = {"relserve": {"variant": "dpu+marginal", "lengths_path": "mine.json"}}
    assert read(mine, "org/name").lengths_path == "mine.json"


@pytest.mark.parametrize("off", ["0", "false", "off", "no", " NO "])
def test_they_can_be_kept_nowhere(off: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(lengths_path("org/name"), text(learnt()))
    monkeypatch.setenv("RELSERVE_KEEP_LEARNT", off)
    assert read({"relserve": {"variant": "dpu+marginal"}}, "org/name").lengths_path == ""
    assert not find_lengths("org/name").kinds


def with_kind(**parts: Any) -> str:
    return json.dumps({**learnt(), "format": 1, "kinds": {"k": parts}})


@pytest.mark.parametrize(
    "content",
    [
        "", "no json", "[]", "{}", "null", "[" * 100_000, '{"format": 1}', text(learnt())[:-30],
        text(learnt()).replace('"format": 1', '"format": 99'), with_kind(), with_kind(ends=[], cuts={}),
        with_kind(ends={"5": 1}, cuts={"five": 1}), with_kind(ends={"5": float("nan")}, cuts={}),
        with_kind(ends={"5": -1}, cuts={}), with_kind(ends={"5": 10**400}, cuts={}),
        with_kind(ends={"5": "1" * 5000}, cuts={}), "\x00\xff" * 50, "x" * (length_file.MAX_BYTES + 1),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_one_line_in_the_log(
    content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = read_lengths(write(tmp_path / "x.json", content))
    assert (found.kinds, found.general.num_ended) == ({}, 0)
    (record,) = caplog.records
    assert "learnt anew" in record.getMessage()
    assert len(record.getMessage()) < 400
    assert "\n" not in record.getMessage()


def test_a_folder_in_its_place_is_as_bad(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert not read_lengths(tmp_path).kinds
    assert "learnt anew" in caplog.text


def test_whoever_reads_while_others_write_finds_one_writers_file_whole(tmp_path: Path) -> None:
    """As two engines of one model write: each a file of its own, which takes the place of the other's."""
    path, texts = tmp_path / "x.json", [text(learnt(20, "k" * 9)), text(learnt(200, "ü"))]
    write(path, texts[0])

    def writes(number: int) -> None:
        for _ in range(300):
            unfinished = write(tmp_path / f"x.{number}.tmp", texts[number])
            os.replace(unfinished, path)

    threads = [threading.Thread(target=writes, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(read_lengths(path).kinds) == 1
    for thread in threads:
        thread.join()
