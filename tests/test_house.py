"""The plan of the house: the import contract names every package in few layers; few modules lie loose."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.modules import IMPORTED_BY_COLLECTING

ROOT = Path(__file__).parents[1]
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
LAYERS = next(c["layers"] for c in LINTER["contracts"] if c["type"] == "layers")


def test_the_layers_name_every_package_and_module() -> None:
    named = {name for layer in LAYERS for name in re.split(r"\s*[|:]\s*", layer)}
    parts = [each for each in (ROOT / "relserve").iterdir() if not each.name.startswith("__")]
    found = {
        f"relserve.{each.stem}" for each in parts if each.suffix == ".py" or (each / "__init__.py").exists()
    }
    assert named == found | {"relserve_duckdb", "relserve_kernels", "lab", "training"}


def test_there_are_at_most_ten_layers() -> None:
    assert len(LAYERS) <= 10


def test_imports_for_type_checking_count() -> None:
    assert "exclude_type_checking_imports" not in LINTER
    circles = next(c for c in LINTER["contracts"] if c["type"] == "acyclic_siblings")
    assert set(circles["ancestors"]) == {
        "relserve.*", "relserve_duckdb", "relserve_kernels", "lab", "lab.*", "training", "training.*",
    }  # fmt: skip
    ignoring = [each["name"] for each in LINTER["contracts"] if "ignore_imports" in each]
    assert ignoring == ["only the plug-in's seam knows vLLM", "one file knows Ray"]


def test_at_most_six_modules_lie_loose() -> None:
    assert len(list((ROOT / "relserve").glob("*.py"))) <= 6


def test_a_worker_of_pytest_has_whole_groups(request: pytest.FixtureRequest) -> None:
    """Else each worker starts engines and servers of its own; pytest 9.2 with pytest-xdist 3.8 does so."""
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith("@test_house.py")


def test_no_two_test_modules_share_a_name() -> None:
    """Pytest imports them by name alone, and leaves all but the first out with an error."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.long
def test_clocks_of_threads_that_tests_share_stay_right() -> None:
    """Of `time.monotonic`, by which event loops set their timers."""
    setting = re.compile(r"""setattr\(\s*(time, "|"time\.)(monotonic|perf_counter)""")
    found = [each.name for each in (ROOT / "tests").rglob("*.py") if setting.search(each.read_text("utf-8"))]
    assert not found, "use tests.clocks.read_here"


def test_no_test_imports_an_engine_as_it_is_collected() -> None:
    """`tests.modules.later` loads these where a test uses them; each takes seconds, in every worker."""
    slow = ("vllm.", "transformers.", "xgrammar.", "lab.made_up_worker.")
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            assert not [name for name in names if f"{name}.".startswith(slow)], path.name


def test_nothing_that_tests_import_brings_an_engine(request: pytest.FixtureRequest) -> None:
    """Neither do the modules that tests import: vLLM takes seconds and 0.3 GB, in every worker."""
    slow = {"vllm.v1", "vllm.config", "transformers", "xgrammar", "ray"}
    assert slow & request.config.stash[IMPORTED_BY_COLLECTING] == set()
