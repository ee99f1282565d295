"""A client's prepared statements, its portals and its cursors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import zip_longest
from typing import Any, NamedTuple

import duckdb
from relserve_duckdb import Description

from relserve.errors import ProtocolError
from relserve.server.client.changes import CATALOG
from relserve.server.client.columns import columns_of, oids_of
from relserve.server.client.commands import Command, Declare, Fetch, Set, SetConfig, Show, read_command
from relserve.server.client.executor import Executor, StatementOutcome
from relserve.server.client.results import ResultRows
from relserve.server.client.variables import SessionVariables, spelled
from relserve.server.wire.copying import read_copy
from relserve.server.wire.parameters import is_beyond_decimal
from relserve.server.wire.types import (
    ELEMENT_OF,
    KNOWN,
    NUMERIC,
    NUMERICS,
    TEXT,
    PgType,
    ResultColumn,
    duckdb_type,
)

MOST_PREPARED, _OVERHEAD = 1 << 26, 1000  # characters of a connection's statements; beside each text
ALL_SETTINGS = [ResultColumn(name, PgType(TEXT)) for name in ("name", "setting", "description")]

_SCHEMA = re.compile(
    r"(?i)(?<!\w)(?:(?:schema|questions)\s*+(?::=|=>)|llm_decide\s*+\((?>[^(),]*+,)++)\s*+\$\d"
)
_SOME_NUMERIC, _OTHER_NUMERIC = "DECIMAL(18,3)", "DECIMAL(19,5)"


class StatementDescription(NamedTuple):
    """What a statement takes and gives: the types of its parameters, and its columns; none: no rows."""

    oids: Sequence[int]
    columns: Sequence[ResultColumn]
    description: Description | None = None  # of what DuckDB runs for it; None: the server does it by itself

    def runnable(self, values: Sequence[Any]) -> str | None:
        """What DuckDB runs with these values; numerics among them keep the digits that they came with."""
        if self.description is None:
            return None
        given = enumerate(zip(self.oids, values, strict=False), 1)
        own = [str(i) for i, (oid, value) in given if oid in NUMERICS and value is not None]
        return self.description.without_casts(own)


@dataclass
class PreparedStatement:
    """A prepared statement; `oids` are the types that the client gave, 0 where it left one open."""

    name: str
    text: str
    oids: tuple[int, ...]
    described: StatementDescription | None = None
    stamp: tuple[object, ...] = ()  # what `described` was true of
    prepare_time: datetime = field(default_factory=lambda: datetime.now(timezone.utc))


@dataclass
class Portal:
    """A statement with its parameters; `outcome` once it has run."""

    name: str
    prepared: PreparedStatement
    values: Sequence[Any]
    formats: Sequence[int]
    outcome: StatementOutcome | None = None


@dataclass
class Cursor:
    """An SQL cursor; a held one outlives its transaction."""

    rows: ResultRows
    is_held: bool


class Portals:
    """What a client has prepared and opened, by name."""

    def __init__(self, executor: Executor, variables: SessionVariables) -> None:
        self._executor, self._variables = executor, variables
        self._prepared: dict[str, PreparedStatement] = {}
        self._num_held = 0  # characters of those that have a name
        self._portals: dict[str, Portal] = {}
        self.cursors: dict[str, Cursor] = {}

    def prepare(self, prepared: PreparedStatement) -> None:
        """Keep a prepared statement; the one without a name is replaced.

        Raises:
            ProtocolError: there is one of this name.
        """
        if prepared.name and prepared.name in self._prepared:
            raise ProtocolError(f'prepared statement "{prepared.name}" already exists', "42P05")
        if prepared.name:
            if (held := self._num_held + len(prepared.text) + _OVERHEAD) > MOST_PREPARED:
                raise ProtocolError("too many prepared statements on this connection: close some", "53400")
            self._num_held = held
        self._prepared[prepared.name] = prepared

    def prepared(self, name: str) -> PreparedStatement:
        """The prepared statement of this name."""
        if name not in self._prepared:
            raise ProtocolError(f'prepared statement "{name}" does not exist', "26000")
        return self._prepared[name]

    def has_prepared(self, name: str) -> bool:
        """Whether the client prepared it in a message, not in SQL."""
        return name in self._prepared

    def listed(self) -> list[dict[str, Any]]:
        """The prepared statements that have a name, as pg_prepared_statements shows them."""
        return [
            {
                "name": each.name, "statement": each.text, "prepare_time": each.prepare_time,
                "parameter_types": [_type_name(oid) for oid in (each.described or each).oids],
            }
            for each in list(self._prepared.values()) if each.name
        ]  # fmt: skip

    def forget(self, name: str) -> None:
        """A prepared statement is not needed any more."""
        gone = self._prepared.pop(name, None)
        self._num_held -= len(gone.text) + _OVERHEAD if gone and name else 0

    def forget_all(self) -> None:
        """No prepared statement is."""
        self._prepared, self._num_held = {}, 0

    def open(self, portal: Portal) -> None:
        """Keep a portal; the one without a name is replaced.

        Raises:
            ProtocolError: there is one of this name.
        """
        if portal.name and portal.name in self._portals:
            raise ProtocolError(f'cursor "{portal.name}" already exists', "42P03")
        self.close(portal.name)
        self._portals[portal.name] = portal

    def portal(self, name: str) -> Portal:
        """The portal of this name; an SQL cursor is one, too."""
        if name in self._portals:
            return self._portals[name]
        if name in self.cursors:
            rows = self.cursors[name].rows
            cursor = PreparedStatement(name, "", (), StatementDescription((), rows.columns))
            return Portal(name, cursor, (), (), StatementOutcome("FETCH", rows, counts=True))
        raise ProtocolError(f'portal "{name}" does not exist', "34000")

    def close(self, name: str) -> None:
        """Close a portal, if there is one; an SQL cursor is one, too."""
        portal = self._portals.pop(name, None)
        if portal is None and name in self.cursors:
            self.close_cursor(name)
        if portal is not None and portal.outcome is not None:
            self._executor.drop(portal.outcome.rows)

    def close_unnamed(self) -> None:
        """The portal without a name lives until the next statement."""
        self.close("")

    def close_all(self) -> None:
        """The transaction ends, and all portals with it; cursors that are held are read to their end."""
        for name in list(self._portals):
            self.close(name)
        for name, cursor in list(self.cursors.items()):
            if cursor.is_held:
                cursor.rows.keep()
            else:
                self.close_cursor(name)

    def declare(self, name: str, cursor: Cursor) -> None:
        """Keep an SQL cursor.

        Raises:
            ProtocolError: there is one of this name.
        """
        if name in self.cursors:
            self._executor.drop(cursor.rows)
            raise ProtocolError(f'cursor "{name}" already exists', "42P03")
        self.cursors[name] = cursor

    def holds(self, rows: ResultRows | None) -> bool:
        """Whether these are the rows of a cursor that outlives its transaction."""
        return any(cursor.rows is rows and cursor.is_held for cursor in self.cursors.values())

    def cursor(self, name: str) -> ResultRows:
        """The rows of an SQL cursor, or of a portal that has run, which is one, too."""
        if name in self.cursors:
            return self.cursors[name].rows
        outcome = self._portals[name].outcome if name in self._portals else None
        if outcome is None or outcome.rows is None:
            raise ProtocolError(f'cursor "{name}" does not exist', "34000")
        return outcome.rows

    def close_cursor(self, name: str) -> None:
        """Close an SQL cursor."""
        self._executor.drop(self.cursor(name))
        del self.cursors[name]

    def oids(self, prepared: PreparedStatement, count: int) -> Sequence[int]:
        """The types of so many parameters.

        Raises:
            ProtocolError: the statement has another number of them.
        """
        needs_look = len(prepared.oids) != count or 0 in prepared.oids
        oids = self.describe(prepared).oids if needs_look else prepared.oids
        if len(oids) != count:
            raise ProtocolError(
                f'bind message supplies {count} parameters, but prepared statement "{prepared.name}" '
                f"requires {len(oids)}",
                "08P01",
            )
        return oids

    def describe(self, prepared: PreparedStatement) -> StatementDescription:
        """What a prepared statement takes and gives now; it does not run.

        Raises:
            ProtocolError: it does not give any more what was told of it before.
        """
        stamp = (CATALOG.latest, *self._variables.all())  # PostgreSQL's settings become words of the text
        if prepared.described is None or prepared.stamp != stamp:
            now = self._describe(prepared)
            if prepared.described is not None and list(prepared.described.columns) != list(now.columns):
                raise _changed()
            prepared.described, prepared.stamp = now, stamp
        return prepared.described

    def check_told(self, portal: Portal, outcome: StatementOutcome) -> None:
        """See that the rows are those that were told, for another client may just have changed a table.

        Raises:
            ProtocolError: they are not.
        """
        told = portal.prepared.described
        if told is None or outcome.rows is None or _kinds(told.columns) == _kinds(outcome.rows.columns):
            return
        self._executor.drop(outcome.rows)
        if _SCHEMA.search(portal.prepared.text):
            raise ProtocolError(
                "a schema decides which columns there are, as do the questions of llm_decide(), before the "
                "value of a parameter is known",
                "0A000",
                'Write them into the statement: schema := \'{"brand": "VARCHAR"}\'.',
            )
        raise _no_decimal(told.oids, portal.values) or _changed()

    def _describe(self, prepared: PreparedStatement) -> StatementDescription:
        if not prepared.text or read_copy(prepared.text) is not None:
            return StatementDescription(prepared.oids, ())
        command = read_command(prepared.text)
        if isinstance(command, Declare):
            return StatementDescription(self._described_by_duckdb(command.query, prepared.oids).oids, ())
        if command is not None and (columns := self._columns_of(command)) is not None:
            return StatementDescription(prepared.oids, columns)
        return self._described_by_duckdb(prepared.text, prepared.oids)

    def _described_by_duckdb(self, text: str, given_oids: Sequence[int]) -> StatementDescription:
        # its value decides a numeric's width later; without any type, $1 alone would be told as a text
        found = self._executor.describe(text, _kinds_of(given_oids, _SOME_NUMERIC))
        oids = oids_of(found.parameters, found.runnable)
        known = [oid or other for oid, other in zip(given_oids, oids, strict=False)]
        columns = columns_of(found.columns, found.runnable)
        if any(oid in NUMERICS for oid in given_oids):
            columns = self._without_widths(text, given_oids, columns)
        return StatementDescription((*known, *oids[len(known) :]), columns, found)

    def _without_widths(
        self, text: str, given_oids: Sequence[int], columns: list[ResultColumn]
    ) -> list[ResultColumn]:
        """The columns, without the width of a numeric that follows from a parameter's."""
        if not any(column.type.typmod >= 0 for column in columns):
            return columns
        others: list[ResultColumn] = []
        with suppress(duckdb.Error):
            found = self._executor.describe(text, _kinds_of(given_oids, _OTHER_NUMERIC))
            others = columns_of(found.columns, found.runnable)
        pairs = zip_longest(columns, others)
        return [
            one if one == other else one._replace(type=one.type._replace(typmod=-1)) for one, other in pairs
        ]

    def _columns_of(self, command: Command) -> Sequence[ResultColumn] | None:
        """The columns of what the server does by itself; None: DuckDB does it."""
        match command:
            case Show("all"):
                return ALL_SETTINGS
            case Show(name):
                is_known = self._variables.find(name) is not None
                return [ResultColumn(spelled(name), PgType(TEXT))] if is_known else None
            case Set(name, _, _):
                return () if self._variables.knows(name) else None
            case SetConfig(name, _, _, column):
                return [ResultColumn(column, PgType(TEXT))] if self._variables.knows(name) else None
            case Fetch(name, _, False):
                return self.cursor(name).columns
        return ()


def _type_name(oid: int) -> str:
    if oid in ELEMENT_OF:
        return f"{KNOWN[ELEMENT_OF[oid]].name}[]"
    return KNOWN[oid].name if oid in KNOWN else "unknown"


def _kinds_of(oids: Sequence[int], numeric: str) -> list[str | None]:
    """DuckDB's types of parameters; of a numeric this one."""
    own = {NUMERIC: numeric, KNOWN[NUMERIC].array: f"{numeric}[]"}
    return [own.get(oid) or duckdb_type(oid) if oid else None for oid in oids]


def _kinds(columns: Sequence[ResultColumn]) -> list[int]:
    return [column.type.oid for column in columns]


def _no_decimal(oids: Sequence[int], values: Sequence[Any]) -> ProtocolError | None:
    """The refusal where a numeric parameter is none that DuckDB's DECIMAL has; None: all are."""
    for i, (oid, value) in enumerate(zip(oids, values, strict=False), 1):
        if oid in NUMERICS and is_beyond_decimal(value):
            return ProtocolError(
                f"${i} is {value}, which no DECIMAL holds, so that the statement gives no numeric",
                "22003",
                f"Ask for double precision: ${i}::float8.",
            )
    return None


def _changed() -> ProtocolError:
    """What drivers know, and then prepare the statement anew."""
    message = "cached plan must not change result type"
    return ProtocolError(message, "0A000", routine="RevalidateCachedQuery")
