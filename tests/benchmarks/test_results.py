"""The committed results of the benchmarks: each says which commit and which command made it."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.provenance import RESULTS, ROOT

COMMAND = re.compile(
    r"python -m benchmarks\.(?P<benchmark>\w+)(?P<options>( --?[a-z][\w-]*( [\w.+/-]+| '[^']*')*)*)"
)
SAVED = sorted(RESULTS.glob("*.json"))

each_result = pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)


def provenance_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["provenance"]
    return found


@cache
def commits() -> tuple[str, ...]:
    """The commits that led to this one."""
    if not (ROOT / ".git").exists() or (ROOT / ".git" / "shallow").exists():
        pytest.skip("no git checkout with its history")
    listed = subprocess.run(
        ["git", "rev-list", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return tuple(listed.split())


def test_there_are_results() -> None:
    assert SAVED


@each_result
def test_a_result_names_a_clean_commit_of_this_repository(path: Path) -> None:
    commit = provenance_of(path)["commit"]
    assert re.fullmatch(r"[0-9a-f]{7,40}", commit), f"{commit!r} is no clean commit"
    kept = provenance_of(path).get("squashed_into", commit)  # a later commit that holds what was measured
    assert any(known.startswith(kept) for known in commits()), f"{kept} is not in this history"


@each_result
def test_a_result_names_a_command_that_runs(path: Path) -> None:
    command = COMMAND.fullmatch(provenance_of(path)["command"])
    assert command, f"{provenance_of(path)['command']!r} is no command of a benchmark"
    its = ROOT / "benchmarks" / command["benchmark"]
    assert its.with_suffix(".py").is_file() or (its / "__main__.py").is_file()
    assert "--quick" not in command["options"]
    assert path.stem.startswith(command["benchmark"])


def test_a_plot_stands_beside_its_numbers() -> None:
    assert {path.stem for path in RESULTS.glob("*.png")} <= {path.stem for path in SAVED}
