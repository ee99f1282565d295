"""The dot commands about how results are shown: .mode, .maxrows, .output, .pager and .timer."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from relserve.cli.formats import BYTES, Format
from relserve.cli.output import MAX_ROWS
from relserve.cli.shell.command import Command, switch
from relserve.cli.shell.display import PAGED_ROWS
from relserve.cli.shell.shell import Shell
from relserve.errors import UsageError

MODES = tuple(each.value for each in Format if each not in BYTES)


def mode(shell: Shell, arguments: list[str]) -> None:
    """Set the format of results, or say which it is."""
    if not arguments:
        shell.display.say(f"mode: {shell.display.mode} (there are {', '.join(MODES)})")
        return
    name = arguments[0].lower()
    if name not in MODES:
        near = get_close_matches(name, MODES, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no mode {name!r}; {meant}There are {', '.join(MODES)}")
    shell.display.mode = Format(name)


def max_rows(shell: Shell, arguments: list[str]) -> None:
    """Set how many rows of a table are shown, or say how many."""
    if not arguments:
        number = shell.display.max_rows
        default = f"{MAX_ROWS}, in a pager {PAGED_ROWS:,}"
        shell.display.say(f"maxrows: {default if number is None else f'{number:,}'}")
        return
    if not arguments[0].isdecimal() or not int(arguments[0]):
        raise UsageError(f".maxrows takes a whole number above 0, not {arguments[0]!r}")
    shell.display.max_rows = int(arguments[0])


def output(shell: Shell, arguments: list[str]) -> None:
    """Write results to a file from now on, or to the screen again."""
    shell.display.redirect(Path(arguments[0]).expanduser() if arguments else None)


def pager(shell: Shell, arguments: list[str]) -> None:
    """Set whether a pager shows what is longer than the screen, or say so."""
    if arguments:
        shell.display.pager = switch(".pager", arguments[0])
    else:
        shell.display.say(f"pager: {'on' if shell.display.pager else 'off'}")


def timer(shell: Shell, arguments: list[str]) -> None:
    """Set whether each statement's time is told, or say so."""
    if arguments:
        shell.display.timer = switch(".timer", arguments[0])
    else:
        shell.display.say(f"timer: {'on' if shell.display.timer else 'off'}")


COMMANDS = (
    Command(".mode", "[MODE]", f"format of results: {', '.join(MODES)}", mode),
    Command(".maxrows", "[N]", "rows of a table that are shown", max_rows),
    Command(".output", "[FILE]", "write results to a file; without FILE to the screen again", output),
    Command(".pager", "[on|off]", "show what is longer than the screen in a pager ($PAGER, or less)", pager),
    Command(".timer", "[on|off]", "tell how long each statement took", timer),
)
