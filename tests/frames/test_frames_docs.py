"""Every example of docs/dataframes.md runs, in order, with the scripted engine."""

import re
import warnings
from pathlib import Path

import pytest

import relserve

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


def test_what_the_page_names_exists() -> None:
    named = set(re.findall(r"\brelserve\.(\w+)", PAGE))
    assert named >= {"llm", "llm_filter", "llm_classify", "llm_score", "allm", "llm_errors", "llm_queries"}
    assert named <= set(relserve.__all__)
