"""Runs a text on three connections (with prefetch, without, and the oracle's) and says what came of it."""

from __future__ import annotations

import re
import threading
from collections import Counter
from typing import Any, NamedTuple

import duckdb
from sql_cases import ORACLE, SMALL_TABLES, by_digit
from sql_fixtures import Made, make

from relserve.errors import RelserveError

LIMIT_S = 60.0  # a text that runs longer hangs
_CHANGES = re.compile(
    r"(?i)\b(insert|update|delete|create|drop|set|reset|begin|commit|rollback|start|abort|prepare|execute|copy"
    r"|merge|alter|attach|detach|use|call|pragma|load|install|export|import|truncate|checkpoint|vacuum|analyze"
    r"|deallocate|comment)\b"
)
_QUIET = "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false; SET threads = 1;"

seen: Counter[str] = Counter()  # what came of all texts so far, for the report


class Outcome(NamedTuple):
    """What a text gave: rows, or an error."""

    rows: list[tuple[Any, ...]] | None
    error: Exception | None

    @property
    def kind(self) -> str:
        return "rows" if self.error is None else type(self.error).__name__

    def shown(self) -> str:
        return repr(self.rows) if self.error is None else f"{self.kind}: {str(self.error)[:300]}"


class World:
    """The connections and their small tables; made anew after a text that may have changed something."""

    def __init__(self) -> None:
        self._made: tuple[Made, Made] | None = None
        self._oracle: duckdb.DuckDBPyConnection | None = None

    def run(self, text: str, parameters: Any = None) -> tuple[Outcome, Outcome, Outcome]:
        """With prefetch, without, and the oracle's."""
        made, plain, oracle = self._connections()
        outcomes = tuple(_run(con, text, parameters) for con in (made.con, plain.con, oracle))
        if _CHANGES.search(text):
            self.end()
        seen[outcomes[0].kind] += 1
        return outcomes  # type: ignore[return-value]

    def asked(self) -> int:
        """Prompts so far, on the connection with prefetch."""
        return self._connections()[0].engine.num_prompts

    def end(self) -> None:
        """Close all three."""
        for made in self._made or ():
            made.con.close()
        if self._oracle is not None:
            self._oracle.close()
        self._made = self._oracle = None

    def _connections(self) -> tuple[Made, Made, duckdb.DuckDBPyConnection]:
        if self._made is None or self._oracle is None:
            self._made = (make(tables=False, script=by_digit), make(False, tables=False, script=by_digit))
            self._oracle = duckdb.connect()
            self._oracle.execute(ORACLE)
            for con in (*[made.con for made in self._made], self._oracle):
                con.execute(_QUIET + SMALL_TABLES)
        return (*self._made, self._oracle)


def _run(con: Any, text: str, parameters: Any) -> Outcome:
    stop = threading.Timer(LIMIT_S, con.interrupt)
    stop.start()
    try:
        result = con.execute(text, parameters)
        rows = result.fetchall() if result is not None and result.description else []  # a comment alone
        if "explain" in text.lower():
            return Outcome([], None)  # plans differ in the names of the functions
        return Outcome(sorted(rows, key=repr), None)
    except duckdb.InterruptException as error:
        raise AssertionError(f"hangs: {text}") from error
    except (duckdb.Error, RelserveError, UnicodeDecodeError) as error:  # the last: DuckDB's, of some BLOBs
        return Outcome(None, error)
    finally:
        stop.cancel()
