"""The result files with their commits and days, and the column of docs/benchmarks.md that says them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.provenance import RESULTS

HEADS = ("NAME", "measured")  # the columns of commands, and of where their figures are from
NONE = "none"
COMMAND = re.compile(r"`([^`]+)`")


class Saved(NamedTuple):
    """A result file.

    Attributes:
        benchmark, options: of the command that made it.
        commit: that was measured, or the one of this history into which it was squashed.
        day: as in 2026-11-25.
    """

    name: str
    benchmark: str
    options: tuple[str, ...]
    commit: str
    day: str
    headline: dict[str, Any]

    @property
    def where(self) -> str:
        """Commit and day in Markdown."""
        return f"`{self.commit}` {self.day}"


def saved_results(folder: Path = RESULTS) -> list[Saved]:
    """All result files of a folder."""
    return [_saved(path) for path in sorted(folder.glob("*.json"))]


def _saved(path: Path) -> Saved:
    record = json.loads(path.read_text(encoding="utf-8"))
    of = record["provenance"]
    _, _, program, *options = shlex.split(of["command"])
    commit = of.get("squashed_into", of["commit"])
    benchmark = program.removeprefix("benchmarks.")
    return Saved(path.stem, benchmark, tuple(options), commit, of["date"][:10], record["headline"])


def file_of(command: str, saved: Sequence[Saved]) -> Saved | None:
    """The file that a command of the page made: `NAME` alone made NAME.json.

    With options it is the file of the benchmark whose own command has all of them, in that order.
    """
    benchmark, *options = shlex.split(command)
    if not options:
        return next((each for each in saved if each.name == benchmark), None)
    for each in saved:
        words = iter(each.options)
        if each.benchmark == benchmark and all(option in words for option in options):
            return each
    return None


def with_column(page: str, saved: Sequence[Saved]) -> str:
    """The page, each of whose tables of commands says in its last column where the figures are from.

    The column repeats that of the commands, with commit and day, or `NONE`, in place of each.

    Raises:
        ValueError: a line of such a table has too many or too few cells.
    """
    lines, width = [], 0
    for line in page.split("\n"):
        cells = [cell.strip() for cell in line.split("|")[1:-1]] if line.startswith("|") else []
        if not cells:
            width = 0
        elif not width and HEADS[0] in cells:
            width = cells.index(HEADS[0]) + 1
            line = _row([*cells[:width], HEADS[1]])
        elif width and set(line) <= set("|-"):
            line = "|" + (width + 1) * "---|"
        elif width:
            if len(cells) not in (width, width + 1):
                raise ValueError(f"{len(cells)} cells, not {width}, in the line that begins {line[:60]!r}")
            where = COMMAND.sub(lambda found: _where(found[1], saved), cells[width - 1])
            line = _row([*cells[:width], where])
        lines.append(line)
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _where(command: str, saved: Sequence[Saved]) -> str:
    found = file_of(command, saved)
    return found.where if found else NONE
