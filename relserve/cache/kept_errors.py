"""The failed prompts of the latest commands, in a SQLite file beside the answers, for commands that follow.

Prompts and replies are users' texts: they are kept only where that is asked for.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from relserve.cache.small_file import SmallFile
from relserve.errors import FailureKind

FILE_NAME = "errors.sqlite3"
MOST_COMMANDS = 10  # whose failures are kept, the latest
MOST_PROMPTS = 1000  # of one command
WAIT_S = 2.0  # for other processes' locks

_TABLES = """
DROP TABLE IF EXISTS commands;
DROP TABLE IF EXISTS errors;
CREATE TABLE commands (id INTEGER PRIMARY KEY AUTOINCREMENT, ended REAL NOT NULL);
CREATE TABLE errors (
    command INTEGER NOT NULL, rel_id TEXT NOT NULL, function TEXT NOT NULL, kind TEXT NOT NULL,
    message TEXT NOT NULL, prompt TEXT, rows INTEGER NOT NULL, at REAL NOT NULL
);
"""
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\"""")
# Whose messages are relserve's own but for what they quote; an engine's or a server's may hold any text.
_OWN_WORDS = (
    FailureKind.OVER_CONTEXT,
    FailureKind.UNPARSABLE,
    FailureKind.LOW_CONFIDENCE,
    FailureKind.DEADLINE,
    FailureKind.IN_BATCH,
)


class KeptError(NamedTuple):
    """A failed prompt, and how many table rows are NULL for it.

    Attributes:
        command: 0 for the latest command that had failures, -1 for the one before, and so on.
        prompt: None where texts are not kept.
        at: Unix time.
    """

    rel_id: str
    function: str
    kind: FailureKind
    message: str
    prompt: str | None
    rows: int
    at: float
    command: int = 0


def without_texts(error: KeptError) -> KeptError:
    """The same without the prompt, and without what a message may hold of it or of the reply."""
    if error.kind in _OWN_WORDS:
        message = _QUOTED.sub("'..'", error.message)
    else:
        message = f"{error.kind.replace('_', ' ')} (the message is not kept, for it may quote texts)"
    return error._replace(prompt=None, message=message)


def keep_errors(folder: Path, errors: Sequence[KeptError], texts: bool = False) -> None:
    """Keep the failures of a command that ends; those of old commands go.

    Args:
        folder: of the answers; made if it is not there.
        texts: keep prompts and messages as they are.

    Raises:
        sqlite3.Error, OSError: the file cannot be written.
    """
    kept = errors[:MOST_PROMPTS] if texts else map(without_texts, errors[:MOST_PROMPTS])
    with _file(folder).writing() as db:
        now = datetime.now(timezone.utc).timestamp()
        command = db.execute("INSERT INTO commands (ended) VALUES (?)", (now,)).lastrowid
        db.executemany("INSERT INTO errors VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _rows(command, kept))
        for table, column in (("commands", "id"), ("errors", "command")):
            oldest = "(SELECT max(id) - ? FROM commands)"
            db.execute(f"DELETE FROM {table} WHERE {column} <= {oldest}", (MOST_COMMANDS,))


def read_errors(folder: Path) -> list[KeptError]:
    """What is kept, the latest command's first; nothing where there is none, or where it cannot be read."""
    query = (
        "SELECT rel_id, function, kind, message, prompt, rows, at, "
        "command - (SELECT max(id) FROM commands) FROM errors ORDER BY command DESC, rowid"
    )
    try:
        rows = _file(folder).read(query)
    except (sqlite3.Error, OSError):
        return []
    known = set(FailureKind)
    found = [row for row in rows if row[2] in known]
    return [KeptError(row[0], row[1], FailureKind(row[2]), *row[3:]) for row in found]


def _file(folder: Path) -> SmallFile:
    return SmallFile(folder / FILE_NAME, _TABLES, WAIT_S)


def _rows(command: int | None, errors: Iterable[KeptError]) -> list[tuple[object, ...]]:
    return [
        (command, e.rel_id, e.function, str(e.kind), _sound(e.message), _sound(e.prompt), e.rows, e.at)
        for e in errors
    ]


def _sound(text: str | None) -> str | None:
    """The text without lone surrogates, which SQLite does not take."""
    return text and text.encode("utf-8", "replace").decode()
