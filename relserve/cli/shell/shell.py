"""The shell's state: the open database and the display; it runs one statement and shows what it gives."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa
from duckdb import StatementType as Type

from relserve.api import Connection
from relserve.cli.shell.display import Display

_DONE = {
    Type.INSERT: "inserted", Type.UPDATE: "updated", Type.DELETE: "deleted", Type.COPY: "copied",
    Type.CREATE: "written", Type.MERGE_INTO: "merged",
}  # fmt: skip
_RETURNING = re.compile(r"(?i)\breturning\b")
_Result = TypeVar("_Result")
_AGAIN_S = 0.1  # between interrupts, for one may come before there is anything to interrupt
PATIENCE_S = 3.0  # without an end after the first Ctrl-C, until the way out is told
_PRESSES = 3  # of Ctrl-C, after which what cannot be cancelled is left
STUCK = f"\nstill at work; Ctrl-C {_PRESSES} times leaves at once"


class Leave(Exception):
    """Somebody wants to leave the shell."""


class ShellOutcome(NamedTuple):
    """What a statement gave: rows, how many it changed and in which way, or nothing."""

    rows: pa.Table | None = None
    num_changed: int | None = None
    verb: str = ""


class Shell:
    """A connection, and how its results are shown.

    Args:
        connect: opens a database's file; None stands for one in memory.
        database: what to open first.
        is_interactive: a person reads along, and is told what was changed too.

    Attributes:
        num_statements: how many have run; names in the database are the same as long as it is.
        depth: how many scripts are being read, one from another.
    """

    def __init__(
        self,
        connect: Callable[[Path | None], Connection],
        database: Path | None,
        display: Display,
        is_interactive: bool,
    ) -> None:
        self._connect, self.display, self.is_interactive = connect, display, is_interactive
        self.num_statements, self.depth = 0, 0
        self.database = database
        self.con = self._opened(database)

    def open(self, database: Path | None) -> None:
        """Open a database, and close the one before.

        Raises:
            duckdb.Error: it cannot be opened; the one before stays open.
        """
        con = self._opened(database)
        self.con.close()
        self.con, self.database = con, database
        self.num_statements += 1

    def _opened(self, database: Path | None) -> Connection:
        return self._connect(database)

    def close(self) -> None:
        """Close the database and the file of `.output`."""
        self.display.close()
        self.con.close()

    def run(self, statement: str) -> None:
        """Run one statement and show its result. Ctrl-C cancels it.

        Raises:
            duckdb.Error, RelserveError: as `Connection.execute`; duckdb.InterruptException after Ctrl-C.
        """
        started_s, before = time.perf_counter(), os.times()
        outcome = self.ask(statement)
        seconds, after = time.perf_counter() - started_s, os.times()
        if outcome.rows is not None:
            self.display.show(outcome.rows)
        elif outcome.num_changed is not None and self.is_interactive:
            self.display.say(_changed(outcome.num_changed, outcome.verb))
        if self.display.timer:
            user_s, system_s = after.user - before.user, after.system - before.system
            self.display.say(f"Run Time (s): real {seconds:.3f} user {user_s:.3f} sys {system_s:.3f}")

    def ask(self, statement: str, parameters: object = None) -> ShellOutcome:
        """Run one statement and give its result; raises as `run`."""
        self.num_statements += 1
        work = partial(_outcome, self.con, statement, parameters)
        return run_cancellable(work, self.con.interrupt)


def _outcome(con: Connection, statement: str, parameters: object) -> ShellOutcome:
    con.execute(statement, parameters)  # not con.sql, whose errors lack their place
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)
        rows: pa.Table | None = con.to_arrow_table()
    if rows is None:  # as after CREATE VIEW
        return ShellOutcome()
    if rows.column_names not in (["Count"], ["Success"]) or _RETURNING.search(statement):
        return ShellOutcome(rows)
    kind = con.raw.extract_statements(statement)[-1].type
    if kind == Type.SELECT:
        return ShellOutcome(rows)
    if kind in _DONE and rows.num_rows == 1:
        return ShellOutcome(num_changed=rows.column(0)[0].as_py(), verb=_DONE[kind])
    return ShellOutcome()


def _changed(number: int, verb: str) -> str:
    return f"{number:,} {'row' if number == 1 else 'rows'} {verb}"


def run_cancellable(work: Callable[[], _Result], interrupt: Callable[[], None]) -> _Result:
    """The result of `work`; Ctrl-C calls `interrupt` until the work ends. For the main thread.

    Where that is of no use, as while DuckDB waits for a server, Ctrl-C `_PRESSES` times ends the process.

    Raises:
        Exception: what `work` raises, after an interrupt too.
    """
    future: Future[_Result] = Future()
    pressed_s: list[float] = []
    former = signal.signal(signal.SIGINT, lambda *_: pressed_s.append(time.monotonic()))
    try:
        threading.Thread(target=_settle, args=(future, work), daemon=True, name="relserve shell").start()
        is_told = False
        while not wait([future], _AGAIN_S).done:
            if len(pressed_s) >= _PRESSES:
                os._exit(130)  # an orderly end would wait for the work
            if pressed_s:
                interrupt()
            if pressed_s and not is_told and time.monotonic() - pressed_s[0] > PATIENCE_S:
                is_told = True
                sys.stderr.write(STUCK + "\n")
    finally:
        signal.signal(signal.SIGINT, former)
    return future.result()


def _settle(future: Future[_Result], work: Callable[[], _Result]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
