"""Every example of docs/dataframes.md runs, in order, with the scripted engine."""

import re
import warnings
from pathlib import Path

import pytest

import relserve
from relserve.options import ROW_FUNCTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "dataframes.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_MODEL", "scripted")
    monkeypatch.setenv("RELSERVE_PROGRESS", "0")
    assert len(BLOCKS) >= 5
    space: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in BLOCKS:
            exec(compile(block, "docs/dataframes.md", "exec"), space)


def test_the_page_names_every_function() -> None:
    for name in (*ROW_FUNCTIONS, "llm_errors", "llm_queries"):
        assert f"`{name}" in PAGE or f"relserve.{name}" in PAGE
        assert getattr(relserve, name)
