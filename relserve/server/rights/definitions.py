"""What CREATE, ALTER, DROP and COMMENT define, change and remove, read from their words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from relserve.errors import ForbiddenError
from relserve.server.rights.needs import Path
from relserve.server.users.long_texts import LONG, statements_of_long
from relserve.server.users.words import Word, words
from relserve.text2sql.guard.names import folded

_KINDS = {
    "table": "table", "view": "table", "macro": "macro", "function": "macro", "sequence": "sequence",
    "type": "type", "schema": "schema", "index": "index", "trigger": "trigger",
}  # fmt: skip
LONGEST_TARGET = 2000  # characters of a long text in which the table stands that it changes
_QUOTED = re.compile(r'"((?:[^"]++|"")*+)"')
_BARE = re.compile(r"[\w$]++")


class Definition(NamedTuple):
    """A statement that defines something.

    Attributes:
        verb: create, alter, drop or comment.
        kind: see `policy.Thing`, or index or trigger; None: this could not tell.
        names: what is made, changed or removed.
        on: the tables of an index, a trigger or a foreign key, and what a sequence is tied to.
        renamed: the last part of the name that ALTER .. RENAME TO gives.
    """

    verb: str
    kind: str | None
    names: Sequence[Path]
    on: Sequence[Path] = ()
    is_temporary: bool = False
    renamed: str | None = None


def check_name(word: Word) -> Word:
    """A name that rights depend on, which DuckDB takes as a string, too: DROP TABLE 'orders'.

    Raises:
        ForbiddenError: it is none but a string.
    """
    if not word.is_name:
        raise ForbiddenError("write names without quotes or in double quotes, and not as strings")
    return word


class _Reader:
    def __init__(self, text: str) -> None:
        self._data, self.words = text.encode(), words(text)

    def plain(self, place: int) -> str:
        return self.words[place].plain if place < len(self.words) else ""

    def are(self, place: int, *names: str) -> bool:
        return all(self.plain(place + n) == name for n, name in enumerate(names))

    def exact(self, word: Word) -> str:
        """A name as it is written; `Word` has it in small letters, those of no ASCII too."""
        here = self._data[word.start :].decode(errors="replace")
        if quoted := _QUOTED.match(here):
            return quoted[1].replace('""', '"')
        bare = _BARE.match(here)
        return bare[0] if bare else here[:1]

    def path(self, place: int) -> tuple[Path, int]:
        """A name in its parts, and where it ends."""
        if place >= len(self.words):
            return ("",), place
        parts = [self.exact(check_name(self.words[place]))]
        place += 1
        while self.plain(place) == "." and place + 1 < len(self.words):
            parts.append(self.exact(check_name(self.words[place + 1])))
            place += 2
        return tuple(parts), place

    def paths(self, place: int) -> list[Path]:
        path, place = self.path(place)
        found = [path]
        while self.plain(place) == ",":
            path, place = self.path(place + 1)
            found.append(path)
        return found

    def behind_exists(self, place: int) -> int:
        place += 3 if self.are(place, "if", "not", "exists") else 0
        return place + (2 if self.are(place, "if", "exists") else 0)


def read_definition(text: str) -> Definition:
    """What a CREATE, ALTER, DROP or COMMENT does."""
    at = _Reader(text)
    verb = at.plain(0)
    place = next((n for n, word in enumerate(at.words[1:8], 1) if word.plain in (*_KINDS, "column")), None)
    if place is None:
        return Definition(verb, None, ())
    written = at.plain(place)
    if verb == "comment" and written == "column":
        return Definition(verb, "table", [at.path(place + 1)[0][:-1]])
    kind = _KINDS.get(written)
    start = at.behind_exists(place + 1)
    start += kind == "macro" and at.plain(start) == "table"  # DROP MACRO TABLE
    if verb == "drop":
        names = at.paths(start)
        on = [at.path(n + 1)[0] for n in range(start, len(at.words)) if at.plain(n) == "on"]
        return Definition(verb, kind, names, on if kind == "trigger" else ())
    name, end = at.path(start)
    if verb != "create":
        is_renamed = at.are(end, "rename", "to")
        renamed = folded(at.path(end + 2)[0][-1]) if is_renamed else None
        is_tied = kind == "sequence" and at.are(end, "owned", "by") and at.plain(end + 2) != "none"
        return Definition(verb, kind, [name], [at.path(end + 2)[0]] if is_tied else (), renamed=renamed)
    is_temporary = any(at.plain(n) in ("temp", "temporary") for n in range(1, place))
    on = _on(at, kind, start)
    return Definition(verb, kind, [name], on, is_temporary)


def _on(at: _Reader, kind: str | None, start: int) -> list[Path]:
    """The tables that an index or a trigger is on, or that a foreign key is to."""
    wanted = {"index": "on", "trigger": "on", "table": "references"}.get(kind or "")
    found = [at.path(n + 1)[0] for n in range(start, len(at.words)) if wanted and at.plain(n) == wanted]
    return found if kind == "table" else found[:1]


def target_of(text: str) -> Path:
    """The table that an INSERT, UPDATE, DELETE, TRUNCATE, MERGE or COPY changes; no parts: not to be told."""
    if len(text) > LONG:  # DuckDB's tokenizer would hold up all clients
        (text,) = statements_of_long(text)
        text = text[:LONGEST_TARGET]
    at = _Reader(text)
    place = 1
    if at.plain(0) == "insert":
        place += 2 if at.plain(1) == "or" else 0
    leads = {"insert": "into", "merge": "into", "delete": "from"}
    lead = leads.get(at.plain(0))
    if lead is None and at.plain(0) not in ("update", "truncate", "copy"):
        return ()
    if lead is not None and at.plain(place) != lead:
        return ()
    place += lead is not None or at.plain(place) == "table"
    if at.plain(place) == "(":  # COPY of a query's rows
        return ("",)
    return at.path(place)[0]
