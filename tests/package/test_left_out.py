"""What the wheel leaves out: setuptools finds neither simulators nor what trains the models."""

from __future__ import annotations

import tomllib
from pathlib import Path

from setuptools import find_namespace_packages

ROOT = Path(__file__).parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
LEFT_OUT = (
    "benchmarks.", "lab.", "relserve.simulator.", "relserve.tiny.corpus.", "relserve.tiny_sql.corpus.",
    "tests.", "training.",
)  # fmt: skip
TRAINERS = ("train.py", "trainer.py", "evaluate.py")


def packages() -> set[str]:
    """The packages that setuptools finds, of folders that hold Python."""
    find = SETUPTOOLS["packages"]["find"]
    return {
        package
        for where in find["where"]
        for package in find_namespace_packages(str(ROOT / where), find["exclude"], find["include"])
        if any((ROOT / where / package.replace(".", "/")).glob("*.py"))
    }


def test_the_wheel_leaves_out_simulators_corpora_and_trainers() -> None:
    found = packages()
    assert {"relserve", "relserve.policies", "relserve_duckdb", "relserve_kernels"} <= found
    assert [package for package in found if f"{package}.".startswith(LEFT_OUT)] == []
    for model in ("tiny", "tiny_sql"):
        assert [name for name in TRAINERS if (ROOT / "relserve" / model / name).exists()] == []
