"""Runs what a reader gives: statements by the shell, dot commands by their own; scripts line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from rich.table import Table

from relserve.cli.shell import data_commands, screen_commands
from relserve.cli.shell.command import Command, find, words_of
from relserve.cli.shell.reader import Reader, ShellPiece
from relserve.cli.shell.shell import Leave, Shell
from relserve.cli.sql import not_utf8
from relserve.errors import UsageError

DEEPEST = 25  # scripts that read scripts
_KEYS = """
A statement may take several lines, and ends with ;
Tab        completes names, keywords, options of llm functions, and files
Ctrl-C     empties the line, or cancels the query that runs
Ctrl-D     leaves; so does Ctrl-C twice at an empty prompt
Ctrl-R     searches the history; the right arrow takes what is proposed in grey
Alt-Enter  breaks the line"""


def run_piece(shell: Shell, piece: ShellPiece) -> None:
    """Run one statement or dot command.

    Raises:
        Leave: the dot command asks for it.
        duckdb.Error, RelserveError: it failed.
    """
    if not piece.is_command:
        shell.run(piece.text)
        return
    name, *arguments = words_of(piece.text)
    command = find(_ALIASES.get(name, name), COMMANDS)
    command.run(shell, command.checked(arguments))


def run_lines(shell: Shell, lines: Iterable[str], name: str) -> None:
    """Run a script up to its first error, which gets a note that says where in `name` it arose."""
    reader = Reader()
    for piece in _pieces(reader, lines):
        try:
            run_piece(shell, piece)
        except Exception as error:
            if not isinstance(error, Leave):
                error.add_note(f"in {name}, line {piece.line}")
            raise


def lines_of(stream: BinaryIO, name: str) -> Iterator[str]:
    """The lines of a stream as they come.

    Raises:
        UsageError: they are not UTF-8.
    """
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(name, error, number) from error


def _pieces(reader: Reader, lines: Iterable[str]) -> Iterator[ShellPiece]:
    for line in lines:
        yield from reader.feed(line)
    if (rest := reader.rest()) is not None:
        yield rest


def _read(shell: Shell, arguments: list[str]) -> None:
    path = Path(arguments[0]).expanduser()
    if shell.depth >= DEEPEST:
        raise UsageError(f"{path} is not read: {DEEPEST} scripts read one another already")
    try:
        stream = path.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    shell.depth += 1
    try:
        with stream:
            run_lines(shell, lines_of(stream, str(path)), str(path))
    finally:
        shell.depth -= 1


def _help(shell: Shell, arguments: list[str]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    shown = [find("." + arguments[0].removeprefix("."), COMMANDS)] if arguments else COMMANDS.values()
    for command in shown:
        table.add_row(f"{command.name} {command.usage}", command.help)
    shell.display.say(table)
    if not arguments and shell.is_interactive:
        shell.display.say(_KEYS)


def _leave(shell: Shell, arguments: list[str]) -> None:
    raise Leave


COMMANDS: Mapping[str, Command] = {
    command.name: command
    for command in (
        *data_commands.COMMANDS,
        *screen_commands.COMMANDS,
        Command(".read", "FILE", "run the statements and dot commands of a file", _read),
        Command(".help", "[COMMAND]", "these lines", _help),
        Command(".quit", "", "leave; so do .exit, .q and Ctrl-D", _leave),
    )
}
_ALIASES = {".exit": ".quit", ".q": ".quit"}
