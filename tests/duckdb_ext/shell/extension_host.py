"""The extension's hosts and the service that it asks, for tests."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from relserve.cli.shell_install import START_UP
from relserve.engines.loop import spawn
from relserve.engines.scripted import ScriptedEngine
from relserve.engines.shared.wire import read_json, write_json
from relserve.resident.calls import serve_calls
from relserve.session.session import Session
from tests.waiting import PATIENCE_S, wait_until

HAS_SHELL = find_spec("duckdb_cli") is not None
needs_shell = pytest.mark.skipif(not HAS_SHELL, reason="the duckdb command (duckdb-cli) is not installed")


class Service:
    """The service of a resident engine over a scripted one, on a socket of its own."""

    def __init__(self, socket: Path, session: Session, engine: ScriptedEngine) -> None:
        self.socket, self.engine, self._session = socket, engine, session
        self.greetings: list[dict[str, Any]] = []
        self.refusal = ""  # said to whoever connects, if it is not empty
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._connected, self.socket)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.close()

    @property
    def num_open(self) -> int:
        """Sockets that are open now."""
        return len(self._open)

    def hang_up(self) -> None:
        """Close every socket that is open, as a process that ends does; it listens on."""

        async def close() -> None:
            for writer in self._open:
                writer.transport.abort()

        spawn(close()).result(timeout=PATIENCE_S)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            hello = await read_json(reader)
            self.greetings.append(hello)
            if self.refusal:
                await write_json(writer, {"error": self.refusal})
                return
            await write_json(writer, {"ok": True, "model": self.engine.model})
            await serve_calls(hello, reader, writer, self._session)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()


@contextlib.contextmanager
def serving(engine: ScriptedEngine, session: Session | None = None) -> Iterator[Service]:
    """A service that runs while inside."""
    with tempfile.TemporaryDirectory(prefix="rs") as folder:  # a socket's path must be short
        service = Service(Path(folder) / "s", session or Session(lambda model: engine), engine)
        spawn(service.start()).result(timeout=PATIENCE_S)
        try:
            yield service
        finally:
            spawn(service.stop()).result(timeout=PATIENCE_S)


class Installed(NamedTuple):
    """The extension with its start-up texts."""

    extension: Path

    def start_up(self, duckdb_major: int) -> Path:
        return self.extension.with_name(START_UP[duckdb_major])

    def connect(self, service: Service, path: str = ":memory:") -> duckdb.DuckDBPyConnection:
        """A connection of this process's DuckDB that has the functions."""
        con = duckdb.connect(path, config={"allow_unsigned_extensions": "true"})
        self.load(con, service)
        return con

    def load(self, con: duckdb.DuckDBPyConnection, service: Service) -> None:
        """Give a connection the functions."""
        major = int(duckdb.__version__.split(".")[0])
        con.execute(self.start_up(major).read_text(encoding="utf-8"))
        con.execute(f"SET llm_socket = '{service.socket}'")

    def shell(self, service: Service, sql: str, *options: str, cwd: Path | None = None) -> Ran:
        """The stock duckdb command on these statements."""
        command = [sys.executable, "-m", "duckdb_cli", "-unsigned", "-init", str(self.start_up(1)), *options]
        done = subprocess.run(
            command, input=f"SET llm_socket = '{service.socket}';\n{sql}\n", cwd=cwd,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        return Ran(done.stdout, done.stderr)


@contextlib.contextmanager
def interrupted_when(condition: Callable[[], object]) -> Iterator[None]:
    """This process gets a SIGINT once the condition holds, which raises nothing by itself."""

    def interrupt() -> None:
        wait_until(condition)
        os.kill(os.getpid(), signal.SIGINT)

    former = signal.signal(signal.SIGINT, lambda *_: None)
    ours = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        is_ours = signal.getsignal(signal.SIGINT) is ours
        signal.signal(signal.SIGINT, former)
    assert is_ours


class Ran(NamedTuple):
    """What a command wrote."""

    out: str
    err: str


Serve = Callable[..., Service]
