"""What CREATE and ALTER define for all users of a server, and what of it a plain user may not.

A function of the search path comes before DuckDB's own of that name, and so does a view, a type or a schema:
whoever defines `sum` defines it for all. And what stands in a column's default, a CHECK, a view or a macro
runs in the sessions of those who use it: there it must not ask for what is theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import duckdb
from relserve_duckdb.text.call_limits import CALLED

from relserve.errors import ForbiddenError
from relserve.server.catalog.shapes import read_shapes
from relserve.server.users.refused import SESSION, SESSION_RELATIONS
from relserve.server.users.tree import parser
from relserve.server.users.words import Word

_VIEWS = "SELECT view_name FROM system.main.duckdb_views() WHERE schema_name <> 'information_schema'"
_MACROS = """
SELECT system.main.lower(function_name), macro_definition FROM system.main.duckdb_functions()
    WHERE NOT internal AND macro_definition IS NOT NULL AND database_name NOT IN ('system', 'temp', '_pg')
"""
_NAME = re.compile(r"\w+")
_NO_CALLS = frozenset(
    "as check key primary unique references using in values over filter by coalesce".split()
)
_KINDS = frozenset("table view macro function type schema index sequence trigger secret".split())
_POSTGRESQLS = frozenset(  # types that texts of clients name, and that DuckDB has not
    "jsonb regclass regtype regproc regprocedure regnamespace regrole regoper regoperator".split()
)
_FUNCTIONS = ("macro", "function")
_RELATIONS = ("table", "view")
_SCHEMAS = frozenset(["system", "temp", "pg_catalog", "information_schema", "_pg"])


class Defined(NamedTuple):
    """What a CREATE or an ALTER .. RENAME defines.

    Attributes:
        kind: TABLE, VIEW and so on, in small letters.
        name: None: it has none, or none that this could read.
        is_temporary: whether it is of one connection alone.
        body: the words behind the name.
    """

    kind: str
    name: Word | None
    is_temporary: bool
    body: Sequence[Word]


def check_definition(here: Sequence[Word], con: duckdb.DuckDBPyConnection) -> None:
    """Refuse a CREATE or ALTER of a plain user that would do something to others.

    Args:
        here: the words of the statement.
        con: tells what macros there are.

    Raises:
        ForbiddenError: says what is refused, and what can be done.
    """
    for defined in _defined(here):
        if not defined.is_temporary:
            _check_name(defined)
            _check_body(defined, con)


def query_place(here: Sequence[Word]) -> int | None:
    """Which word begins the query of a CREATE .. AS; None: there is no AS outside of brackets."""
    depth = 0
    for number, word in enumerate(here):
        depth += {"(": 1, ")": -1}.get(word.plain, 0)
        if depth == 0 and word.plain == "as":
            return number + 1
    return None


def _defined(here: Sequence[Word]) -> Iterator[Defined]:
    if here[0].plain == "create":
        yield _created(here)
        return
    name = next((here[i + 2] for i in range(len(here) - 2) if _are(here, i, "rename", "to")), None)
    yield Defined(here[1].plain, name, False, here)


def _created(here: Sequence[Word]) -> Defined:
    place = next((number for number, word in enumerate(here) if word.plain in _KINDS), None)
    if place is None:
        raise ForbiddenError(f"CREATE {here[1].name.upper()}: only an admin of this server may create that")
    is_temporary = any(word.plain in ("temp", "temporary") for word in here[:place])
    start = place + 4 if _are(here, place + 1, "if", "not", "exists") else place + 1
    while _are(here, start + 1, "."):
        start += 2
    name = here[start] if start < len(here) else None
    return Defined(here[place].plain, name, is_temporary, here[start + 1 :])


def _are(here: Sequence[Word], start: int, *names: str) -> bool:
    return tuple(word.plain for word in here[start : start + len(names)]) == names


def _check_name(defined: Defined) -> None:
    """Refuse a name that stands for something else in the sessions of others."""
    kind, word = defined.kind, defined.name
    if word is None or kind in ("index", "sequence", "trigger", "secret"):
        return
    if not word.is_name:
        raise ForbiddenError(f"CREATE {kind.upper()}: write its name without quotes or in double quotes")
    if word.name in _taken(kind):
        raise ForbiddenError(
            f"{kind.upper()} {word.name}: all users of this server have one of that name, and would get "
            "yours instead; give it another name, or make it TEMP, for you alone"
        )


def _taken(kind: str) -> frozenset[str]:
    """Names that a kind of thing has in everybody's sessions."""
    if kind in _FUNCTIONS:
        return _functions()
    if kind in _RELATIONS:
        return _relations()
    return _types() if kind == "type" else _SCHEMAS


@lru_cache(maxsize=1)
def _functions() -> frozenset[str]:
    return _names("SELECT function_name FROM system.main.duckdb_functions()") | frozenset(CALLED)


@lru_cache(maxsize=1)
def _relations() -> frozenset[str]:
    catalogs = {shape.name for shape in read_shapes() if shape.schema == "pg_catalog"}
    return _names(_VIEWS) | catalogs


@lru_cache(maxsize=1)
def _types() -> frozenset[str]:
    return _names("SELECT type_name FROM system.main.duckdb_types()") | _POSTGRESQLS


def _names(asked: str) -> frozenset[str]:
    return frozenset(name.lower() for (name,) in parser().execute(asked).fetchall())


def _check_body(defined: Defined, con: duckdb.DuckDBPyConnection) -> None:
    """Refuse what would ask the sessions of others for what is theirs."""
    body = defined.body
    if defined.kind == "table" and query_place(body) is not None:
        return  # it runs once, and now
    called = {word.name for word, after in pairwise(body) if word.is_name and after.plain == "("}
    telling = called & (SESSION | _telling_macros(con, called)) | SESSION_RELATIONS
    for word in body:
        if word.is_name and word.name in telling:
            raise ForbiddenError(
                f"{word.name} in a {defined.kind} that others use would tell what is theirs, such as their "
                "statements and settings: CREATE TABLE .. AS keeps what it tells now, and what is TEMP, for "
                "you alone, may ask it"
            )


def _telling_macros(con: duckdb.DuckDBPyConnection, names: Set[str]) -> frozenset[str]:
    """Those of some names that are macros of the users' which ask a session, by another macro, too."""
    if not (unknown := names - _functions() - _types() - _NO_CALLS):
        return frozenset()
    with con.cursor() as own:
        rows = own.execute(_MACROS).fetchall()
    called = {name: frozenset(_NAME.findall(text.lower())) for name, text in rows}
    telling = {name for name, words in called.items() if words & SESSION}
    while more := {name for name, words in called.items() if words & telling} - telling:
        telling |= more
    return frozenset(telling & unknown)
