"""A client that sends what a test says, and shows each message that comes."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

from relserve.server.server import Server
from tests.waiting import PATIENCE_S


def message(kind: bytes, body: bytes) -> bytes:
    """A message with its length."""
    return kind + struct.pack("!i", len(body) + 4) + body


def startup(minor: int = 0, **parameters: str) -> bytes:
    """The first message, of protocol 3.`minor`."""
    words = b"".join(f"{key}\0{value}\0".encode() for key, value in {"user": "ann", **parameters}.items())
    return message(b"", struct.pack("!i", 3 << 16 | minor) + words + b"\0")


class RawClient:
    """One socket."""

    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
        self._file = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def messages(self) -> Iterator[tuple[bytes, bytes]]:
        """What comes, until the server hangs up: kinds and bodies."""
        while head := self._file.read(5):
            yield head[:1], self._file.read(struct.unpack("!i", head[1:])[0] - 4)

    def until(self, kind: bytes) -> dict[bytes, bytes]:
        """What comes up to the first message of a kind, by kind; of several of a kind the last."""
        told = {}
        for each, body in self.messages():
            told[each] = body
            if each == kind:
                break
        return told

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()
        self._socket.close()
