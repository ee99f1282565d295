"""What CREATE and ALTER define for all users of a server, and what of it a plain user may not.

A function of the search path comes before DuckDB's own of that name, and so does a view, a type or a schema:
whoever defines `sum` defines it for all. And what stands in a column's default, a CHECK, a view or a macro
runs in the sessions of those who use it: there it must not ask for what is theirs. What asks a model is asked
with their tokens: it may stand in a view or a macro, which they name themselves, but not in a column. Columns
call DuckDB's own functions alone, for what a macro asks can change, before the table is there or in the same
transaction.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence, Set
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

import duckdb
from relserve_duckdb.text.call_limits import CALLED, LISTS
from relserve_duckdb.text.question_calls import TEXT2SQL

from relserve.errors import ForbiddenError
from relserve.server.catalog.shapes import read_shapes
from relserve.server.users.refused import SESSION, SESSION_RELATIONS
from relserve.server.users.tree import keywords, names_of
from relserve.server.users.words import Word

_VIEWS = "SELECT view_name FROM system.main.duckdb_views() WHERE schema_name <> 'information_schema'"
_MACROS = """
SELECT system.main.lower(function_name), macro_definition FROM system.main.duckdb_functions()
    WHERE NOT internal AND macro_definition IS NOT NULL AND database_name NOT IN ('system', 'temp', '_pg')
"""
_IN_SYSTEM = """
SELECT system.main.lower(function_name) FROM system.main.duckdb_functions() WHERE database_name = 'system'
"""
_NAME = re.compile(r"\w+")
_OPERATOR = re.compile(r"[^\w\s$.]")
_KINDS = frozenset("table view macro function type schema index sequence trigger secret".split())
_POSTGRESQLS = frozenset(  # types that texts of clients name, and that DuckDB has not
    "jsonb regclass regtype regproc regprocedure regnamespace regrole regoper regoperator".split()
)
_FUNCTIONS = ("macro", "function")
_MODELS = frozenset([*CALLED, *LISTS.values(), TEXT2SQL])  # functions that ask one
_RELATIONS = ("table", "view")
_WITH_COLUMNS = ("table", "index")
_BEFORE_RELATIONS = {"table": ("references",), "index": ("on", "using")}  # what stands before those names
_SCHEMAS = frozenset(["system", "temp", "pg_catalog", "information_schema", "_pg"])


class Defined(NamedTuple):
    """What a CREATE or an ALTER .. RENAME defines.

    Attributes:
        kind: TABLE, VIEW and so on, in small letters.
        name: None: it has none, or none that this could read.
        is_temporary: whether it is of one connection alone.
        body: the words behind the name.
        is_table_as: whether it is CREATE TABLE .. AS.
    """

    kind: str
    name: Word | None
    is_temporary: bool
    body: Sequence[Word]
    is_table_as: bool = False


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
    kept = list(takewhile(lambda word: word.plain != "using", here))  # what is behind it runs once, and now
    yield Defined(here[1].plain, name, False, kept)


def _created(here: Sequence[Word]) -> Defined:
    place = next((number for number, word in enumerate(here) if word.plain in _KINDS), None)
    if place is None:
        raise ForbiddenError(f"CREATE {here[1].name.upper()}: only an admin of this server may create that")
    is_temporary = any(word.plain in ("temp", "temporary") for word in here[:place])
    start = place + 4 if _are(here, place + 1, "if", "not", "exists") else place + 1
    while _are(here, start + 1, "."):
        start += 2
    name = here[start] if start < len(here) else None
    kind, body = here[place].plain, here[start + 1 :]
    return Defined(kind, name, is_temporary, body, kind == "table" and query_place(body) is not None)


def _are(here: Sequence[Word], start: int, *names: str) -> bool:
    return tuple(word.plain for word in here[start : start + len(names)]) == names


def _check_name(defined: Defined) -> None:
    """Refuse a name that stands for something else in the sessions of others."""
    kind, word = defined.kind, defined.name
    if word is None or kind in ("index", "sequence", "trigger", "secret"):
        return
    if not word.is_name:
        raise ForbiddenError(f"CREATE {kind.upper()}: write its name without quotes or in double quotes")
    if kind in _FUNCTIONS and _OPERATOR.search(word.name):
        raise ForbiddenError(
            f"CREATE {kind.upper()} {word.name}: an operator would be all users'; give it a name of letters, "
            "or make it TEMP, for you alone"
        )
    if word.name in _taken(kind):
        raise ForbiddenError(
            f"{kind.upper()} {word.name}: all users of this server have one of that name, and would get "
            "yours instead; give it another name, or make it TEMP, for you alone"
        )


def _taken(kind: str) -> frozenset[str]:
    """Names that a kind of thing has in everybody's sessions."""
    if kind in _FUNCTIONS:
        return _functions() | _words_of_columns()
    if kind in _RELATIONS:
        return _relations()
    return _types() if kind == "type" else _SCHEMAS


@lru_cache(maxsize=1)
def _functions() -> frozenset[str]:
    return names_of("SELECT function_name FROM system.main.duckdb_functions()") | frozenset(CALLED)


@lru_cache(maxsize=1)
def _words_of_columns() -> frozenset[str]:
    """What may stand before a bracket in a column's definition and is no call."""
    return _types() | keywords() | {"key", "varying", "try", "ifnull"}


@lru_cache(maxsize=1)
def _relations() -> frozenset[str]:
    catalogs = {shape.name for shape in read_shapes() if shape.schema == "pg_catalog"}
    return names_of(_VIEWS) | catalogs


@lru_cache(maxsize=1)
def _types() -> frozenset[str]:
    return names_of("SELECT type_name FROM system.main.duckdb_types()") | _POSTGRESQLS


def _check_body(defined: Defined, con: duckdb.DuckDBPyConnection) -> None:
    """Refuse what would ask the sessions of others for what is theirs."""
    body = defined.body
    if defined.is_table_as:
        return  # it runs once, and now
    called = _called(body, _BEFORE_RELATIONS.get(defined.kind, ()))
    if defined.kind in _WITH_COLUMNS:
        _check_columns(defined.kind, called, con)
        macros: frozenset[str] = frozenset()
    else:
        macros = _telling_macros(con, called)
    telling = called & (SESSION | macros) | SESSION_RELATIONS
    for word in body:
        if word.is_name and word.name in telling:
            raise ForbiddenError(
                f"{word.name} in {_a(defined.kind)} that others use would tell what is theirs, such as their "
                "statements and settings: CREATE TABLE .. AS keeps what it tells now, and what is TEMP, for "
                "you alone, may ask it"
            )


def _called(body: Sequence[Word], before_relations: Collection[str]) -> frozenset[str]:
    """The names before brackets, but for those behind some words, which are names of tables."""
    called, before = set(), ""
    for word, after in pairwise(body):
        if word.is_name and after.plain == "(" and before not in before_relations:
            called.add(word.name)
        if word.plain != "." and after.plain != ".":
            before = word.plain
    return frozenset(called)


def _check_columns(kind: str, called: Set[str], con: duckdb.DuckDBPyConnection) -> None:
    """Refuse what DuckDB itself does not define in a DEFAULT, a CHECK, a generated column or an index."""
    for name in sorted(called & _MODELS):
        raise ForbiddenError(
            f"{name}() in {_a(kind)} that others use would ask a model whenever they write or read a row, "
            "with their tokens: call it in a view, or in the statement that wants the answer; CREATE TABLE "
            ".. AS keeps answers, and what is TEMP, for you alone, may ask"
        )
    for name in sorted(called - _functions() - _words_of_columns() - SESSION):
        if name not in _systems(con):  # an extension's are there
            raise ForbiddenError(
                f"{name}() in {_a(kind)} that others use is no function of DuckDB's own, and what a macro "
                "asks can change: write what it stands for, make it a view, or TEMP, for you alone, or have "
                "an admin define it"
            )


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "index" else f"a {kind}"


def _systems(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Functions of the catalog in which nobody can define anything."""
    with con.cursor() as own:
        rows = own.execute(_IN_SYSTEM).fetchall()
    return frozenset(name for (name,) in rows)


def _telling_macros(con: duckdb.DuckDBPyConnection, names: Set[str]) -> frozenset[str]:
    """Those of some names that are macros of the users' which ask a session, by another macro, too."""
    if not (unknown := names - _functions() - _words_of_columns()):
        return frozenset()
    with con.cursor() as own:
        rows = own.execute(_MACROS).fetchall()
    odd = [name for name, _ in rows if not _NAME.fullmatch(name)]
    called = defaultdict[str, set[str]](set)
    for name, text in rows:  # a name has a row for each list of parameters, and in each schema
        called[name] |= {*_NAME.findall(text.lower())}
        called[name] |= {each for each in odd if each.replace('"', '""') in text.lower()}
    telling = {name for name, words in called.items() if words & SESSION}
    while more := {name for name, words in called.items() if words & telling} - telling:
        telling |= more
    return frozenset(telling & unknown)
