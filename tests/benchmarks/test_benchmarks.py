"""Each benchmark: it starts on today's code, and its first line says what it shows."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from benchmarks.provenance import ROOT
from tests.forked import run_program

FILES = sorted((ROOT / "benchmarks").glob("*.py"))
BENCHMARKS = [path for path in FILES if "    finish(" in path.read_text(encoding="utf-8")]


@pytest.mark.long
def test_all_import() -> None:
    """In a process of their own, for they set variables of the environment."""
    names = ", ".join(f"benchmarks.{path.stem}" for path in FILES if path.stem != "__init__")
    done = run_program(f"import {names}", env=os.environ, has_vllm=True)
    assert not done.returncode, done.stderr


def test_benchmarks_are_found() -> None:
    assert {"sql_layer", "end_to_end", "relquery_latency"} <= {path.stem for path in BENCHMARKS}


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_the_first_line_is_a_sentence(path: Path) -> None:
    said = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()
    assert said
    assert said[0].endswith(".")
