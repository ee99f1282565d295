"""A client of PostgreSQL's protocol that may send whatever it likes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
from collections.abc import Iterator

from benchmarks.hostile.house import PASSWORD, AttackedServer, tls_context
from benchmarks.hostile.outcome import PATIENCE_S

SSL_REQUEST = struct.pack("!ii", 8, 80877103)


def message(kind: bytes, body: bytes) -> bytes:
    """A message with its right length."""
    return kind + struct.pack("!i", len(body) + 4) + body


def startup(**parameters: str) -> bytes:
    """The first message."""
    pairs = b"".join(f"{name}\0{value}\0".encode() for name, value in parameters.items())
    body = struct.pack("!i", 196608) + pairs + b"\0"
    return struct.pack("!i", len(body) + 4) + body


class RawClient:
    """A socket; every read has PATIENCE_S.

    Args:
        tls: speak TLS from the start.
    """

    def __init__(self, house: AttackedServer, tls: bool = True) -> None:
        self.socket: socket.socket = socket.create_connection(("127.0.0.1", house.port), PATIENCE_S)
        if tls:
            self.socket.sendall(SSL_REQUEST)
            assert self.socket.recv(1) == b"S", "the server offers no TLS"
            self.socket = _CONTEXT.wrap_socket(self.socket)
        self._pending = b""

    def login(self, user: str = "mallory") -> None:
        """Say who it is, with the right password."""
        self.send(startup(user=user, database="shop"))
        assert self.read()[0] == b"R"
        nonce = base64.b64encode(secrets.token_bytes(18)).decode()
        bare = f"n=,r={nonce}"
        first = f"n,,{bare}".encode()
        self.send(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first))
        told = self.read()[1][4:].decode()
        fields = dict(part.split("=", 1) for part in told.split(","))
        self.send(message(b"p", _proof(bare, told, fields)))
        for kind, body in self.messages():
            if kind == b"E":
                raise ConnectionError(body.decode(errors="replace"))
            if kind == b"Z":
                return

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def read(self) -> tuple[bytes, bytes]:
        """The next message.

        Raises:
            ConnectionError: the server has hung up.
            TimeoutError: nothing came.
        """
        head = self._take(5)
        return head[:1], self._take(struct.unpack("!i", head[1:])[0] - 4)

    def messages(self) -> Iterator[tuple[bytes, bytes]]:
        """What comes, up to and with ReadyForQuery."""
        while True:
            kind, body = self.read()
            yield kind, body
            if kind == b"Z":
                return

    def rest(self) -> bytes:
        """Everything until the server hangs up."""
        parts = [self._pending]
        try:
            while part := self.socket.recv(1 << 16):
                parts.append(part)
        except (ConnectionError, ssl.SSLError):
            pass
        return b"".join(parts)

    def reset(self) -> None:
        """Go without a word."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def _take(self, count: int) -> bytes:
        while len(self._pending) < count:
            part = self.socket.recv(1 << 16)
            if not part:
                raise ConnectionResetError("the server has hung up")
            self._pending += part
        taken, self._pending = self._pending[:count], self._pending[count:]
        return taken


_CONTEXT = tls_context()


def _proof(bare: str, told: str, fields: dict[str, str]) -> bytes:
    """SCRAM's last message of the client."""
    salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    final = f"c=biws,r={fields['r']}"
    signature = hmac.digest(hashlib.sha256(key).digest(), f"{bare},{told},{final}".encode(), "sha256")
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return f"{final},p={base64.b64encode(proof).decode()}".encode()
