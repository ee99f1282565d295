"""Versions of the protocol: what is agreed on, and the keys that cancel."""

from __future__ import annotations

import struct
import threading
from typing import Any

import psycopg
import pytest

from relserve.server.server import Server
from tests.server.client.conftest import Serve, connect
from tests.server.client.raw_client import RawClient, startup
from tests.waiting import PATIENCE_S

LONG = "SELECT count(*) FROM range(1000000000000000000) t(x) WHERE hash(x) % 7 = 1"


def greeting(server: Server, minor: int, **parameters: str) -> dict[bytes, bytes]:
    """The messages until the server is ready, by their kinds."""
    with RawClient(server) as client:
        client.send(startup(minor, **parameters))
        return client.until(b"Z")


@pytest.mark.parametrize(
    ("minor", "agreed", "key_bytes"), [(0, None, 4), (1, None, 4), (2, None, 32), (3, 2, 32), (9999, 2, 32)]
)
def test_a_version_is_agreed_on(serve: Serve, minor: int, agreed: int | None, key_bytes: int) -> None:
    told = greeting(serve(), minor)
    assert len(told[b"K"]) == 4 + key_bytes
    assert told.get(b"v") == (None if agreed is None else struct.pack("!ii", 3 << 16 | agreed, 0))


def test_options_of_the_protocol_are_told_to_be_unknown(serve: Serve) -> None:
    told = greeting(serve(), 2, **{"_pq_.x": "1"})
    assert told[b"v"] == struct.pack("!ii", 3 << 16 | 2, 1) + b"_pq_.x\0"


def cancelled(con: psycopg.Connection[Any]) -> bool:
    """Whether a statement is cancelled by the client's own means."""
    has_ended = threading.Event()

    def cancel() -> None:
        while not has_ended.wait(0.05):  # one that comes before the server has begun the statement is ignored
            if con.info.transaction_status == 1:  # ACTIVE
                con.cancel_safe()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        con.execute(LONG)
    has_ended.set()
    thread.join(PATIENCE_S)
    return True


@pytest.mark.parametrize("version", ["3.0", "3.2", "latest"])
def test_libpq_cancels_in_each(serve: Serve, version: str) -> None:
    if psycopg.pq.version() < 180_000:
        pytest.skip("libpq speaks 3.2 from 18 on")
    con = connect(serve(), max_protocol_version=version, cursor_factory=psycopg.ClientCursor)
    assert cancelled(con)


def test_a_part_of_a_key_is_none(serve: Serve) -> None:
    server = serve()
    with RawClient(server) as client:
        client.send(startup(2))
        key = client.until(b"Z")[b"K"][4:]
        (state,) = server._states()
        assert state.is_key(key)
        assert not any(map(state.is_key, (key[:4], key[:31], key + b"\0", b"")))
