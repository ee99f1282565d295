"""Which texts may call an llm function: by name, or through a view, macro or prepared statement over one."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection

import duckdb

from relserve_duckdb.text.call_limits import ASKING_TABLES
from relserve_duckdb.text.lexical import LEAD, NAME
from relserve_duckdb.text.question_calls import TEXT2SQL

_VIEWS = "SELECT view_name, sql FROM system.main.duckdb_views() WHERE NOT internal"
_MACROS = (
    "SELECT function_name, system.main.concat(CAST(parameters AS VARCHAR), macro_definition) "
    "FROM system.main.duckdb_functions() WHERE macro_definition IS NOT NULL AND NOT internal "
    "AND NOT system.main.starts_with(function_name, 'llm')"
)
_WORD = re.compile(r"\w+")
FEW = 20  # names that are looked for one by one
_ASKING = re.compile(rf"\b(?:{'|'.join(ASKING_TABLES)})(?=\"?\s*+\()")
_PREPARE = re.compile(LEAD + rf"prepare\s++({NAME}|\w++)(.*)")
_DEALLOCATE = re.compile(LEAD + rf"deallocate\s++(?:prepare\s++)?+({NAME}|\w++)")
_CREATE = r"create\s++(?:or\s++replace\s++)?+(?:temp(?:orary)?+\s++)?+"
_CHANGES = re.compile(LEAD + rf"(?:{_CREATE}(view|macro|function)|prepare|deallocate|attach)\b")


class IndirectCalls:
    """Knows the views, macros and prepared statements that call for a connection and its cursors.

    Views and macros made on DuckDB's own connection stay unknown until the next CREATE of their kind or
    ATTACH here: their calls are answered all the same, but without prefetch.

    Args:
        is_new: the database has none of them yet.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, is_new: bool = False) -> None:
        # all are replaced, never changed: cursors read them in their threads
        self._calling: dict[str, str] = {}  # definitions that may call, by name
        self._views: dict[str, str] = {}  # of every view
        self._macros: dict[str, str] = {}  # and macro
        self._prepared: dict[str, str] = {}  # prepared statements that may call
        self._learning = threading.Lock()
        if not is_new:
            self._learn(con, has_macros=True)

    @property
    def _callers(self) -> dict[str, str]:
        """What may call, by name."""
        prepared = self._prepared
        return {**self._calling, **prepared} if prepared else self._calling

    def mentions(self, text: str) -> bool:
        """Whether the text may make an llm call."""
        lower = text.lower()
        return "llm" in lower or TEXT2SQL in lower or bool(names_in(lower, self._callers))

    def calling_definitions(self, text: str) -> str:
        """The definitions of the views and macros that the text reaches and that call; "" for none.

        Of our own table macros that call, the names.
        """
        return "\n".join([*_reached(text, self._callers), *_ASKING.findall(text.lower())])

    def with_definitions(self, text: str) -> str:
        """The text, and the definitions of all views and macros that it reaches, whether they call or not."""
        known = {**self._views, **self._macros, **self._callers}
        return "\n".join([text, *_reached(text, known)])

    def macro_definitions(self, text: str) -> str:
        """The definitions of all macros that the text reaches, whether they call or not; "" for none."""
        return "\n".join(_reached(text, self._macros))

    def is_changed_by(self, text: str) -> bool:
        """Whether running the text may have made such a name."""
        return _CHANGES.match(text) is not None

    def learn(self, con: duckdb.DuckDBPyConnection, text: str) -> None:
        """Learn what a text that has just run made; its result stays to be read."""
        if match := _PREPARE.match(text) or _DEALLOCATE.match(text):
            self._learn_prepared(_unquoted(match[1]), match[2] if match.re is _PREPARE else "")
        elif match := _CHANGES.match(text):
            self._learn(con, has_macros=(match[1] or "").lower() != "view")

    def _learn_prepared(self, name: str, body: str) -> None:
        """A prepared statement has this body now; "" for none. A view or macro of its name stays known."""
        with self._learning:
            left = {each: sql for each, sql in self._prepared.items() if each != name}
            self._prepared = {**left, name: body} if self.mentions(body) else left

    def _learn(self, con: duckdb.DuckDBPyConnection, has_macros: bool) -> None:
        """Read the views, and the macros, which takes DuckDB ten times as long."""
        with self._learning:
            try:
                self._views = _read(con, _VIEWS)
                self._macros = _read(con, _MACROS) if has_macros else self._macros
            except duckdb.Error:
                return  # inside an aborted transaction nothing can be asked
            found = {**self._views, **self._macros}
            num_known = -1
            while num_known != len(self._calling):  # views over views
                num_known = len(self._calling)
                calling = {name: sql for name, sql in found.items() if self.mentions(sql)}
                self._calling = {**self._calling, **calling}


def _read(con: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    """Definitions by name; in several schemas, and with several lists of parameters, a name has several."""
    found: dict[str, str] = {}
    for name, sql in con.sql(query).fetchall():
        before = found.get(name.lower())
        found[name.lower()] = sql or "" if before is None else f"{before}\n{sql or ''}"
    return found


def _reached(text: str, definitions: dict[str, str]) -> list[str]:
    """The definitions whose names stand in a text, or in one that it reaches; always in the same order."""
    left, parts = dict(definitions), [text]
    for part in parts:
        parts += [left.pop(name) for name in sorted(names_in(part.lower(), left))]
    return parts[1:]


def _unquoted(name: str) -> str:
    """A name as DuckDB looks it up."""
    return (name[1:-1].replace('""', '"') if name.startswith('"') else name).lower()


def names_in(text: str, names: Collection[str]) -> list[str]:
    """Those of some names, mostly plain words, that stand in a text, which is read once for all."""
    if len(names) <= FEW:
        names = [name for name in names if name in text]  # much quicker than its words, and mostly enough
    if not names:
        return []
    words = {found[0] for found in _WORD.finditer(text)}
    return [name for name in names if name in words or (not name.isidentifier() and is_word(name, text))]


def is_word(name: str, text: str) -> bool:
    """Whether the name stands in the text, not as a part of a longer one."""
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
