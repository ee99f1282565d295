"""A server that tests share which want nothing special of one: what they left in its database is dropped."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from concurrent.futures import Future

import duckdb

from relserve.engines.scripted import ScriptedEngine
from relserve.server.options import ServerOptions
from relserve.server.server import Server
from relserve.server.users.tries import Tries
from tests.waiting import PATIENCE_S

_MADE = {  # what a client may have made in the schema main, by the catalog's function and its column
    "VIEW": ("duckdb_views", "view_name"), "TABLE": ("duckdb_tables", "table_name"),
    "SEQUENCE": ("duckdb_sequences", "sequence_name"), "TYPE": ("duckdb_types", "type_name"),
}  # fmt: skip
_USER_SCHEMAS = "SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'memory' AND NOT internal"
_FUNCTIONS = (
    "SELECT function_name, function_type FROM duckdb_functions() "
    "WHERE database_name = 'memory' AND NOT internal"
)
_DATABASES = "SELECT database_name FROM duckdb_databases() ORDER BY ALL"


def started(options: ServerOptions, engine: ScriptedEngine) -> tuple[Server, threading.Thread]:
    """A server that listens, and its thread, in which its database was opened, too."""
    is_up: Future[Server] = Future()

    def serve() -> None:
        try:
            server = Server(options, engine)
            asyncio.run(server.run(lambda: is_up.set_result(server)))
        except BaseException as error:
            if is_up.done():
                raise
            is_up.set_exception(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return is_up.result(PATIENCE_S), thread


def ended(server: Server, thread: threading.Thread) -> None:
    """Stop a server, which may have been stopped."""
    if thread.is_alive():
        server.stop()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "the server did not end"


class PlainServer:
    """The server that is shared; a new one where a test stopped it or left what cannot be dropped."""

    def __init__(self) -> None:
        self._running: tuple[Server, threading.Thread] | None = None

    def get(self) -> Server:
        """The server, with nothing in its database."""
        if self._running is None:
            self._running = started(ServerOptions(port=0), ScriptedEngine())
        warnings.filterwarnings("ignore", message="Arrow output on a DB-API result")  # as each server does
        return self._running[0]

    def give_back(self) -> None:
        """A test is through with it."""
        if self._running is not None and not _emptied(*self._running):
            self.close()

    def close(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            ended(*running)


def _emptied(server: Server, thread: threading.Thread) -> bool:
    """Whether a server is again as it began."""
    if not thread.is_alive() or server._stopping.is_set():
        return False
    for state in server._states():
        server._loop.call_soon_threadsafe(state.terminate)
    for worker in list(server._workers):
        worker.join(PATIENCE_S)
    if server._workers:
        return False
    server._tries, server._key_tries = Tries(time.monotonic), Tries(time.monotonic)
    con = server._database._raw
    schemas = [f'DROP SCHEMA "{name}" CASCADE' for (name,) in con.execute(_USER_SCHEMAS).fetchall()]
    made = [
        f'DROP {kind} IF EXISTS main."{name}" CASCADE'
        for kind, (listed, column) in _MADE.items()
        for (name,) in con.execute(
            f"SELECT {column} FROM {listed}() WHERE database_name = 'memory' AND schema_name = 'main'"
            + ("" if kind == "SEQUENCE" else " AND NOT internal")
        ).fetchall()
    ]
    macros = [
        f'DROP MACRO {"TABLE " if kind == "table_macro" else ""}main."{name}"'
        for name, kind in set(con.execute(_FUNCTIONS).fetchall())
    ]
    try:
        for drop in (*schemas, *made, *macros):
            con.execute(drop)
    except duckdb.Error:
        return False  # one of them needs another
    return con.execute(_DATABASES).fetchall() == [("_pg",), ("memory",), ("system",), ("temp",)]
