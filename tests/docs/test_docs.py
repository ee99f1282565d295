"""Every example of the README runs, and every setting and option is in the docs."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from relserve.api import connect
from relserve.call.options import FUNCTIONS, OPTIONS
from relserve.cli import demo
from relserve.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


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


@pytest.mark.parametrize("name", [*FUNCTIONS, *OPTIONS])
def test_the_readme_names_every_function_and_option(name: str) -> None:
    assert f"`{name}" in README


@pytest.mark.parametrize("setting", [f.name for f in fields(Settings)])
def test_the_settings_page_has_every_setting(setting: str) -> None:
    assert f"RELSERVE_{setting.upper()}" in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_files_that_docs_point_to_exist() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_says_which_options_all_functions_take() -> None:
    found = re.search(r"All of them take (.*?); all but `llm_agg` take (\S+)", README)
    assert found is not None
    all_take, all_but_agg = found.groups()
    of_all = set.intersection(*(set(spec.options) for spec in FUNCTIONS.values()))
    rows = (set(spec.options) for name, spec in FUNCTIONS.items() if name != "llm_agg")
    assert set(re.findall(r"`(\w+)`", all_take)) == of_all
    assert set(re.findall(r"`(\w+)`", all_but_agg)) == set.intersection(*rows) - of_all


@pytest.mark.parametrize("function", ["llm", "llm_filter", "llm_classify", "llm_score"])
def test_the_page_on_functions_names_every_option(function: str) -> None:
    page = (ROOT / "docs" / "functions_llm.md").read_text(encoding="utf-8")
    parts = {part.split("\n", 1)[0]: part for part in page.split("\n## ")}
    own = next(part for head, part in parts.items() if head.startswith(f"{function}:"))
    for option in FUNCTIONS[function].options:
        assert f"`{option}`" in own + parts["Options of all of them"], option


def test_the_architecture_names_every_module_of_the_sql_layer() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page[page.index("## The SQL layer") : page.index("## Who may import")]
    modules = {path.stem for path in (ROOT / "duckdb_ext" / "relserve_duckdb").glob("*.py")} - {"__init__"}
    assert set(re.findall(r"`(\w+)`", table)) == modules
