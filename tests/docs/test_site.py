"""The documentation as a site: every page is in it once, links lead to its pages, the reference is whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from docs.site import hooks, reference
from relserve.call.option_specs import OPTIONS
from relserve.call.options import FUNCTIONS
from relserve.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
MKDOCS = ROOT / "build" / "docs" / "bin" / "mkdocs"


def test_every_page_has_one_place() -> None:
    pages = [page for section in hooks.sections() for each in section.values() for page in each]
    assert len(pages) == len(set(pages))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} | set(hooks.ELSEWHERE) == set(pages)


@pytest.mark.parametrize(("text", "source", "told"), [
    ("[a](docs/slo.md#x)", "README.md", "[a](slo.md#x)"),
    ("[a](../README.md)", "docs/tutorial.md", "[a](index.md)"),
    ("[a](../../docs/limits.md)", "relserve/tiny/README.md", "[a](limits.md)"),
    ("[card](relserve/tiny/README.md)", "README.md", "[card](tiny.md)"),
    ("[license](LICENSE).", "README.md", "license (`LICENSE`)."),
    ("[a](#below) and [b](slo.md)", "docs/fleet.md", "[a](#below) and [b](slo.md)"),
    ("![a](docs/pictures/shell.svg)", "README.md", "![a](pictures/shell.svg)"),
    ("[a](https://ollama.com)", "docs/models.md", "[a](https://ollama.com)"),
])  # fmt: skip
def test_links_of_the_repository_become_those_of_the_site(text: str, source: str, told: str) -> None:
    assert hooks.with_links_of_site(text, source) == told


def test_the_reference_has_every_function_option_setting_and_command() -> None:
    page = reference.page()
    settings = [f"{PREFIX}{each.name.upper()}" for each in fields(Settings)]
    for name in (*FUNCTIONS, *OPTIONS, *settings):
        assert f"`{name}`" in page, name
    for heading in ("relserve sql", "relserve models check", "relserve.connect", "relserve.llm_extract"):
        assert f"### {heading}\n" in page


@pytest.mark.package
@pytest.mark.skipif(not MKDOCS.exists(), reason="no MkDocs here: make site-tools")
def test_the_site_builds_strictly_and_can_be_searched(tmp_path: Path) -> None:
    page = ROOT / hooks.ELSEWHERE[hooks.REFERENCE]
    subprocess.run([sys.executable, str(ROOT / "docs/site/reference.py"), str(page)], check=True, cwd=ROOT)
    built = subprocess.run(
        [str(MKDOCS), "build", "--strict", "--site-dir", str(tmp_path)], cwd=ROOT, capture_output=True,
        text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    found = (tmp_path / "search" / "search_index.json").read_text(encoding="utf-8")
    for word in ("relQuery", "RELSERVE_STEP_BUDGET", "Start here"):
        assert word in found
    outside = re.compile(r"""<(?:script|link|img)[^>]+(?:src|href)=["']https?:""")
    assert [page for page in tmp_path.rglob("*.html") if outside.search(page.read_text("utf-8"))] == []
