"""Looks at a server from its admin's side: has anything been done that no plain user may do?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import psycopg

from benchmarks.hostile.house import MARKER, AttackedServer
from benchmarks.lock.names import DEFINED, TABLES, taken, wrong_ones

SECRETS = ("root:x:0", MARKER)  # what no answer may hold
_SETTINGS = "SELECT name, value FROM system.main.duckdb_settings()"
_EXTENSIONS = "SELECT system.main.count(*) FROM system.main.duckdb_functions() WHERE database_name = 'system'"
_DATABASES = "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal"
_SOUND = (
    ("SELECT sum(x)::INT, lower('A'), 'a' || 'b', [7][1] FROM (VALUES (1), (2)) v(x)", (3, "a", "ab", 7)),
    ("SELECT count(*) > 50 FROM pg_catalog.pg_class", (True,)),
    ("SELECT count(*) > 0 FROM information_schema.columns WHERE table_name = 't'", (True,)),
    ("SELECT llm('Say {}', 'x') IS NOT NULL", (True,)),
)
_MACROS = "DROP MACRO IF EXISTS asked CASCADE; DROP MACRO IF EXISTS twice CASCADE;"
_KINDS = ("VIEW", "TABLE", "FUNCTION", "TYPE", "SCHEMA")


class Trespass(NamedTuple):
    """What no plain user may have done.

    Attributes:
        name: of the thing that was made; empty: it has none.
    """

    name: str
    said: str


class Eye:
    """Compares a server with what it was when this was made.

    Args:
        house: gets the tables of `benchmarks.lock.names` and a file that nobody may read.
    """

    def __init__(self, house: AttackedServer) -> None:
        self._house = house
        for name in ("secret.txt", "secret.csv", "secret.json"):
            (house.folder / name).write_text(f"{MARKER}\n")
        with duckdb.connect() as plain:
            self._taken = taken(plain)
        with house.connect("root") as root:
            self._tidy(root)
            self._before = _state(root)
        self._files = self._listed()

    def found(self) -> list[Trespass]:
        """What has been done since the last look; what anybody made is gone afterwards."""
        with self._house.connect("root") as root:
            rows = root.execute(DEFINED).fetchall()
            found = [Trespass(wrong.name, wrong.said) for wrong in wrong_ones(rows, self._taken)]
            for name, before, now in zip(_STATES, self._before, _state(root), strict=True):
                if now != before:
                    found.append(Trespass("", f"{name}: {sorted(set(now) ^ set(before))}"))
            self._tidy(root)
        found += (Trespass("", f"file {name}") for name in sorted(self._listed() ^ self._files))
        found += map(_unsound, self._asked_by_another())
        return found

    def _asked_by_another(self) -> Iterator[tuple[str, object]]:
        """What another user's plain statements give that they should not."""
        with self._house.connect("ann") as con:
            for text, wanted in _SOUND:
                try:
                    row: object = con.execute(text.encode()).fetchone()
                except psycopg.Error as error:
                    row = str(error)
                if row != wanted:
                    yield text, row

    def _tidy(self, root: psycopg.Connection[Any]) -> None:
        """Have the tables as they are at first, and nothing else."""
        rows = root.execute(DEFINED).fetchall()
        for kind in _KINDS:
            for name in {row[1] for row in rows if row[0] == kind and row[1] != "main"}:
                quoted = '"' + name.replace('"', '""') + '"'
                whats = ("MACRO", "MACRO TABLE") if kind == "FUNCTION" else (kind,)
                for what in whats:
                    try:
                        root.execute(f"DROP {what} IF EXISTS {quoted} CASCADE".encode())
                    except psycopg.Error:
                        continue
        root.execute(f"{_MACROS} CREATE TABLE copied (a INT, b INT); {TABLES}".encode())

    def _listed(self) -> frozenset[str]:
        folder = self._house.folder
        paths = (path for path in folder.rglob("*") if path.is_file() and "cache" not in path.parts)
        return frozenset(
            f"{path.relative_to(folder)} {path.read_bytes() if 'secret' in path.name else ''!r}"
            for path in paths
            if ".tmp" not in str(path) and path.suffix != ".wal"
        )


_STATES = ("settings", "extensions", "databases")


def _state(root: psycopg.Connection[Any]) -> tuple[list[Any], ...]:
    return tuple(root.execute(each).fetchall() for each in (_SETTINGS, _EXTENSIONS, _DATABASES))


def _unsound(asked: tuple[str, object]) -> Trespass:
    text, row = asked
    return Trespass("", f"another user's {text} gave {row}")
