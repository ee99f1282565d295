"""What the lock says of a text, as a server asks it, and a child process that runs what it lets through."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from benchmarks.lock.names import TABLES
from relserve.errors import RelserveError
from relserve.server.catalog import Catalog, attach_catalog
from relserve.server.client.executor import Executor
from relserve.server.client.split import split
from relserve.server.users.lockdown import check_allowed, open_locked
from relserve.server.users.users import User

USER = User("mallory")


class LockedClientFacts:
    """Of the client whose texts they are."""

    pid, user, is_admin = 7, USER.name, False

    def setting(self, name: str) -> str | None:
        """None is known."""


class LockVerdict(NamedTuple):
    """What the lock says of a text.

    Attributes:
        runs: the statements that may run, in DuckDB's words; they end where one is refused.
        refusal: why one is; empty: none is.
        is_unreadable: whether DuckDB cannot read one.
    """

    runs: list[str]
    refusal: str
    is_unreadable: bool


class Locked:
    """A locked DuckDB as a server has it, for a plain user."""

    def __init__(self) -> None:
        self._con = open_locked(":memory:", prepare=attach_catalog)
        catalog = Catalog(self._con, lambda: pa.table({}), lambda connection, pid, kind: False)
        self._con.execute(TABLES)
        nothing: Any = None
        self._executor = Executor(
            nothing, catalog, LockedClientFacts(), self._check, nothing, in_transaction=lambda: False
        )
        self._catalog = catalog

    def says(self, text: str) -> LockVerdict:
        """What becomes of a text in one message of the simple protocol."""
        runs: list[str] = []
        for part in split(text):
            try:
                runs.append(self._allowed(part))
            except (RelserveError, _SeveralError) as error:
                return LockVerdict(runs, str(error) or "several statements", False)
            except duckdb.Error:
                return LockVerdict(runs, "", True)
        return LockVerdict(runs, "", False)

    def _allowed(self, part: str) -> str:
        runnable = self._executor.runnable(part)
        try:
            self._check(runnable)
        except duckdb.Error:
            other = self._catalog.in_duckdbs_words(runnable)
            if other is None or other == runnable:
                raise
            self._check(other)
            return other
        return runnable

    def _check(self, text: str) -> Any:
        allowed = check_allowed(self._con, text, USER)
        if len(allowed) > 1:
            raise _SeveralError
        return allowed


class _SeveralError(Exception):
    """A part of a text is several statements, which a server refuses."""


class LockedChild:
    """A process that runs texts; another one takes its place where it ends over one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = self._started()

    def run(self, statements: list[str]) -> tuple[int, list[str]]:
        """How many statements ran, and what they did that is not a plain user's to do."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(statements) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.end()
            self._process = self._started()
            return 0, ["the process ended"]
        num_run, found = json.loads(answer)
        return int(num_run), list(found)

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.lock.child", str(self._folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip
