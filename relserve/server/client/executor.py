"""Runs a client's statements on its DuckDB connection: translated where need be, and only what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import pairwise
from typing import Any, NamedTuple, cast

import duckdb
import pyarrow as pa
from duckdb import StatementType as Type
from relserve_duckdb import Connection, Description

from relserve.errors import ForbiddenError, ProtocolError, RelserveError
from relserve.server.catalog import Catalog, Facts
from relserve.server.catalog.build import DATABASE
from relserve.server.client.changes import CATALOG
from relserve.server.client.columns import columns_of
from relserve.server.client.held import LONG_DEFINITION, check_defined, check_held
from relserve.server.client.kept_rows import MOST_OF_RESULT, KeptRoom
from relserve.server.client.list_literals import with_duckdbs_lists
from relserve.server.client.literals import with_digits_of_numerics
from relserve.server.client.results import BATCH_ROWS, ResultRows
from relserve.server.client.savepoints import Savepoints
from relserve.server.client.series import with_series_as_rows
from relserve.server.client.split import bare, with_duckdbs_bytes
from relserve.server.client.state import forget_interrupt
from relserve.server.users.lockdown import Allowed
from relserve.server.users.nesting import check_nesting
from relserve.server.users.plain import plain_text
from relserve.server.users.tree import named
from relserve.server.users.words import words

# what DuckDB says of a text that it cannot read, before anything has run
_REFUSALS = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
_STREAMED = (Type.SELECT, Type.EXPLAIN, Type.CALL, Type.PRAGMA)
_COUNTED = {Type.INSERT: "INSERT 0", Type.UPDATE: "UPDATE", Type.DELETE: "DELETE", Type.MERGE_INTO: "MERGE",
            Type.COPY: "COPY"}  # fmt: skip
_OF_PREPARED = (
    "SELECT statement FROM system.main.duckdb_prepared_statements() WHERE system.main.lower(name) = ?"
)
_BY_PAGES = re.compile(r"\bctid BETWEEN '\(\d+,0\)'::tid\b")  # how DuckDB's extension reads a table
_CHANGE = re.compile(r"(?i)\b(?:insert|update|delete|merge|execute)\b")
_KIND = re.compile(
    r"(?i)(create|drop|alter)\s++(?:or\s++replace\s++)?"
    r"(?:(?:temp|temporary|unique|persistent|materialized|recursive)\s++)*+(\w++)"
)


DEFINE = (Type.CREATE, Type.CREATE_FUNC, Type.ALTER)  # COMMENT is one of the last


class StatementOutcome(NamedTuple):
    """What a statement gave.

    Attributes:
        tag: its command tag; where `counts`, without the number of rows that stands behind it.
        rows: its rows; None: it gives none.
    """

    tag: str
    rows: ResultRows | None = None
    counts: bool = False


class Executor:
    """Runs statements, one at a time.

    Args:
        check: the statements of a text; raises where the user may not run them.
        savepoints: told after a statement that may have written something.
        in_transaction: whether others see what a statement does only later.
        happened: called when the statement that was checked last has done what it should.
        changing: entered while what was checked last, or the transaction, comes to hold for others.

    Attributes:
        rows: the result that is open on the connection.
    """

    def __init__(
        self,
        con: Connection,
        catalog: Catalog,
        facts: Facts,
        check: Callable[[str], Sequence[Allowed]],
        savepoints: Savepoints,
        in_transaction: Callable[[], bool],
        happened: Callable[[], None] = lambda: None,
        changing: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._con, self._catalog, self._facts, self._check = con, catalog, facts, check
        self._savepoints, self._in_transaction = savepoints, in_transaction
        self._happened, self._changing = happened, changing
        self._has_changed_catalog = False  # in this transaction
        self._room = KeptRoom()
        self.rows: ResultRows | None = None

    def runnable(self, text: str) -> str:
        """A statement in the form that DuckDB and everybody else read alike, as far as can be seen from it.

        Raises:
            ForbiddenError: it names the database of PostgreSQL's catalog, which every client uses.
            ComplexSqlError: it is nested too deep.
            ProtocolError: its brackets do not match.
        """
        with self._catalog.turn(text):
            return self._runnable(text)

    def _runnable(self, text: str) -> str:
        text = plain_text(text)
        check_nesting(text)
        if DATABASE in text.lower() and any(word.is_name and word.name == DATABASE for word in words(text)):
            raise ForbiddenError(f"{DATABASE} is the server's own: ask pg_catalog or information_schema")
        return self._catalog.translate(
            with_series_as_rows(with_digits_of_numerics(with_duckdbs_lists(with_duckdbs_bytes(text)))),
            self._facts,
        )

    def _checked(self, runnable: str) -> Sequence[Allowed]:
        with self._catalog.turn(runnable):
            return self._check(runnable)

    def run(self, text: str, parameters: Sequence[Any] = ()) -> StatementOutcome:
        """Run one statement.

        Raises:
            duckdb.Error, RelserveError: it failed.
            ProtocolError: it is several statements.
        """
        self.make_room()
        return cast(StatementOutcome, self.trying(text, lambda runnable: self._run(runnable, parameters)))

    def run_described(self, runnable: str, parameters: Sequence[Any]) -> StatementOutcome:
        """Run what describing a statement gave; as `run`."""
        self.make_room()
        return self._run(runnable, parameters)

    def trying(self, text: str, run: Callable[[str], Any]) -> Any:
        """What `run` gives for the text, or for its PostgreSQL put otherwise where DuckDB cannot read it."""
        runnable = self.runnable(text)
        has_jsonb = "jsonb" in runnable.lower() and any(word.name == "jsonb" for word in words(runnable))
        if has_jsonb or _BY_PAGES.search(runnable):
            # DuckDB has no such types, and its refusal would end the transaction
            runnable = self._catalog.in_duckdbs_words(runnable) or runnable
        try:
            return run(runnable)
        except _REFUSALS as refused:
            other = self._catalog.in_duckdbs_words(runnable)
            if other is not None and other != runnable:
                with suppress(*_REFUSALS):
                    return run(other)
            raise self._with_place(refused, runnable) from None

    def _with_place(self, refused: duckdb.Error, runnable: str) -> duckdb.Error:
        """The refusal with the place of the mistake, which DuckDB leaves out where it makes a relation.

        Not where there is a savepoint to go back to: DuckDB ends its transaction with the second refusal.
        """
        if self._savepoints.are_set:
            return refused
        try:
            self._con.describe(runnable, ())
        except (duckdb.Error, RelserveError) as told:
            if isinstance(told, duckdb.Error) and str(told).startswith(str(refused)):
                return told
        return refused

    def describe(self, text: str, parameter_types: Sequence[str | None], is_own: bool = False) -> Description:
        """What one statement takes and gives; it does not run.

        Args:
            is_own: whether it is the server's, and the user needs no rights for it.

        Raises:
            duckdb.Error, RelserveError: it is wrong.
        """
        self.make_room()

        def look(runnable: str) -> Description:
            if not is_own:
                self._checked(runnable)
            return self._con.describe(runnable, parameter_types)

        return cast(Description, self.trying(text, look))

    def check_name(self, table: str, text: str) -> str | None:
        """See `Catalog`."""
        return self._catalog.check_name(table, text)

    def check(self, text: str) -> None:
        """Raise where the user may not run the text."""
        self.make_room()
        self._checked(self.runnable(text))

    def make_room(self) -> None:
        """Have the connection free for another statement: rows that are still wanted are kept in memory."""
        rows, self.rows = self.rows, None
        if rows is not None:
            rows.keep()

    @contextmanager
    def transaction_ending(self) -> Iterator[None]:
        """Within, what the transaction has changed in the catalog is seen by others, or undone."""
        with self._while_changing() if self._has_changed_catalog else nullcontext():
            self._has_changed_catalog = False
            yield

    @contextmanager
    def _while_changing(self) -> Iterator[None]:
        with CATALOG.under_way(), self._changing():
            yield

    def drop(self, rows: ResultRows | None) -> None:
        """Rows are not wanted any more."""
        if rows is not None:
            rows.close()
            if rows is self.rows:
                self.rows = None

    def _run(self, text: str, parameters: Sequence[Any]) -> StatementOutcome:
        parsed = self._checked(text)
        if len(parsed) > 1 and not any(each.type == Type.MULTI for each in parsed):
            raise ProtocolError("cannot insert multiple commands into a prepared statement", "42601")
        if not parsed:
            return StatementOutcome("")
        kind = parsed[0].type
        if kind in _STREAMED:
            return self._streamed(text, parameters, kind)
        meant, kind = self._prepared(text) if kind == Type.EXECUTE else (text, kind)
        changes = kind not in _STREAMED and kind not in _COUNTED
        self._has_changed_catalog |= changes
        with self._while_changing() if changes and not self._in_transaction() else nullcontext():
            self._con.execute(text, list(parameters) or None)
            self._happened()
        if changes:
            CATALOG.happened()
        if kind not in _STREAMED:
            self._savepoints.wrote()
        if kind in (Type.SET, Type.PREPARE):  # SET VARIABLE, too
            check_held(self._con.raw)
        outcome = self._finished(meant, kind)
        if kind in DEFINE and (len(text) > LONG_DEFINITION or tag_of(text) == "CREATE TYPE"):
            check_defined(self._con.raw)
        return outcome

    def _prepared(self, text: str) -> tuple[str, Type]:
        """The statement that an EXECUTE runs, as DuckDB remembers it."""
        name = words(text)[1].name
        found = self._con.raw.execute(_OF_PREPARED, [name]).fetchone()
        if found is None:
            return text, Type.EXECUTE  # DuckDB says in its own words that there is none
        return found[0], self._con.raw.extract_statements(found[0])[0].type

    def _streamed(self, text: str, parameters: Sequence[Any], kind: Type) -> StatementOutcome:
        stream = self._con.stream(text, list(parameters) or None, BATCH_ROWS)
        if stream is None:
            return StatementOutcome("")
        columns = columns_of(stream.columns, text)

        def stop() -> None:
            self._con.interrupt()  # DuckDB would go on for a while, and the engine too
            stream.close()
            forget_interrupt(self._con)

        self.rows = ResultRows(columns, iter(stream), stop, self._room)
        if self._savepoints.are_set and _changes_rows(text, kind):
            self._savepoints.wrote()
        if kind == Type.SELECT:
            return StatementOutcome("SELECT", self.rows, counts=True)
        return StatementOutcome("EXPLAIN" if kind == Type.EXPLAIN else "CALL", self.rows)

    def _finished(self, text: str, kind: Type) -> StatementOutcome:
        description = self._con.description or []
        names = [(each[0], str(each[1])) for each in description]
        is_count = names == [("Count", "BIGINT")] and kind not in _STREAMED and not _returns(text)
        if kind in _COUNTED and is_count:
            table, is_truncate = self._con.to_arrow_table(), bare(text)[:8].lower() == "truncate"
            return StatementOutcome(
                "TRUNCATE TABLE" if is_truncate else f"{_COUNTED[kind]} {_count_of(table)}"
            )
        if kind in _COUNTED or kind in _STREAMED or kind == Type.MULTI:
            if not names or (names == [("Success", "BOOLEAN")] and kind != Type.SELECT):
                return StatementOutcome(tag_of(text))
            reader, room = self._con.to_arrow_reader(BATCH_ROWS), KeptRoom(MOST_OF_RESULT)
            rows = ResultRows(columns_of(names, text), iter(reader), room=room)
            rows.keep()
            return StatementOutcome(_COUNTED.get(kind, "SELECT"), rows, counts=True)
        if kind == Type.CREATE and is_count and (table := self._con.to_arrow_table()).num_rows:
            return StatementOutcome(f"SELECT {_count_of(table)}")  # CREATE TABLE AS
        return StatementOutcome(tag_of(text))


def _changes_rows(text: str, kind: Type) -> bool:
    """Whether a statement that gives rows may change some, too, in a WITH or under EXPLAIN ANALYZE."""
    if _CHANGE.search(text) is None:
        return False
    found = named(bare(text).rstrip("; \t\r\n\f\v")) if kind == Type.SELECT else None
    return found is None or found.writes


def _returns(text: str) -> bool:
    """Whether a statement has a RETURNING: the word, neither quoted nor a column's name."""
    if "returning" not in text.lower():
        return False
    data = text.encode()
    return any(
        word.name == "returning" and before.name not in ("as", ".") and not data.startswith(b'"', word.start)
        for before, word in pairwise(words(text))
    )


def tag_of(text: str) -> str:
    """The command tag of a statement without a count."""
    statement = bare(text)
    if found := _KIND.match(statement):
        return f"{found[1]} {found[2]}".upper()
    first = re.match(r"\w+", statement)
    return first[0].upper() if first else ""


def _count_of(table: pa.Table) -> int:
    return int(table.column(0)[0].as_py()) if table.num_rows else 0
