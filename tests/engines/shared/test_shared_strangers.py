"""Strangers at a shared engine's socket: other users, what is no engine, what never answers."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from asking import TIMEOUT_S, ask

from relserve.engines.loop import spawn
from relserve.engines.shared import place as place_module
from relserve.engines.shared import start as start_module
from relserve.engines.shared import wire
from relserve.engines.shared.place import run_folder
from relserve.errors import EngineStartError
from relserve.resident import process as process_module

PROMPTS = [f"How was dish {i}?" for i in range(10)]


def test_another_users_folder_is_refused(make, run_dir, monkeypatch):
    run_folder()
    monkeypatch.setattr(place_module.os, "getuid", lambda: 54321)
    with pytest.raises(EngineStartError, match="belongs to another user"):
        ask(make(), PROMPTS)


def test_a_folder_that_others_may_enter_is_refused(make, run_dir):
    run_folder().chmod(0o755)
    with pytest.raises(EngineStartError, match="chmod 700"):
        ask(make(), PROMPTS)
    (run_dir / "relserve").chmod(0o700)


def test_a_client_refuses_another_users_process(make, monkeypatch):
    engine = make()
    ask(engine, PROMPTS)
    monkeypatch.setattr(start_module, "is_own", lambda connection: False)
    with pytest.raises(EngineStartError, match="is another user's"):
        ask(make(), PROMPTS)


class OfUser:
    """A connection whose other end is a process of this user, as the kernel tells it."""

    def __init__(self, uid: int) -> None:
        self.uid = uid

    def getsockopt(self, *what: int) -> bytes:
        return struct.pack("3i", 1, self.uid, 1)


def test_the_peers_user_is_what_the_kernel_says():
    one, other = socket.socketpair()
    with one, other:
        assert wire.is_own(one)
    assert wire.is_own(OfUser(os.getuid()))
    assert not wire.is_own(OfUser(os.getuid() + 1))


def test_the_process_does_not_even_greet_another_user(monkeypatch):
    monkeypatch.setattr(process_module, "is_own", lambda connection: False)
    answered: list[bytes] = []

    async def talk(folder: Path) -> None:
        server = await asyncio.start_unix_server(
            partial(process_module.Process._connected, SimpleNamespace(_connections=set())), folder / "s"
        )
        reader, writer = await asyncio.open_unix_connection(folder / "s")
        await wire.write_json(writer, {"service": "status"})
        with suppress(ConnectionError):
            answered.append(await reader.read())
        server.close()

    with tempfile.TemporaryDirectory() as folder:
        spawn(talk(Path(folder))).result(timeout=TIMEOUT_S)
    assert answered in ([], [b""])


def test_what_never_answers_is_not_waited_for(make, monkeypatch):
    engine = make()
    monkeypatch.setattr(start_module, "GREETING_S", 0.3)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(engine.place.socket))
        listening.listen()
        with pytest.raises(EngineStartError, match="does not answer"):
            ask(engine, PROMPTS)


def test_what_is_no_engine_is_told(make):
    engine = make()

    async def talk_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async def serve() -> asyncio.Server:
        return await asyncio.start_unix_server(talk_http, engine.place.socket)

    server = spawn(serve()).result()
    with pytest.raises(Exception, match="no engine of relserve"):
        ask(engine, PROMPTS)

    async def close() -> None:
        server.close()

    spawn(close()).result()
