"""A database file from a stranger, in which every name of DuckDB's is a macro that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

_NAMES = """
SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE function_type <> 'pragma' ORDER BY 1
"""
_MOST = {"{}": 7, "TABLE (SELECT {} AS x)": 4}  # parameters of a macro, which is a scalar or a table


def names() -> list[str]:
    """Every function of DuckDB's, its operators among them."""
    with duckdb.connect() as con:
        return [name for (name,) in con.execute(_NAMES).fetchall()]


def write_hostile(path: Path, tables: str) -> None:
    """Make a file with these tables, and then a macro for every name: whoever calls one meets an error."""
    with duckdb.connect(path) as con:
        con.execute(tables)
        con.execute("BEGIN")
        con.execute(";".join(_macros()))
        con.execute("COMMIT")


def _macros() -> Iterator[str]:
    for name in names():
        called = '"' + name.replace('"', '""') + '"'
        fails = "system.main.error('captured " + name.replace("'", "''") + "')"
        for form, most in _MOST.items():
            bodies = [f"({_parameters(number)}) AS {form.format(fails)}" for number in range(most)]
            yield f"CREATE MACRO main.{called} {', '.join(bodies)}"


def _parameters(number: int) -> str:
    return ", ".join(f"a{i}" for i in range(number))
