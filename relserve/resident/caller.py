"""One DuckDB connection that asks through the extension: its statements, its history, its requests."""

from __future__ import annotations

import json
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
from relserve_duckdb.text.call_limits import varying_option, varying_template
from relserve_duckdb.udf.handlers import Running
from relserve_duckdb.udf.site import Chunk, make_chunk, sql_type_of
from relserve_duckdb.udf.statement_run import Execution, StatementRun

from relserve.call.options import FUNCTIONS
from relserve.call.values import texts_of, values_of
from relserve.call.vector_text import json_of_text
from relserve.errors import Cancelled, EngineError, OptionError, UsageError
from relserve.resident.columns import column_bytes
from relserve.resident.request import ResidentRequest
from relserve.session.foreign_tables import ForeignTables
from relserve.session.history import ERROR_SCHEMA, QUERY_SCHEMA, History
from relserve.session.notices import habits, summary
from relserve.session.progress import Progress
from relserve.session.session import Session

MAX_STATEMENTS = 2  # of a connection whose answers are kept: a host may read the result before the last


class _Asking(threading.local):
    """The request that a thread answers; the teller of a statement serves all of its threads."""

    request: ResidentRequest | None = None


class _Teller:
    """Tells the socket whose thread asks."""

    def __init__(self) -> None:
        self.asking = _Asking()

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """See `Teller.progress`."""
        if self.asking.request is None:
            yield None
            return
        with self.asking.request.progress() as show:
            yield show

    def warn_of_failures(self, history: History, statement: int) -> bool:
        """See `Teller.warn_of_failures`."""
        for line in habits(history, statement):
            self.say(line)
        text = summary(history, statement)
        if text and self.asking.request is not None:
            self.asking.request.notice(text)
        return bool(text)

    def say(self, text: str) -> None:
        """A notice of the session's."""
        if self.asking.request is not None:
            self.asking.request.notice(text)


class ExtensionConnection:
    """One DuckDB connection; several sockets, a thread each, may ask for it at once.

    Args:
        session: what answers; the connection has a history of its own.
        aggregates: the caller under whose name the instance's aggregates ask, for DuckDB does not tell an
            aggregate its connection; None: this is the one.
    """

    def __init__(self, session: Session, aggregates: ExtensionConnection | None) -> None:
        history, self._teller, self._aggregates = History(), _Teller(), aggregates
        judge = ForeignTables(self._teller.say, history) if session.foreign_tables is not None else None
        self._session = replace(session, history=history, foreign_tables=judge)
        self._runs: OrderedDict[int, StatementRun] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, request: ResidentRequest) -> tuple[str, bytes]:
        """The kind and the body of what goes back; blocks until all rows are answered.

        Raises:
            RelserveError: what the client is to be told instead.
        """
        request.read()
        asks: dict[str, Callable[[ResidentRequest], tuple[str, bytes]]] = {
            "rows": self._rows, "texts": self._texts, "table": self._table
        }  # fmt: skip
        ask = asks.get(str(request.asked.get("ask")))
        if ask is None:
            raise EngineError(f"DuckDB's extension asks what this release does not know: {request.asked}")
        self._teller.asking.request = request
        return ask(request)

    def close(self) -> None:
        """The connection is gone."""
        with self._lock:
            for run in self._runs.values():
                run.close()
            self._runs.clear()

    def _rows(self, request: ResidentRequest) -> tuple[str, bytes]:
        num_rows = int(request.asked["rows"])
        chunk = _read_rows(request, num_rows)
        if chunk is None:
            return "A", column_bytes([None] * num_rows)
        for model in chunk.site.options.models:
            self._session.model_hosts.check(model)
        number = int(request.asked["statement"])
        run = self._run_of(number)
        request.belongs_to(run)
        handler = Running(run)
        try:
            handler.check()
            values = handler.answer(chunk)
        except Cancelled:
            self._forget(number, run)
            raise
        if not FUNCTIONS[chunk.site.function].aggregate:  # whose record counts parts of groups
            run.count_rows(chunk.site, chunk.num_rows, chunk.prompts.count(None))
        run.warn()
        if sql_type_of(chunk.site.function).endswith("[]"):
            values = [None if value is None else json_of_text(value) for value in values]
        return "A", column_bytes(values)

    def _texts(self, request: ResidentRequest) -> tuple[str, bytes]:
        column = request.columns().column(int(request.asked["rows"]))
        return "A", column_bytes(texts_of(column))

    def _table(self, request: ResidentRequest) -> tuple[str, bytes]:
        name = request.asked.get("name")
        callers = [self, *([self._aggregates] if self._aggregates else [])]
        histories = [caller._session.history for caller in callers]
        rows = [
            row
            for each in histories
            for row in (each.query_rows() if name == "llm_queries" else each.error_rows())
        ]
        schema = QUERY_SCHEMA if name == "llm_queries" else ERROR_SCHEMA
        columns = [column_bytes([row[field] for row in rows]) for field in schema.names]
        return "T", struct.pack("<I", len(rows)) + b"".join(columns)

    def _run_of(self, number: int) -> StatementRun:
        """The statement of this number; those before it are closed, and the oldest forgotten."""
        with self._lock:
            if number not in self._runs:
                for run in self._runs.values():
                    run.close()
                execution = Execution(number=number)  # the extension's: one count for a whole instance
                self._runs[number] = StatementRun(self._session, self._teller, execution, True, lambda: 0)
                while len(self._runs) > MAX_STATEMENTS:
                    self._runs.popitem(last=False)
            return self._runs[number]

    def _forget(self, number: int, run: StatementRun) -> None:
        """A statement was cancelled: if it is run once more, as a prepared one may be, it starts anew."""
        run.close()
        with self._lock:
            if self._runs.get(number) is run:
                del self._runs[number]


def _read_rows(request: ResidentRequest, num_rows: int) -> Chunk | None:
    """The chunk that a request asks about; None: its template is NULL.

    Raises:
        UsageError: the call is wrong; see `make_chunk`.
    """
    asked = request.asked
    function, template, options = str(asked["function"]), asked["template"], asked["options"]
    if function not in FUNCTIONS:
        raise EngineError(f"this release has no function {function}()")
    if template is False:
        raise UsageError(varying_template(function))
    if options is False:
        raise OptionError(varying_option(function))
    if template is None:
        return None
    reader = request.columns()
    given = [reader.column(num_rows) for _ in range(int(asked["values"]))]
    if options is True:  # they are a struct, and come behind the values
        options = _options_text(function, reader.column(1))
    return make_chunk(function, template, options, given, num_rows)


def _options_text(function: str, column: pa.Array) -> str:
    (options,) = values_of(column)
    if not isinstance(options, dict):
        raise OptionError(f"the options of {function}() are a struct: {{max_tokens: 20}}")
    return json.dumps(options)
