"""Messages of which only a part comes: their clients are told and hung up on, and nobody else is."""

from __future__ import annotations

import struct

import pytest

from tests.server.client.conftest import Serve
from tests.server.client.raw_client import RawClient, message, startup

QUERY = message(b"Q", b"SELECT 1\0")
COPY = message(b"Q", b"CREATE TABLE t (a INT)\0") + message(b"Q", b"COPY t FROM STDIN\0")


@pytest.mark.parametrize(
    ("before", "cut"),
    [
        (b"", startup()[:9]), (b"", startup()[:2]), (startup(), QUERY[:3]), (startup(), QUERY[:-1]),
        (startup() + QUERY, struct.pack("!ci", b"P", 1 << 27) + b"x" * 1000),
        (startup() + COPY, message(b"d", b"1\n2\n")[:7]),
    ],
)  # fmt: skip
def test_the_rest_of_a_message_is_not_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, before: bytes, cut: bytes
) -> None:
    monkeypatch.setattr("relserve.server.client.channel.REST_S", 0.1)
    server = serve()
    with RawClient(server) as whole, RawClient(server) as half:
        whole.send(startup())
        whole.until(b"Z")
        half.send(before + cut)
        *_, (kind, told) = half.messages()
        assert kind == b"E"
        assert b"FATAL" in told
        assert b"08P01" in told
        assert b"no more of it came" in told
        whole.send(QUERY)  # one that says nothing has as long as ever
        assert whole.until(b"Z")[b"C"] == b"SELECT 1\0"
