"""A DuckDB connection with the llm functions: behaves like one, and asks each statement's rows at once."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from functools import partial
from typing import Any

import duckdb

from relserve.session import Session
from relserve_duckdb.frames import Variables
from relserve_duckdb.interrupts import guarded
from relserve_duckdb.macros import Functions
from relserve_duckdb.runner import Runner
from relserve_duckdb.scope import Scope

FETCHES = frozenset(
    "fetchone fetchmany fetchall fetchdf fetch_df df fetch_df_chunk fetchnumpy pl torch tf "
    "to_arrow_table to_arrow_reader".split()
)


class Connection:
    """A `duckdb.DuckDBPyConnection` that knows llm(), as a proxy (DuckDB's class cannot be subclassed).

    Attributes:
        raw: DuckDB's own connection; the functions work there too, without prefetch.
        session: what answers.
    """

    def __init__(
        self, raw: duckdb.DuckDBPyConnection, session: Session, progress: bool | None, prefetch: bool
    ) -> None:
        self.raw = raw
        self.session = session
        self._scope = Scope(session, progress)
        self._lock = threading.RLock()
        self._functions = Functions(self._scope)
        self._functions.register(raw)
        self._functions.create_macros(raw)
        self._runner = Runner(raw, self._scope, self._functions, prefetch)

    @property
    def __relserve_raw__(self) -> duckdb.DuckDBPyConnection:
        return self.raw

    def execute(self, query: Any, parameters: Any = None) -> Connection:
        """As `DuckDBPyConnection.execute`."""
        variables = Variables(sys._getframe(1))
        with self._lock:
            self._scope.begin_statement()
            if isinstance(query, str) and "llm" not in query.lower():
                variables.call(self.raw.execute, query, parameters)
            else:
                with guarded(self._scope, self.raw):
                    self._runner.execute(variables, query, parameters)
        return self

    def cursor(self) -> Connection:
        """A new connection to the same database, with the functions (TEMP macros are not shared)."""
        return Connection(self.raw.cursor(), self.session, self._scope.show_progress, self._runner.prefetches)

    def interrupt(self) -> None:
        """Stop the running statement from another thread; its requests are aborted in the engine."""
        self._scope.cancel.set()
        self.raw.interrupt()

    def close(self) -> None:
        """Close; a result that is still streaming asks nothing more."""
        self.interrupt()
        with self._lock:
            with suppress(duckdb.Error):
                self._functions.remove(self.raw)
            self._runner.close()
            self.raw.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.raw, name)
        return partial(self._fetch, found) if name in FETCHES else found

    def _fetch(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock, guarded(self._scope, self.raw):
            return method(*args, **kwargs)
