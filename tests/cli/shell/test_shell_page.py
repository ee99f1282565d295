"""docs/shell.md: its script prints what it says, and it names every dot command and mode."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from relserve.cli.main import app
from relserve.cli.shell.interpreter import COMMANDS
from relserve.cli.shell.screen_commands import MODES

PAGE = (Path(__file__).parents[3] / "docs" / "shell.md").read_text(encoding="utf-8")


def run(script: str, *options: str) -> str:
    return CliRunner().invoke(app, ["shell", "--model", "scripted", *options], input=script).output


def test_the_script_prints_what_the_page_says() -> None:
    ((script, shown),) = re.findall(r"<<'END'\n(.*?)END\n```\n\nprints\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert run(script) == shown


def test_an_error_at_the_prompt_reads_as_the_page_says() -> None:
    ((typed, shown),) = re.findall(r"```\nrelserve> (.*?)\n(.*?)```", PAGE, re.DOTALL)
    assert run(typed, "--examples") == f"relserve: {shown}in stdin, line 1\n"


@pytest.mark.parametrize("name", [*COMMANDS, *MODES])
def test_the_page_names_every_command_and_mode(name: str) -> None:
    usage = COMMANDS[name].usage.replace("|", "\\|") if name in COMMANDS else ""
    assert f"`{f'{name} {usage}'.rstrip()}`" in PAGE
