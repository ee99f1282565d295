"""What a reader of the first hour pastes: the commands of README and tutorial run on messages.csv."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer.main

from relserve.call.hosted_names import HOSTS, OLLAMA, START_HERE
from relserve.cli.main import app
from relserve.examples import MESSAGES
from relserve.session.foreign_tables import TEXT as FOREIGN
from tests.command_line import relserve

ROOT = Path(__file__).parents[2]
README, TUTORIAL, MODELS, EVALUATE = (
    ROOT / name for name in ("README.md", "docs/tutorial.md", "docs/models.md", "docs/evaluate.md")
)
SHELL = re.compile(r"```(?:sh|console)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"(?:\$ )?(?:\.venv/bin/)?relserve (.*)")
NEEDS_A_MODEL = {"ask", "models"}  # the made-up answers of `scripted` are no SQL


def commands(text: str) -> list[list[str]]:
    """The words of each `relserve` command in the shell blocks of a page, without comments and `> FILE`."""
    lines = "".join(SHELL.findall(text)).replace("\\\n", " ").splitlines()
    found = (COMMAND.fullmatch(line) for line in lines)
    texts = (shlex.split(each[1], comments=True) for each in found if each)
    return [words[: words.index(">")] if ">" in words else words for words in texts]


def start_here() -> str:
    """The part of docs/models.md with recipes."""
    text = MODELS.read_text(encoding="utf-8")
    return text[text.index("## Start here") : text.index("\n## ", text.index("## Start here") + 1)]


@pytest.mark.parametrize("page", [README, TUTORIAL, EVALUATE], ids=lambda page: page.name)
def test_the_commands_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(MESSAGES, tmp_path / "messages.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELSERVE_MODEL", "scripted")
    found = [words for words in commands(page.read_text(encoding="utf-8")) if words[0] not in NEEDS_A_MODEL]
    assert len(found) > 2
    for words in found:
        done = relserve(*without_model(words))
        assert done.returncode == 0, (words, done.stderr)


def without_model(words: list[str]) -> list[str]:
    """A command without `--model NAME`, so that it asks the default model."""
    before = ("", *words)
    return [word for last, word in zip(before, words, strict=False) if "--model" not in (last, word)]


@pytest.mark.parametrize("page", [README, TUTORIAL, MODELS, EVALUATE], ids=lambda page: page.name)
def test_every_command_is_one_that_there_is(page: Path) -> None:
    group = typer.main.get_command(app)
    for words in commands(page.read_text(encoding="utf-8")):
        command, rest = group, words
        while hasattr(command, "commands") and rest and rest[0] in command.commands:
            command, rest = command.commands[rest[0]], rest[1:]
        assert command is not group, words
        command.make_context(words[0], list(rest)).close()


def test_the_recipes_name_the_hosts_that_errors_name() -> None:
    text = start_here()
    for host in HOSTS:
        if host.title in ("OpenAI", "Azure OpenAI", "Anthropic", "Gemini", "OpenRouter"):
            line = next(line for line in text.splitlines() if line.startswith("|") and host.title in line)
            assert f"`{host.url}#" in line
            assert f"`{host.key}`" in line
    assert f"{OLLAMA}#" in text
    assert "not tried here" in text


def test_the_place_that_errors_and_warnings_name_is_there() -> None:
    assert START_HERE.startswith("docs/models.md, 'Start here'")
    assert START_HERE in FOREIGN
    assert start_here()


def test_made_up_answers_are_called_so_wherever_readme_uses_them() -> None:
    for line in README.read_text(encoding="utf-8").splitlines():
        assert "scripted" not in line or "made-up answers" in line or "makes its answers up" in line, line


def test_the_picture_is_whole_and_small() -> None:
    picture = ROOT / "docs" / "pictures" / "shell.svg"
    assert "messages.csv" in "".join(ElementTree.parse(picture).getroot().itertext())
    assert picture.stat().st_size < 50_000
    assert "http" not in picture.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")


def test_the_glossary_is_short_and_has_the_word_that_is_relserves_own() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"(?m)^\| \*\*(.+?)\*\* \|", page)
    assert "relQuery" in words
    assert len(words) <= 15
    assert words == sorted(words, key=str.casefold)
