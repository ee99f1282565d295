"""A real server on a free port, answered by the scripted engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.server.options import ServerOptions
from relserve.server.server import Server
from tests.server.client.plain_server import PlainServer, ended, started
from tests.server.client.rights_scene import Client, client, serving

Serve = Callable[..., Server]


@pytest.fixture(scope="session")
def plain_server() -> Iterator[PlainServer]:
    server = PlainServer()
    yield server
    server.close()


@pytest.fixture
def serve(plain_server: PlainServer) -> Iterator[Serve]:
    """Starts servers, which end with the test; without an engine or options, one that others use, too."""
    running: list[tuple[Server, threading.Thread]] = []
    shares: list[Server] = []

    def start(engine: ScriptedEngine | None = None, **options: Any) -> Server:
        if engine is None and not options and not shares:
            shares.append(plain_server.get())
            return shares[0]
        running.append(started(ServerOptions(port=0, **options), engine or ScriptedEngine()))
        return running[-1][0]

    yield start
    if shares:
        plain_server.give_back()
    for server, thread in running:
        ended(server, thread)


def connect(server: Server, **options: Any) -> psycopg.Connection[Any]:
    """A client of psycopg's."""
    given = {"host": "127.0.0.1", "port": server.port, "user": "ann", "dbname": "memory", **options}
    return psycopg.connect(**given)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def rights_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with users; what a test changes in its database the next one finds."""
    with serving(tmp_path_factory.mktemp("rights")) as server:
        yield server


@pytest.fixture
def root(rights_server: Server) -> Iterator[Client]:
    """An admin, who has a table that nobody else may read, and one that all may."""
    with client(rights_server, "root") as con:
        con.execute("CREATE OR REPLACE TABLE secret AS SELECT 'hidden' AS a")
        con.execute("REVOKE ALL ON secret FROM PUBLIC")
        con.execute("CREATE OR REPLACE TABLE shown AS SELECT 1 AS x")
        yield con


@pytest.fixture
def eve(rights_server: Server, root: Client) -> Iterator[Client]:
    """A user without rights on the first."""
    with client(rights_server, "eve") as con:
        yield con
