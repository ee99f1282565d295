"""The loop of a shell on a terminal: ask, run, show; errors and Ctrl-C lead back to the prompt."""

from __future__ import annotations

import sys

import duckdb

import relserve
from relserve.cli.interrupted import STOPPED
from relserve.cli.shell.editor import Editor, Emptied
from relserve.cli.shell.faults import tell
from relserve.cli.shell.interpreter import run_piece
from relserve.cli.shell.reader import pieces
from relserve.cli.shell.shell import Leave, Shell
from relserve.settings import load

HINT = "A statement ends with ;  Tab completes, .help explains, Ctrl-D leaves."
AGAIN = "Ctrl-C once more, or Ctrl-D, leaves the shell."


def run(shell: Shell, model: str | None) -> None:
    """Talk until the user leaves."""
    settings = load()
    editor = Editor(shell, settings.cache_dir)
    versions = f"relserve {relserve.__version__} on DuckDB {duckdb.__version__}"
    where = str(shell.database) if shell.database else "a database in memory"
    shell.display.say(f"{versions}, {where}, model {model or settings.model}\n{HINT}")
    was_told = False
    while True:
        try:
            text = editor.ask()
        except Emptied as pressed:
            if pressed.was_empty and was_told:
                return
            was_told = pressed.was_empty
            if was_told:
                sys.stderr.write(AGAIN + "\n")
            continue
        except EOFError:
            return
        was_told = False
        if not _run(shell, text):
            return


def _run(shell: Shell, text: str) -> bool:
    """Run what was typed, up to its first error; whether to go on."""
    try:
        for piece in pieces(text):
            run_piece(shell, piece)
    except Leave:
        return False
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, STOPPED):
            sys.stderr.write("\rcancelled\n")  # over the terminal's ^C
        else:
            tell(error)
    return True
