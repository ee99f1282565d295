"""Every example of the README runs, and every setting and option is in the docs."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from relserve.api import connect
from relserve.call.option_specs import OPTIONS
from relserve.call.options import FUNCTIONS
from relserve.cli import demo
from relserve.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "relserve" / "tiny" / "README.md"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(code: str) -> None:
    exec(compile(code, "README.md", "exec"), {})


@pytest.mark.parametrize("code", blocks("sql"))
def test_sql_examples_run(code: str) -> None:
    with connect(model="scripted", progress=False) as con:
        demo.prepare(con)
        con.execute(code).fetchall()


def test_there_are_examples() -> None:
    assert blocks("python")
    assert blocks("sql")


@pytest.mark.parametrize("name", OPTIONS)
def test_the_readme_names_every_option(name: str) -> None:
    assert f"`{name}" in README


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_page_names_every_function(function: str) -> None:
    """The README's table, or the page on it, from which the site makes its reference."""
    pages = [README, *(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("functions_*.md"))]
    missing = f"write about {function} on a page docs/functions_*.md"
    assert any(f"`{function}" in page for page in pages), missing


@pytest.mark.parametrize("setting", [f.name for f in fields(Settings)])
def test_the_settings_page_has_every_setting(setting: str) -> None:
    assert f"RELSERVE_{setting.upper()}" in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_files_that_docs_point_to_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_says_which_options_all_functions_take() -> None:
    told = r"also take (.*?)\.\s.*?all\s+but `llm_agg` and `llm_rank` take (.*?), and"
    found = re.search(told, README, re.DOTALL)
    assert found is not None
    all_take, all_but_agg = found.groups()
    others = {name: set(spec.options) for name, spec in FUNCTIONS.items() if name != "llm_embed"}
    of_all = set.intersection(*others.values())
    rows = (options for name, options in others.items() if not FUNCTIONS[name].aggregate)
    assert set(re.findall(r"`(\w+)`", all_take)) == of_all
    assert set(re.findall(r"`(\w+)`", all_but_agg)) == set.intersection(*rows) - of_all


@pytest.mark.parametrize("function", ["llm", "llm_filter", "llm_classify", "llm_score"])
def test_the_page_on_functions_names_every_option(function: str) -> None:
    page = (ROOT / "docs" / "functions_llm.md").read_text(encoding="utf-8")
    parts = {part.split("\n", 1)[0]: part for part in page.split("\n## ")}
    own = next(part for head, part in parts.items() if head.startswith(f"{function}:"))
    for option in FUNCTIONS[function].options:
        assert f"`{option}`" in own + parts["Options of all of them"], option


MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = [ROOT / "relserve", ROOT / "duckdb_ext" / "relserve_duckdb", ROOT / "kernels" / "relserve_kernels"]
NOT_SHIPPED = [ROOT / "lab", ROOT / "training"]


def test_the_map_has_a_line_for_every_room() -> None:
    rooms = {path.parent for package in PACKAGES + NOT_SHIPPED for path in package.glob("*/__init__.py")}
    assert len(rooms) > 15
    for room in rooms:
        assert f"| `{room.relative_to(ROOT)}/` |" in MAP, room
    for module in (ROOT / "relserve").glob("[!_]*.py"):
        assert f"`{module.name}`" in MAP or f"`relserve/{module.name}`" in MAP, module


def test_the_map_is_one_page() -> None:
    assert len(MAP.splitlines()) <= 70


def test_the_map_has_the_layers_that_lint_holds() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = (
        each["layers"] for each in contracts["contracts"] if each["name"] == "imports go downward only"
    )
    (block,) = re.findall(r"```\n(.*?)```", MAP, re.DOTALL)
    told = [set(line.split(" | ")) for line in block.splitlines()]
    assert told == [
        {room.strip().removeprefix("relserve.") for room in re.split("[|:]", line)} for line in layers
    ]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 110


def test_no_page_names_a_file_that_is_gone() -> None:
    folders = "relserve|lab|training|duckdb_ext|benchmarks|tests|docs|kernels"
    for page in PAGES:
        for path in re.findall(rf"`((?:{folders})/[\w./]+)`", page.read_text("utf-8")):
            assert (ROOT / path).exists(), f"{page.name}: {path}"


def test_the_decisions_name_classes_that_there_are() -> None:
    source = "\n".join(path.read_text("utf-8") for package in PACKAGES for path in package.rglob("*.py"))
    named = re.findall(r"`([A-Z][a-z]+[A-Z]\w+)[`(]", (ROOT / "docs" / "decisions.md").read_text("utf-8"))
    assert len(named) > 8
    elsewhere = {"LazyFrame", "RequestOutput"}
    assert [name for name in named if name not in elsewhere and f"class {name}" not in source] == []
