"""A public class name stands once in the tree, so that a reader who meets it knows which class is meant."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("relserve", "duckdb_ext/relserve_duckdb", "kernels", "lab", "training", "benchmarks")


def places_of(folders: list[Path]) -> dict[str, list[str]]:
    """Where each public class is defined: `path:line` by the class's name, nested classes included."""
    found = defaultdict(list)
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(f"{path}:{node.lineno}")
    return found


@pytest.mark.long
def test_no_public_class_name_stands_twice() -> None:
    places = places_of([ROOT / room for room in ROOMS])
    assert len(places) > 500
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_a_name_in_two_files_is_found(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("class Twice: ...\n\n\nclass _Private: ...\n")
    assert {name: len(where) for name, where in places_of([tmp_path]).items()} == {"Twice": 2}
