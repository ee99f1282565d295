"""A real server on a free port, answered by the scripted engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.server.options import ServerOptions
from relserve.server.server import Server

Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers, which end with the test."""
    running: list[tuple[Server, threading.Thread]] = []

    def start(engine: ScriptedEngine | None = None, **options: Any) -> Server:
        server = Server(ServerOptions(port=0, **options), engine or ScriptedEngine())
        is_up = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(server.run(is_up.set)), daemon=True)
        thread.start()
        assert is_up.wait(10)
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.stop()
        thread.join(20)
        assert not thread.is_alive(), "the server did not end"


def connect(server: Server, **options: Any) -> psycopg.Connection[Any]:
    """A client of psycopg's."""
    given = {"host": "127.0.0.1", "port": server.port, "user": "ann", "dbname": "memory", **options}
    return psycopg.connect(**given)  # type: ignore[no-any-return]
