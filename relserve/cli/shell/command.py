"""What a dot command is: its name, its arguments, its help, and what it does."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from relserve.cli.shell.shell import Shell
from relserve.errors import UsageError


class Command(NamedTuple):
    """A dot command.

    Attributes:
        name: with its dot.
        usage: its arguments, those that may be left out in brackets; what they complete to goes by these
            words (FILE, TABLE, MODE, COMMAND, on|off).
        help: one line.
        run: does it; it gets as many arguments as the usage allows.
    """

    name: str
    usage: str
    help: str
    run: Callable[[Shell, list[str]], None]

    def checked(self, arguments: list[str]) -> list[str]:
        """The arguments.

        Raises:
            UsageError: there are too few or too many.
        """
        words = self.usage.split()
        least = sum(not word.startswith("[") for word in words)
        if not least <= len(arguments) <= len(words):
            raise UsageError(f"usage: {self.name} {self.usage}".rstrip())
        return arguments


def words_of(line: str) -> list[str]:
    """A dot command's name and arguments; quotes hold an argument with spaces together.

    Raises:
        UsageError: a quote that is not closed.
    """
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{line}: {str(error).lower()}; close it, or put a \\ before it") from error


def find(name: str, commands: Mapping[str, Command]) -> Command:
    """A command by its name, or by the beginning of no other one's.

    Raises:
        UsageError: there is no such command, or several.
    """
    name = name.lower()
    if name in commands:
        return commands[name]
    begun = [each for each in commands if each.startswith(name) and name != "."]
    if len(begun) == 1:
        return commands[begun[0]]
    if begun:
        raise UsageError(f"{name} may be {_listed(begun)}")
    near = get_close_matches(name, commands, 1, cutoff=0.5)
    meant = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"there is no command {name}; {meant}.help lists all")


def switch(command: str, text: str) -> bool:
    """What on and off mean.

    Raises:
        UsageError: it is neither.
    """
    if text.lower() not in ("on", "off"):
        raise UsageError(f"{command} takes on or off, not {text!r}")
    return text.lower() == "on"


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}"
