"""A server with users, in which rights are granted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from relserve.engines.scripted import ScriptedEngine
from relserve.server.options import ServerOptions
from relserve.server.server import Server
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier
from tests.waiting import PATIENCE_S

PASSWORD = "secret"
Client = psycopg.Connection[Any]
USERS = [
    User("root", is_admin=True), User("ann"), User("bob"), User("eve"), User("reader", is_read_only=True),
]  # fmt: skip


@contextmanager
def serving(folder: Path, users: list[User] = USERS, **options: Any) -> Iterator[Server]:
    """A server with a database file and some users."""
    kept = Users(folder / "users.json")
    verifier = make_verifier(PASSWORD)
    for user in users:
        kept.put(User(**{**vars(user), "verifier": verifier}))
    kept.save()
    server = Server(ServerOptions(folder / "shop.db", port=0, users=kept.path, **options), ScriptedEngine())
    is_up = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(server.run(is_up.set)), daemon=True)
    thread.start()
    assert is_up.wait(PATIENCE_S)
    try:
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE_S)


def client(server: Server, user: str, **options: Any) -> Client:
    """A client of a user's."""
    given = {"host": "127.0.0.1", "port": server.port, "dbname": "shop", "autocommit": True, **options}
    return psycopg.connect(user=user, password=PASSWORD, **given)  # type: ignore[no-any-return]


def said(con: Client, text: str) -> str:
    """What a client is told: its rows, the command tag, or SQLSTATE and message of an error."""
    try:
        done = con.execute(text)
        return str(done.fetchall()) if done.description else str(done.statusmessage)
    except psycopg.Error as error:
        return f"{error.sqlstate} {error.diag.message_primary}"
