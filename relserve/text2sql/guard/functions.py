"""Which functions generated SQL may call: those of a bare DuckDB, less the refused ones, as long as nobody
gave them another meaning; and macros, whose own text is then looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import duckdb

from relserve.errors import UnsafeSqlError
from relserve.text2sql.guard.names import folded
from relserve.text2sql.guard.refused import (
    BOUND_APART,
    REASONS,
    TABLE_FUNCTIONS,
    VOLATILE,
    WITHIN_QUERY,
    is_inner,
)

_FUNCTIONS = """
    SELECT function_name, function_type, schema_name, internal, stability, macro_definition
    FROM system.main.duckdb_functions()
"""
_TYPES = "SELECT DISTINCT type_name FROM system.main.duckdb_types() WHERE internal"
_COLLATIONS = "SELECT collname FROM system.main.pragma_collations()"


class Macro(NamedTuple):
    """What stands for a macro's call."""

    is_table: bool
    definition: str


class BuiltIn(NamedTuple):
    """What a bare DuckDB has.

    Attributes:
        overloads: of each function's name, how often it is there.
        plain: the names that may be called as they are.
        macros: those of its own macros.
        types: the names of its types.
        collations: the names of its collations.
    """

    overloads: Mapping[str, int]
    plain: frozenset[str]
    macros: Mapping[str, tuple[Macro, ...]]
    types: frozenset[str]
    collations: frozenset[str]


class DatabaseFunctions(NamedTuple):
    """A database's functions, as they differ from a bare DuckDB's.

    Attributes:
        changed: built-in names with a further meaning, such as a Python function.
        macros: what users defined.
        asking: names of relserve's own functions that may be called, too, where nothing stands before them.
    """

    changed: frozenset[str]
    macros: Mapping[str, tuple[Macro, ...]]
    asking: frozenset[str] = frozenset()

    def macros_called(self, name: str, is_table: bool, is_bare: bool = False) -> tuple[Macro, ...]:
        """The macros whose text a call stands for; none for a function that may be called.

        Args:
            is_bare: neither a schema nor a database is named before it.

        Raises:
            UnsafeSqlError: the function may not be called; the message says why.
        """
        key, known = folded(name), built_in()
        if is_bare and not is_table and key in self.asking:
            return ()
        if key in self.changed:
            raise _refusal(name, "this database gave it another meaning")
        own = self.macros.get(key) or ()
        if any(macro.is_table == is_table for macro in own):
            return own
        if is_table and key in TABLE_FUNCTIONS:
            return ()
        if is_table or key in REASONS:
            raise _refusal(name, REASONS.get(key, _unknown(is_table)))
        if key in known.plain:
            return ()
        if key in known.macros:
            return known.macros[key]
        raise _refusal(name, _unknown(is_table))


def read_functions(con: duckdb.DuckDBPyConnection) -> DatabaseFunctions:
    """Compare a database's functions with a bare DuckDB's."""
    known = built_in().overloads
    overloads, macros = _overloads_and_macros(con.execute(_FUNCTIONS).fetchall(), internal=False)
    changed = frozenset(name for name, count in known.items() if overloads.get(name, 0) != count)
    return DatabaseFunctions(changed, macros)


@cache
def built_in() -> BuiltIn:
    """A bare DuckDB's functions, types and collations, read once a process."""
    with duckdb.connect() as con:
        rows = con.execute(_FUNCTIONS).fetchall()
        types = con.execute(_TYPES).fetchall()
        collations = con.execute(_COLLATIONS).fetchall()
    overloads, macros = _overloads_and_macros(rows, internal=True)
    return BuiltIn(
        overloads,
        frozenset(plain_names(rows)),
        macros,
        frozenset(folded(name) for (name,) in types),
        frozenset(folded(name) for (name,) in collations) | {"binary", "c", "posix"},
    )


def _overloads_and_macros(
    rows: list[tuple[str, str, str, bool, str | None, str | None]], internal: bool
) -> tuple[Mapping[str, int], Mapping[str, tuple[Macro, ...]]]:
    """How often DuckDB itself has each name, and the macros that are its own, or else the users'."""
    overloads: dict[str, int] = defaultdict(int)
    macros: dict[str, tuple[Macro, ...]] = defaultdict(tuple)
    for name, kind, schema, is_internal, _, definition in rows:
        overloads[folded(name)] += is_internal
        is_seen = schema != "pg_catalog" or not internal
        if definition is not None and is_internal == internal and is_seen:
            macros[folded(name)] += (Macro(kind == "table_macro", definition),)
    return dict(overloads), dict(macros)


def plain_names(rows: list[tuple[str, str, str, bool, str | None, str | None]]) -> set[str]:
    """The names that generated SQL may call, of rows as DuckDB's list of functions has them."""
    stabilities: dict[str, set[str | None]] = defaultdict(set)
    for name, kind, _, _, stability, _ in rows:
        if kind in ("scalar", "aggregate", "window"):
            stabilities[folded(name)].add(stability)
    refused = {
        name for name, each in stabilities.items()
        if not _is_of_values(each) and name not in VOLATILE | WITHIN_QUERY
    }  # fmt: skip
    names = stabilities.keys() | BOUND_APART
    return {name for name in names - refused - REASONS.keys() if not is_inner(name)}


def _is_of_values(stabilities: set[str | None]) -> bool:
    """Whether a function makes its result of its arguments; on time zones it may look at the session's."""
    return "CONSISTENT" in stabilities and stabilities <= {"CONSISTENT", "CONSISTENT_WITHIN_QUERY"}


def _unknown(is_table: bool) -> str:
    if is_table:
        return (
            f"as a table, only {', '.join(sorted(TABLE_FUNCTIONS))} and macros of the database may be called"
        )
    return "it is none of DuckDB's own functions of values, nor a macro of the database"


def _refusal(name: str, reason: str) -> UnsafeSqlError:
    return UnsafeSqlError(f"{name}() may not be called in generated SQL: {reason}")
