"""What MkDocs does besides docs/*.md: pages from elsewhere in the repository, and the order of all pages.

MkDocs loads this file by its path and calls `on_config`, `on_files` and `on_page_markdown`.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
REFERENCE = "reference.md"  # made from the code by reference.py
ELSEWHERE = {  # a page's place in the site, and the file that it is made of
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "tiny.md": "relserve/tiny/README.md",
    "tiny_sql.md": "relserve/tiny_sql/README.md",
    REFERENCE: "build/docs_pages/reference.md",
}
SITE_OF = {source: page for page, source in ELSEWHERE.items()}
SECTIONS = {
    "Start": ("index.md", "tutorial.md", "models.md", "evaluate.md", "glossary.md"),
    "How to": (),  # and every page that no section names
    "Functions": (
        "functions_llm.md", "functions_classify.md", "functions_extract.md", "functions_agg.md",
        "text2sql.md",
    ),
    "Reference": (REFERENCE, "settings.md", "limits.md", "tiny.md", "tiny_sql.md"),
    "Explanation": (
        "architecture.md", "decisions.md", "less_work.md", "text2sql_stages.md", "text2sql_safety.md",
        "hybrid_cache.md", "kernels.md", "papers.md", "benchmarks.md", "gpu.md",
    ),
    "Project": ("contributing.md", "changelog.md"),
}  # fmt: skip

_LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
_LINK_TO_CODE = re.compile(r"(!?)\[([^\]]*+)\]\(([^)#:\s]+)\)")


def on_config(config: Any) -> Any:
    """Order the pages."""
    config.nav = sections()
    return config


def sections() -> list[dict[str, list[str]]]:
    """The pages of each section; those that no section names are in `How to`, by their names."""
    named = {page for pages in SECTIONS.values() for page in pages}
    rest = sorted(page.name for page in (ROOT / "docs").glob("*.md") if page.name not in named)
    return [{title: [*pages, *(rest if title == "How to" else ())]} for title, pages in SECTIONS.items()]


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and pictures that do not lie in docs/."""
    from mkdocs.structure.files import File  # not in the environment of the tests of this file

    for page, source in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for name in sorted(_pictures_elsewhere()):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn the links of a file in the repository into those of the site."""
    return with_links_of_site(markdown, ELSEWHERE.get(page.file.src_uri, f"docs/{page.file.src_uri}"))


def with_links_of_site(markdown: str, source: str) -> str:
    """A page's text with links to pages of the site; a link to any other file becomes that file's path.

    Args:
        source: the page's path in the repository.
    """
    folder = posixpath.dirname(source)

    def place_of(target: str) -> str | None:
        path = posixpath.normpath(posixpath.join(folder, target))
        if path in SITE_OF:
            return SITE_OF[path]
        if path.startswith("docs/"):
            return path.removeprefix("docs/")
        return path if path in _pictures_elsewhere() else None

    def without_dead_link(found: re.Match[str]) -> str:
        return found[0] if place_of(found[3]) else f"{found[2]} (`{found[3].lstrip('./')}`)"

    kept = _LINK_TO_CODE.sub(without_dead_link, markdown)
    return _LINK.sub(lambda found: place_of(found[1]) or found[1], kept)


def _pictures_elsewhere() -> set[str]:
    """Pictures outside docs/ that its pages show, by their paths in the repository."""
    texts = (page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    found = (re.findall(r"\]\(\.\./([\w/.-]+\.(?:png|svg))\)", text) for text in texts)
    return {name for names in found for name in names}
