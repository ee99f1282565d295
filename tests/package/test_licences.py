"""Beside shipped tables stands where they come from, and under which licence they are."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLES = (".csv", ".parquet", ".tsv", ".arrow")
SHIPPED = ("relserve", "duckdb_ext", "kernels")


FILES = [path for folder in SHIPPED for path in (ROOT / folder).rglob("*") if path.is_file()]
FOLDERS = sorted({path.parent for path in FILES if path.suffix in TABLES})


def test_there_are_shipped_tables() -> None:
    assert FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_notice_stands_beside_them(folder: Path) -> None:
    notice = (folder / "NOTICE").read_text(encoding="utf-8")
    assert "licence" in notice.lower()
    if "in the file LICENSE" in notice:
        assert (folder / "LICENSE").stat().st_size > 500
    names = [path.name for path in folder.iterdir() if path.suffix in TABLES]
    assert notice.startswith("These tables") or all(name in notice for name in names)


def test_licences_of_others_come_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    others = {str(path.relative_to(ROOT)) for path in FILES if path.name == "LICENSE"}
    assert others <= set(project["license-files"])
