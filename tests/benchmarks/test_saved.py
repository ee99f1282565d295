"""Result files with their commits, and the column of the page that says them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.provenance import BENCHMARKS_PAGE
from benchmarks.saved import Saved, file_of, saved_results, with_column

SAVED = [
    Saved("speed", "speed", ("--seeds", "4"), "aaaaaaa", "2026-11-20", {}),
    Saved("speed_60m", "speed", ("--millions", "60", "--seeds", "2"), "bbbbbbb", "2026-11-21", {}),
    Saved("resume_engine", "resume", ("--engine",), "ccccccc", "2026-11-22", {}),
]

PAGE = """# Measured

| what | result | NAME |
|---|---|---|
| one | 1 s | `speed` |
| two | 2 and 3 s | `speed`, `speed --millions 60` |
| three | 4 s ‡ | `resume` |
| four | 5 s | by hand; `resume --engine` |

| command | takes about |
|---|---|
| `speed` | 4 minutes |
"""


def test_a_file_says_its_command_commit_and_day(tmp_path: Path) -> None:
    of = {"command": "python -m benchmarks.speed --ways 'a b' c", "commit": "1234567",
          "date": "2026-11-25T23:00:00+00:00"}  # fmt: skip
    for name, more in (("speed", {}), ("speed_b", {"squashed_into": "7654321"})):
        (tmp_path / f"{name}.json").write_text(json.dumps({"headline": {"s": 1}, "provenance": of | more}))
    one, two = saved_results(tmp_path)
    assert one == Saved("speed", "speed", ("--ways", "a b", "c"), "1234567", "2026-11-25", {"s": 1})
    assert two.where == "`7654321` 2026-11-25"


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("speed", "speed"), ("speed --millions 60", "speed_60m"), ("speed --millions 250", None),
        ("resume --engine", "resume_engine"), ("resume", None),
    ],
)  # fmt: skip
def test_a_command_of_the_page_has_the_file_that_it_made(command: str, file: str | None) -> None:
    found = file_of(command, SAVED)
    assert (found and found.name) == file


def test_the_column_has_commit_and_day_of_each_command() -> None:
    lines = with_column(PAGE, SAVED).splitlines()
    assert lines[2:4] == ["| what | result | NAME | measured |", "|---|---|---|---|"]
    last = [line.split(" | ")[-1].removesuffix(" |") for line in lines[4:8]]
    first, second = "`aaaaaaa` 2026-11-20", "`bbbbbbb` 2026-11-21"
    assert last == [first, f"{first}, {second}", "none", "by hand; `ccccccc` 2026-11-22"]
    assert lines[9:] == PAGE.splitlines()[9:]  # a table of no figures is left alone


def test_the_column_is_renewed_where_it_is() -> None:
    of_before = with_column(PAGE, SAVED[:1])
    assert of_before != with_column(PAGE, SAVED)
    assert with_column(of_before, SAVED) == with_column(PAGE, SAVED)


def test_a_line_with_a_bar_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match=r"5 cells, not 3, in the line that begins '\| one"):
        with_column(PAGE.replace("1 s |", "1 | 2 | s |"), SAVED)


def test_the_page_is_up_to_date_with_the_files() -> None:
    page = BENCHMARKS_PAGE.read_text(encoding="utf-8")
    assert page == with_column(page, saved_results()), "run .venv/bin/python -m benchmarks.stale --write-docs"


def test_the_page_marks_the_lines_without_a_file() -> None:
    lines = [line for line in BENCHMARKS_PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    assert [line for line in lines if ("‡" in line) != line.endswith(" none |")] == []
