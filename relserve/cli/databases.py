"""The database of a command: none is made by mistake, and a table that is not there says where it may be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

import duckdb

from relserve.errors import UsageError
from relserve.examples import TABLES

_MISSING = re.compile(r"\ACatalog Error: Table with name (.+?) does not exist!")
_READS = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
ENDINGS = (".db", ".duckdb", ".ddb")


def check_database(db: Path | None, text: str) -> None:
    """Refuse a text that only reads a database that is not there: it is mistyped, and DuckDB would make it.

    Raises:
        UsageError: it is not there.
    """
    if db is None or db.exists() or not _only_reads(text):
        return
    near = get_close_matches(db.name, _databases_in(db.parent), 1)
    meant = f" Did you mean {str(db.parent / near[0])!r}?" if near else ""
    raise UsageError(
        f"there is no database {str(db)!r}.{meant} A statement that makes a table makes the file, too: "
        "CREATE TABLE mails AS FROM 'mails.csv'"
    )


@contextmanager
def none_left_empty(db: Path | None) -> Iterator[None]:
    """A command runs inside; where it fails, a database that it has made is removed, unless it has tables."""
    is_new = db is not None and not db.exists()
    try:
        yield
    except BaseException:
        if db is not None and is_new and db.is_file() and _is_empty(db):
            db.unlink(missing_ok=True)
            db.with_name(db.name + ".wal").unlink(missing_ok=True)
        raise


@contextmanager
def missing_tables_told(db: Path | None, examples: bool) -> Iterator[None]:
    """A command runs inside; a table that is not there is told with what would bring it.

    Raises:
        UsageError: a table is not there, and no database was given.
    """
    try:
        yield
    except duckdb.CatalogException as error:
        found = _MISSING.match(str(error))
        if db is not None or found is None:
            raise
        raise UsageError(f"there is no table {found[1]!r}: {_where(found[1], examples)}") from error


def _where(table: str, examples: bool) -> str:
    if table.casefold() in TABLES and not examples:
        return "it is one of the shipped tables: add --examples"
    there = _databases_in(Path())
    which = f"--db {there[0]}" if len(there) == 1 else "--db FILE"
    return f"no database was given. Add {which}, or read a file in place: FROM '{table}.csv'"


def _databases_in(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if path.suffix in ENDINGS)
    except OSError:
        return []


def _only_reads(text: str) -> bool:
    with duckdb.connect() as con:
        try:
            statements = con.extract_statements(text)
        except duckdb.Error:  # which the command will tell
            return False
    return all(statement.type in _READS for statement in statements)


def _is_empty(db: Path) -> bool:
    try:
        with duckdb.connect(str(db), read_only=True) as con:
            count = "SELECT system.main.count_star() FROM system.main.duckdb_tables()"
            return con.execute(count).fetchone() == (0,)
    except duckdb.Error:
        return False
