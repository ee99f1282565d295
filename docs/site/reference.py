"""Writes the reference of functions, options, commands, settings and Python's names from the code itself.

    .venv/bin/python docs/site/reference.py FILE

`make docs` does it; the page is not kept in the repository, so it is never older than the code.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import typer.main

import relserve
from relserve.call.option_specs import OPTIONS
from relserve.call.options import FUNCTIONS
from relserve.cli.main import app
from relserve.settings import PREFIX, Settings
from relserve.text2sql.options import OPTIONS as QUESTION_OPTIONS


def page() -> str:
    """The whole page as Markdown."""
    parts = (functions(), options(), questions(), commands(), settings(), python_names())
    lines = ["# Reference", "", "This page is made from the code.", ""]
    return "\n".join([*lines, *(line for part in parts for line in part)]) + "\n"


def functions() -> Iterator[str]:
    """A section with the functions of SQL and the options that each takes."""
    yield from _head("Functions of SQL", "function", "kind", "options", "must be given")
    for name, spec in FUNCTIONS.items():
        kind = "aggregate" if spec.aggregate else "row"
        yield _row(f"`{name}`", kind, _codes(spec.options), _codes(spec.required))
    yield ""


def options() -> Iterator[str]:
    """A section with the options of the llm functions."""
    yield from _head("Options of the llm functions", "option", "type", "what it does")
    for name, spec in OPTIONS.items():
        yield _row(f"`{name}`", spec.sql_type, spec.help)
    yield ""


def questions() -> Iterator[str]:
    """A section with the options of text2sql."""
    yield from _head("Options of text2sql", "option", "type", "what it does")
    for name, spec in QUESTION_OPTIONS.items():
        yield _row(f"`{name.removesuffix('_s')}`", spec.sql_type, spec.help)
    yield ""


def commands() -> Iterator[str]:
    """A section with every command of the command line, its arguments and options."""
    yield from ("## Commands", "")
    for path, command in _commands_of(typer.main.get_command(app), "relserve"):
        summary = (command.help or "").partition("\n\n")[0]
        yield from (f"### {path}", "", " ".join(summary.split()), "")
        shown = [each for each in command.params if each.name != "help"]
        if shown:
            yield from _table("parameter", "default", "what it does")
            for each in shown:
                yield _row(_codes(each.opts), _default(each.default), getattr(each, "help", "") or "")
            yield ""


def settings() -> Iterator[str]:
    """A section with the variables of the environment."""
    yield from _head("Settings", "variable", "default", "what it does")
    for each in fields(Settings):
        default = None if each.default is MISSING else each.default
        yield _row(f"`{PREFIX}{each.name.upper()}`", _default(default), each.metadata["help"])
    yield ""


def python_names() -> Iterator[str]:
    """A section with what `import relserve` brings."""
    yield from ("## Python", "")
    for name in relserve.__all__:
        thing = getattr(relserve, name)
        text = inspect.cleandoc(thing.__doc__ or "")
        yield from (f"### relserve.{name}", "", "```text", f"{name}{_signature(thing)}", "", text, "```", "")


def _signature(thing: Any) -> str:
    if inspect.isclass(thing):
        return ""
    return re.sub(r"'", "", str(inspect.signature(thing)))


def _commands_of(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The commands below one, and those that do something by themselves, each with its words."""
    below = getattr(command, "commands", {})
    for name, each in below.items():
        yield from _commands_of(each, f"{path} {name}")
    if not below or (path != "relserve" and any(each.name != "help" for each in command.params)):
        yield path, command


def _head(title: str, *columns: str) -> Iterator[str]:
    yield from (f"## {title}", "")
    yield from _table(*columns)


def _table(*columns: str) -> Iterator[str]:
    yield _row(*columns)
    yield "|" + "---|" * len(columns)


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _codes(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _default(value: Any) -> str:
    is_plain = isinstance(value, (str, int, float, bool)) and value not in ("", False)
    return f"`{value}`" if is_plain else ""


if __name__ == "__main__":
    Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
