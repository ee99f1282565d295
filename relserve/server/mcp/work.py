"""What the tools do, each on a connection of its own, on a thread that may wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pyarrow as pa
from relserve_duckdb import Connection

from relserve.errors import Cancelled, OptionError, UsageError
from relserve.linking.schema import Column, Table, literal, quoted
from relserve.server.client.notices import WireClient
from relserve.server.histories import ClientHistory
from relserve.server.mcp.limits import ToolLimits, least
from relserve.server.mcp.reading import ReadingGuard, as_plain
from relserve.server.mcp.shown import (
    CallCost,
    Classification,
    ColumnEntry,
    CostEstimate,
    LabelCount,
    QueryAnswer,
    QuestionAnswer,
    ShownColumn,
    TableDescription,
    TableEntry,
    asked_of,
    rows_of,
)
from relserve.server.server import Server
from relserve.server.users.users import User
from relserve.session.history import QueryRecord
from relserve.session.progress import Progress
from relserve.text2sql.catalog.reading import read_schema
from relserve.text2sql.catalog.relations import relations_of
from relserve.text2sql.guard.deadline import LATE_S, deadline
from relserve.text2sql.guard.limits import limited
from relserve.text2sql.guard.watchdog import Watchdog

NUM_EXAMPLES = 5  # values of a column that are shown
_CURRENT = "SELECT system.main.current_database(), system.main.current_schema()"


class ToolWork:
    """One call of a tool.

    Args:
        user: who calls it.

    Attributes:
        client: what is told meanwhile.
        longest_s: seconds after which it is ended, the model's included; None: none.
        num_rows: that it has shown so far.
    """

    def __init__(self, server: Server, user: User, limits: ToolLimits) -> None:
        self._server, self._user, self._limits = server, user, limits
        own, options = user.longest_statement_s, server.options
        longest = options.statement_timeout_s, options.longest_statement_s if own is None else own
        self.client, self.longest_s = _ToolClient(), min(filter(None, longest), default=None)
        self.num_rows = self._num_tokens = 0
        self._is_cancelled = False
        self._con: Connection | None = None
        self._history: ClientHistory | None = None

    def cancel(self) -> None:
        """End what runs, in DuckDB and in the engine; from another thread, again and again until it ends."""
        self._is_cancelled = True
        if self._con is not None:
            self._con.interrupt()

    @contextmanager
    def connected(self) -> Iterator[ToolWork]:
        """The work has its connection inside.

        Raises:
            Cancelled: it was cancelled while it waited for a thread.
        """
        if self._is_cancelled:
            raise Cancelled("the call was cancelled before it began")
        user = as_plain(self._user)
        self._history = self._server.history(user)
        con = self._server.connect(user, self._history, self.client)
        spending = con.session.spending
        spending.statement = least(spending.statement, self._limits.asked)
        self._con = con
        try:
            yield self
        finally:
            self._con = None
            con.close()

    def num_tokens(self) -> int:
        """Tokens that it has taken so far, of prompts and replies."""
        self._num_tokens += 0 if self._history is None else self._history.num_tokens()
        return self._num_tokens

    # The tools.

    def list_tables(self) -> list[TableEntry]:
        """The tables and views of the database."""
        database, schema = self._raw.execute(_CURRENT).fetchall()[0]
        return [
            TableEntry(
                ".".join(map(_written, [each.schema, each.name][each.schema == schema :])),
                "view" if each.is_view else "table", each.num_rows, each.comment,
            )
            for each in relations_of(self._raw)
            if each.database == database
        ]  # fmt: skip

    def describe(self, name: str, num_examples: int = NUM_EXAMPLES) -> TableDescription:
        """A table's columns, with some values if the user may read them.

        Raises:
            UsageError: there is none of this name.
            ForbiddenError: the user may not read it.
        """
        guard = self._guard()
        with guard.reading(), self._watched():
            found = self._table(name, 0)
            if num_examples:
                guard.checked(f"FROM {found.sql_name}")
                found = self._table(name, num_examples)
        columns = [_entry(each) for each in found.columns]
        return TableDescription(found.sql_name, found.num_rows, found.comment, list(found.key), columns)

    def query(self, sql: str, max_rows: int | None = None) -> QueryAnswer:
        """The rows of one SELECT."""
        guard = self._guard()
        with self._held(sql), guard.reading():
            table, has_more, columns = self._rows(guard.checked(sql), max_rows)
        return QueryAnswer(columns, rows_of(table), has_more, *self._told())

    def ask(
        self, question: str, tables: Sequence[str] | None, evidence: str | None, effort: str | None
    ) -> QuestionAnswer:
        """The rows of a question in plain words, with the SQL that gave them."""
        guard = self._guard()
        given = {"tables": tables and list(tables), "evidence": evidence, "effort": effort}
        options = {name: value for name, value in given.items() if value is not None}
        with guard.reading():
            guard.check_question()
        found = self._own.text2sql(question, **options)
        with self._held(found.sql), guard.reading():
            table, has_more, columns = self._rows(guard.checked(found.sql), None)
        return QuestionAnswer(columns, rows_of(table), has_more, *self._told(), found.sql)

    def explain(self, sql: str) -> CostEstimate:
        """What one SELECT would ask a model; the part without llm calls runs, to count its rows."""
        guard = self._guard()
        with guard.reading():
            text = guard.checked(sql)
            with self._watched():
                found = self._own.explain_llm(text)
        calls = [
            CallCost(
                row["function"], row["template"], row["model"], row["rows"], row["distinct_prompts"],
                row["cached_answers"], row["prompt_tokens"], row["max_output_tokens"], row["seconds"],
                row["cost"], row["at_most"],
            )
            for row in found.table.to_pylist()
        ]  # fmt: skip
        return CostEstimate(found.total, calls, list(found.notes))

    def classify_column(
        self, table: str, column: str, choices: Sequence[str], question: str | None, max_rows: int
    ) -> Classification:
        """A label for each value of a column, of the first rows that are not NULL."""
        if len(choices) < 2:
            raise OptionError(f"choices has at least two labels, not {list(choices)!r}")
        guard = self._guard()
        most = min(max_rows, self._limits.rows)
        with guard.reading():
            found = self._table(table, 0)
            text = _labelling(found, _column_of(found, column), choices, question, most)
            labelled, _, _ = self._rows(guard.checked(text), most)
        values = rows_of(labelled)
        counts = Counter(label for _, label in values).most_common()
        return Classification([LabelCount(*each) for each in counts], values, *self._told())

    # How they do it.

    @property
    def _own(self) -> Connection:
        assert self._con is not None, "the work has a connection within `connected` alone"
        return self._con

    @property
    def _raw(self) -> Any:
        return self._own.raw

    def _guard(self) -> ReadingGuard:
        return ReadingGuard(self._own, self._user, self._server.users, self._server.rights)

    def _watched(self) -> Any:
        return Watchdog(self._raw, self._limits.statement, interrupt=self._own.interrupt).watching()

    def _held(self, sql: str) -> AbstractContextManager[None]:
        """DuckDB itself ends inside what asks no model, at the limit of time."""
        asks = not self._own.asks_nothing(sql)
        return nullcontext() if asks else deadline(self._raw, self._limits.statement)

    def _table(self, name: str, num_values: int) -> Table:
        (found,) = read_schema(self._raw, tables=[name], num_values=num_values).tables
        return found

    def _rows(self, text: str, max_rows: int | None) -> tuple[pa.Table, bool, list[ShownColumn]]:
        """The first rows of a text, whether there are more, and its columns."""
        most = min(max_rows or self._limits.rows, self._limits.rows)
        cut = f"SELECT * FROM (\n{text}\n) LIMIT {most + 1}"
        limits = self._limits.statement
        if self._own.asks_nothing(text):
            limits = limits._replace(seconds=limits.seconds + LATE_S)  # DuckDB ends it before: `_held`
        con = self._own.execute(limited(cut, limits))
        columns = [ShownColumn(each[0], str(each[1])) for each in con.description or ()]
        table = con.to_arrow_table()
        self.num_rows = min(len(table), most)
        return table.slice(0, most), len(table) > most, columns

    def _told(self) -> tuple[Any, list[str]]:
        assert self._history is not None
        asked = asked_of(self._history.taken())
        self._num_tokens += asked.tokens
        return asked, self.client.notes


def _written(name: str) -> str:
    """A name as SQL takes it, in quotes where it needs them."""
    return name if name.isascii() and name.isidentifier() else quoted(name)


def _entry(column: Column) -> ColumnEntry:
    points = column.references
    references = None if points is None else f"{points.table}.{points.column}"
    return ColumnEntry(column.name, column.sql_type, column.comment, references, list(column.values))


def _column_of(table: Table, name: str) -> Column:
    found = [each for each in table.columns if each.name.casefold() == name.casefold()]
    if not found:
        there = ", ".join(each.name for each in table.columns)
        raise UsageError(f"{table.sql_name} has no column {name!r}; it has: {there}")
    return found[0]


def _labelling(table: Table, column: Column, choices: Sequence[str], question: str | None, most: int) -> str:
    asked = question or f"Which of the choices fits this {column.name} best?"
    template = asked.replace("{", "{{").replace("}", "}}") + " {value}"
    listed = ", ".join(map(literal, choices))
    value = (
        f"SELECT {quoted(column.name)} AS value FROM {table.sql_name} WHERE {quoted(column.name)} IS NOT NULL"
    )
    call = f"llm_classify({literal(template)}, value, choices := [{listed}])"
    return f"WITH picked AS ({value} LIMIT {most}) SELECT value, {call} AS label FROM picked"


Work = Callable[[ToolWork], Any]


class _ToolClient(WireClient):
    """A `Client` (relserve_duckdb) that keeps what it is told, for whoever asks.

    Attributes:
        notes: lines about failed rows and the like.
        latest: the relQuery that got further last; None: none has begun.
    """

    def __init__(self) -> None:
        super().__init__(self._note)
        self.notes: list[str] = []
        self.latest: QueryRecord | None = None

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """See `Teller`."""
        yield self._update

    def _update(self, record: QueryRecord) -> None:
        self.latest = record

    def _note(self, severity: str, text: str, sqlstate: str | None = None) -> None:
        self.notes.append(text)
