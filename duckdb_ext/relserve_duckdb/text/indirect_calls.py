"""Which texts may call an llm function: by name, or through a view, macro or prepared statement over one."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable
from weakref import WeakKeyDictionary

import duckdb
from sqlglot.errors import SqlglotError

from relserve_duckdb.text.call_limits import ASKING_TABLES
from relserve_duckdb.text.lexical import BARE, BLANKS, DOLLARS, LEAD, NAME, STRING
from relserve_duckdb.text.question_calls import TEXT2SQL
from relserve_duckdb.text.tokens import function_names, tokens_of

_VIEWS = "SELECT view_name, sql FROM system.main.duckdb_views() WHERE NOT internal ORDER BY ALL"
USERS = "NOT internal AND database_name <> '_pg'"  # and not of PostgreSQL's catalog in a server
_MACROS = (
    "SELECT function_name, system.main.concat(CAST(parameters AS VARCHAR), macro_definition) "
    f"FROM system.main.duckdb_functions() WHERE macro_definition IS NOT NULL AND {USERS} "
    "AND function_name NOT IN ({}) ORDER BY ALL"
)
_WORD = re.compile(r"\w+")
FEW = 20  # names that are looked for one by one
MOST_CHARS = 1 << 20  # of a text, in which statements behind the first are looked for; longer ones are data
_ASKING = re.compile(rf"\b(?:{'|'.join(ASKING_TABLES)})(?=\"?\s*+\()")
_NAME = rf"(?P<name>{NAME}|{STRING}|{DOLLARS}|{BARE})"
_EXPLAIN = rf"(?:explain{BLANKS}(?:analyze\b|\([^)]*+\)){BLANKS})?+"  # ANALYZE runs what it explains
_PREPARE = re.compile(LEAD + rf"{_EXPLAIN}prepare{BLANKS}{_NAME}(?P<body>.*)")
_DEALLOCATE = re.compile(LEAD + rf"{_EXPLAIN}deallocate{BLANKS}(?:prepare\b{BLANKS})?+{_NAME}")
_OR_REPLACE = rf"(?:or{BLANKS}replace{BLANKS})?+"
_CREATE = rf"create{BLANKS}{_OR_REPLACE}(?:temp(?:orary)?+{BLANKS})?+(?:recursive{BLANKS})?+"
_PART = rf"(?:{NAME}|{STRING}|{BARE})"
_PARTS = rf"{_PART}(?:{BLANKS}\.{BLANKS}{_PART})*+"
_RENAME = rf"alter{BLANKS}table{BLANKS}(?:if{BLANKS}exists{BLANKS})?+{_PARTS}{BLANKS}rename{BLANKS}to"
_CHANGE = (
    rf"(?:{_CREATE}(view|macro|function)|alter{BLANKS}view|{_RENAME}"
    rf"|prepare|deallocate|attach|import{BLANKS}database|copy{BLANKS}from{BLANKS}database)\b"
)
_CHANGES, _CHANGES_LATER = re.compile(LEAD + _EXPLAIN + _CHANGE), re.compile(rf"(?i)\b{_CHANGE}")


class IndirectCalls:
    """Knows the views, macros and prepared statements that call for a connection and its cursors.

    Views and macros made on DuckDB's own connection stay unknown until the next CREATE of their kind or
    ATTACH here: their calls are answered all the same, but without prefetch.

    Args:
        is_new: the database has none of them yet.
        own: names of the macros that make the llm functions.

    Names are kept as they stand in a text, in small letters and with each quote twice.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, is_new: bool = False, own: Collection[str] = ()
    ) -> None:
        self._all_macros = _MACROS.format(", ".join(f"'{name}'" for name in sorted({*own, "llm"})))
        # all are replaced, never changed: cursors read them in their threads
        self._calling: dict[str, str] = {}  # definitions that may call, by name
        self._callers = self._calling  # the same with prepared statements
        self._views: dict[str, str] = {}  # of every view
        self._macros: dict[str, str] = {}  # and macro
        # of prepared statements, by connection and name: the text, and whether it may call
        self._prepared: WeakKeyDictionary[duckdb.DuckDBPyConnection, dict[str, tuple[str, bool]]] = (
            WeakKeyDictionary()
        )
        self._learning = threading.Lock()
        if not is_new:
            self._learn(con, has_macros=True)

    def mentions(self, text: str) -> bool:
        """Whether the text may make an llm call."""
        return _mentions(text, self._callers)

    def calling_definitions(self, text: str) -> str:
        """The definitions of the views and macros that the text reaches and that call; "" for none.

        Of our own table macros that call, the names.
        """
        return "\n".join([*_reached(text, self._callers), *_ASKING.findall(text.lower())])

    def with_definitions(self, text: str) -> str:
        """The text, and the definitions of all views and macros that it reaches, whether they call or not."""
        known = {**_joined([*self._views.items(), *self._macros.items()]), **self._callers}
        return "\n".join([text, *_reached(text, known)])

    def calling_macros(self, con: duckdb.DuckDBPyConnection) -> list[str]:
        """Names of the macros that a connection sees and that may call, in small letters."""
        try:
            macros = _read(con, self._all_macros)
        except duckdb.Error:
            return []  # inside an aborted transaction, where nothing is made
        return [name.replace('""', '"') for name, sql in macros.items() if _mentions(sql, self._calling)]

    def macro_definitions(self, con: duckdb.DuckDBPyConnection, text: str) -> str:
        """The definitions of macros that the text or one of them calls, whoever made them; "" for none."""
        return "\n".join(_reached(text, _read(con, self._all_macros), called_in))

    def is_changed_by(self, con: duckdb.DuckDBPyConnection, text: str) -> bool:
        """Whether running the text may make such a name; of several statements any may."""
        if _CHANGES.match(text):
            return True
        end = text.find(";", 0, MOST_CHARS)
        if not (0 <= end < len(text) - 1 and _CHANGES_LATER.search(text, end, MOST_CHARS)):
            return False
        try:  # the words may stand in data
            return any(_CHANGES.match(each.query) for each in con.extract_statements(text))
        except (duckdb.Error, UnicodeError):
            return True  # running it will say what is wrong

    def learn(self, con: duckdb.DuckDBPyConnection, text: str) -> None:
        """Learn what a statement that has just run made; its result stays to be read."""
        if match := _PREPARE.match(text) or _DEALLOCATE.match(text):
            self._learn_prepared(con, _inside(match["name"]), match["body"] if match.re is _PREPARE else "")
        elif match := _CHANGES.match(text):
            self._learn(con, has_macros=(match[1] or "").lower() != "view")

    def learn_views(self, con: duckdb.DuckDBPyConnection) -> None:
        """Learn the views anew: one was made without a text."""
        self._learn(con, has_macros=False)

    def forget(self, con: duckdb.DuckDBPyConnection) -> None:
        """A connection is closed, and with it go its prepared statements."""
        with self._learning:
            if self._prepared.pop(con, None):
                self._find_callers()

    def _learn_prepared(self, con: duckdb.DuckDBPyConnection, name: str, body: str) -> None:
        """A prepared statement has this body now; "" for none. A view or macro of its name stays known."""
        with self._learning:
            own = self._prepared.setdefault(con, {})
            _, did_call = own.pop(name, ("", False))
            may_call = _mentions(body, self._calling)
            if body:
                own[name] = body, may_call
            if may_call or did_call:
                self._find_callers()

    def _find_callers(self) -> None:
        """Put together what may call, by name."""
        statements = [each for own in self._prepared.values() for each in own.items()]
        prepared = [(name, body) for name, (body, may_call) in statements if may_call]
        calling = self._calling
        self._callers = _joined([*calling.items(), *prepared]) if prepared else calling

    def _learn(self, con: duckdb.DuckDBPyConnection, has_macros: bool) -> None:
        """Read the views, and the macros, which takes DuckDB ten times as long."""
        with self._learning:
            try:
                self._views = _read(con, _VIEWS)
                self._macros = _read(con, self._all_macros) if has_macros else self._macros
            except duckdb.Error:
                return  # inside an aborted transaction nothing can be asked
            found, calling = _joined([*self._views.items(), *self._macros.items()]), self._calling
            while more := {
                name: sql for name, sql in found.items()
                if calling.get(name) != sql and _mentions(sql, calling)
            }:  # fmt: skip
                calling = {**calling, **more}  # views over views
            if calling is not self._calling:
                self._calling = calling
                for own in self._prepared.values():
                    for name, (body, may_call) in own.items():
                        own[name] = body, may_call or _mentions(body, calling)
                self._find_callers()


def _mentions(text: str, callers: Collection[str]) -> bool:
    lower = text.lower()
    return "llm" in lower or TEXT2SQL in lower or bool(names_in(lower, callers))


def _read(con: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    """Definitions by name; in several schemas, and with several lists of parameters, a name has several.

    Of a view that EXPLAIN ANALYZE has made DuckDB tells none, so it counts as one that may call.
    """
    rows = con.sql(query).fetchall()
    return _joined((name.lower().replace('"', '""'), sql or "llm") for name, sql in rows)


def _joined(definitions: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Texts by name, of several one after another."""
    found: dict[str, list[str]] = {}
    for name, sql in definitions:
        found.setdefault(name, []).append(sql)
    return {name: "\n".join(texts) for name, texts in found.items()}


def called_in(text: str, names: Collection[str]) -> list[str]:
    """Those of some names that stand before a bracket in a text; in one that cannot be read, at all."""
    found = names_in(text, names)
    try:
        called = function_names(tokens_of(text)) if found else ()
    except SqlglotError:
        return found
    return [name for name in found if name.replace('""', '"') in called]


def _inside(name: str) -> str:
    """A name as it stands between quotes; DuckDB takes a string for a name, too."""
    if name[0] == "'":
        name = name[1:-1].replace("''", "'").replace('"', '""')
    elif name[0] == "$":
        name = name.split("$", 2)[2].rsplit("$", 2)[0].replace('"', '""')
    elif name[0] == '"':
        name = name[1:-1]
    return name.lower()


def names_in(text: str, names: Collection[str]) -> list[str]:
    """Those of some names, mostly plain words, that stand in a text, which is read once for all."""
    if len(names) <= FEW:
        names = [name for name in names if name in text]  # much quicker than its words, and mostly enough
    if not names:
        return []
    words = {found[0] for found in _WORD.finditer(text)}
    # the others are looked for one by one, which takes long in a long text
    others = [name for name in names if not (name.isascii() and name.isidentifier())]
    odd = [name for name in others if not _WORD.fullmatch(name) and is_word(name, text)]
    return [*(name for name in names if name in words), *odd]


def is_word(name: str, text: str) -> bool:
    """Whether the name stands in the text, not as a part of a longer one."""
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _reached(
    text: str, definitions: dict[str, str], found_in: Callable[[str, Collection[str]], list[str]] = names_in
) -> list[str]:
    """The definitions whose names stand in a text, or in one that it reaches; always in the same order."""
    left, parts = dict(definitions), [text]
    for part in parts:
        parts += [left.pop(name) for name in sorted(found_in(part.lower(), left))]
    return parts[1:]
