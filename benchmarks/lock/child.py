"""A process that runs texts on a DuckDB without any lock, and tells what they did.

It reads a line of JSON for each text, the list of its statements, and writes one, what they did that is not
a plain user's to do. A statement that fails ends its text.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.lock.names import DEFINED, TABLES, taken, wrong_ones
from benchmarks.lock.watched import WatchedFolder
from relserve.server.catalog import Catalog, attach_catalog
from relserve.server.users.refused import SETTINGS

LONGEST_S = 5.0  # of a text
_MODEL = "CREATE TEMP MACRO llm(prompt, a := NULL, model := NULL) AS prompt"
FORGED = 999  # the connection that a text names which calls a function of the server's
_SETTINGS = "SELECT name, value FROM system.main.duckdb_settings()"
_PLACES = "SELECT database_name FROM system.main.duckdb_databases()"
_KEPT = """
SELECT (SELECT count(*) FROM system.main.duckdb_secrets()),
    (SELECT count(*) FROM system.main.duckdb_extensions() WHERE loaded)
"""
_OWN = """
SELECT (SELECT system.main.count(*) FROM system.main.duckdb_functions() WHERE database_name = '_pg'),
    (SELECT system.main.count(*) FROM system.main.duckdb_tables() WHERE database_name = '_pg'),
    (SELECT system.main.bit_xor(system.main.hash(s)) FROM _pg.own.settings s)
"""
_DEFINES = re.compile(r"create|alter|drop", re.I)
# Letters without which no text sets, attaches or loads anything, or gets at `_pg`.
_SETS = re.compile(r"set|pragma|call|use|able|attach|detach|alter|database|secret|load|install|_pg|'g'", re.I)


class LockRunner:
    """One DuckDB, in a folder with files that nobody may touch."""

    def __init__(self, folder: Path) -> None:
        self._watched = WatchedFolder(folder)
        self._called: list[str] = []
        self._open()

    def run(self, statements: Sequence[str]) -> tuple[int, list[str]]:
        """How many statements of a text ran, and what they did that is not a plain user's to do."""
        con = self._con.cursor()
        con.execute(f"USE shop; {_MODEL}")
        self._watched.events()
        alarm = threading.Timer(LONGEST_S, con.interrupt)
        alarm.start()
        num_run = 0
        with suppress(Exception):  # DuckDB's errors, and those of functions that it calls
            for each in statements:
                con.execute(each).fetchmany(100)
                num_run += 1
        alarm.cancel()
        whole = " ".join(statements)
        defines, sets = (each.search(whole) is not None for each in (_DEFINES, _SETS))
        found = sorted(set(self._found(con, defines, sets)))
        con.close()
        self._tidy(defines, found)
        return num_run, found

    def _open(self) -> None:
        self._con = duckdb.connect(
            ":memory:",
            config={"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False},
        )
        self._taken = taken(self._con)
        self._con.create_function("__llm_1", self._own, ["VARCHAR"], "VARCHAR")  # type: ignore[list-item,arg-type]
        attach_catalog(self._con)
        self._catalog = Catalog(self._con, lambda: pa.table({}), self._signal)
        self._con.execute("SET enable_progress_bar = false")
        self._make_shop()
        self._settings, self._kept = dict(self._rows(_SETTINGS)), self._rows(_KEPT)
        self._places, self._pg = self._rows(_PLACES), self._rows(_OWN)

    def _make_shop(self) -> None:
        self._con.execute("ATTACH ':memory:' AS shop")
        with self._con.cursor() as con:
            con.execute(f"USE shop; {TABLES}")

    def _tidy(self, defines: bool, found: Sequence[str]) -> None:
        """Have everything as it was for the next text."""
        if any(each.startswith("file") for each in found):
            self._watched.restore()
        if found and not self._undone():
            self._con.close()
            self._open()
        elif defines:
            self._con.execute("DETACH shop")
            self._make_shop()
        else:
            self._con.execute("TRUNCATE shop.main.u")
        self._called.clear()

    def _undone(self) -> bool:
        """Whether everything is as it was, or could be made so."""
        for name, value in self._rows(_SETTINGS):
            if self._settings[name] != value:
                self._try(f"RESET GLOBAL {name}")
        for place in self._rows(_PLACES):
            if place not in self._places:
                self._try(f"DETACH {place[0]}")
        now = dict(self._rows(_SETTINGS)), self._rows(_KEPT), self._rows(_PLACES), self._rows(_OWN)
        return now == (self._settings, self._kept, self._places, self._pg)

    def _try(self, text: str) -> None:
        with suppress(duckdb.Error):
            self._con.execute(text)

    def _found(self, con: duckdb.DuckDBPyConnection, defines: bool, sets: bool) -> Iterator[str]:
        yield from (f"file {name}" for name in self._watched.events())
        yield from self._called
        if defines:
            with suppress(duckdb.Error):
                con.execute("ROLLBACK")
            yield from self._defined()
        if sets:
            yield from self._changed(con)

    def _changed(self, con: duckdb.DuckDBPyConnection) -> Iterator[str]:
        """What is not as it was of the instance."""
        yield from _settings_changed(con, self._settings, SETTINGS)
        yield from _settings_changed(self._con, self._settings, ())
        if self._rows(_PLACES) != self._places:
            yield "databases"
        if self._rows(_KEPT) != self._kept:
            yield "secrets or extensions"
        if self._rows(_OWN) != self._pg:
            yield "_pg changed"

    def _defined(self) -> Iterator[str]:
        yield from (each.said for each in wrong_ones(self._con.execute(DEFINED).fetchall(), self._taken))

    def _rows(self, asked: str) -> list[Any]:
        return self._con.execute(asked).fetchall()

    def _own(self, text: str) -> str:
        self._called.append("a function of the server's")
        return text

    def _signal(self, connection: int, pid: int, kind: str) -> bool:
        if connection == FORGED:
            self._own(kind)
        return False


def _settings_changed(
    con: duckdb.DuckDBPyConnection, before: dict[str, str], allowed: Sequence[str] | frozenset[str]
) -> Iterator[str]:
    """Settings of a connection that are not as they were; where it looks up names, only for `_pg`."""
    with suppress(duckdb.Error):
        con.execute("ROLLBACK")
    try:
        now = dict(con.execute(_SETTINGS).fetchall())
    except duckdb.Error as error:  # its database is gone
        yield f"no settings: {type(error).__name__}"
        return
    yield from (f"setting {name}" for name, value in now.items() if _differs(name, value, before, allowed))


def _differs(name: str, value: str, before: dict[str, str], allowed: Sequence[str] | frozenset[str]) -> bool:
    if name in ("schema", "search_path"):
        return "_pg" in str(value)
    return before.get(name) != value and name.lower() not in allowed


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a profile or a plan is printed there
    os.dup2(1, 2)
    folder = Path(sys.argv[1])
    os.chdir(folder)
    runner = LockRunner(folder)
    for line in sys.stdin:
        num_run, found = runner.run(json.loads(line))
        answers.write(json.dumps([num_run, found]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
