"""The service by itself: messages that DuckDB's extension of this release would not send."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from extension_host import Service

from relserve.engines.shared.wire import LONGEST
from tests.waiting import wait_until

ROWS: dict[str, Any] = {
    "ask": "rows", "function": "llm", "template": "<{}>", "options": "{}", "statement": 1, "rows": 2,
    "values": 1, "zone": "UTC",
}  # fmt: skip
TEXTS = b"\x11\x00" + struct.pack("<3i", 0, 1, 3) + b"abc"  # 'a' and 'bc'


class Client:
    """A socket that has introduced itself."""

    def __init__(self, service: Service) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(str(service.socket))
        self.send(
            json.dumps({"service": "calls", "protocol": 1, "connection": "1", "instance": "0"}).encode()
        )
        assert json.loads(self.receive())["ok"]

    def send(self, message: bytes) -> None:
        self.socket.sendall(struct.pack("<I", len(message)) + message)

    def receive(self) -> bytes:
        (size,) = struct.unpack("<I", self.socket.recv(4, socket.MSG_WAITALL))
        return self.socket.recv(size, socket.MSG_WAITALL)

    def ask(self, columns: bytes = TEXTS, **changes: Any) -> tuple[str, str]:
        """The kind and the text of the answer to `ROWS` with some fields changed."""
        asked = json.dumps({**ROWS, **changes}).encode()
        self.send(struct.pack("<I", len(asked)) + asked + columns)
        answer = self.receive()
        return chr(answer[0]), answer[1:].decode()


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    client = Client(service)
    yield client
    client.socket.close()


def test_what_it_should_send(client: Client) -> None:
    kind, text = client.ask()
    assert (kind, text.encode()) == ("A", struct.pack("<2i", 3, 4) + b"<a><bc>")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ask": "nothing"}, "asks what this release does not know"),
        ({"function": "llm_sing"}, "this release has no function llm_sing()"),
        ({"columns": b"\xfa\x00"}, "a column of an unknown type, number 250"),
        ({"columns": TEXTS[:-1]}, "a message that ends too soon"),
        ({"template": False}, "the template of llm() must be the same for all rows"),
        ({"options": False}, "an option must be the same for all rows of a call"),
        ({"rows": None}, "TypeError"),
    ],
)
def test_what_it_should_not_send(client: Client, changes: dict[str, Any], said: str) -> None:
    kind, text = client.ask(**changes)
    assert kind == "E"
    assert said in text
    assert client.ask()[0] == "A"


@pytest.mark.parametrize(
    "message", [b"", b"\x09\x00\x00\x00no json", b"\xff\xff\xff\xff{}", b"\x02\x00\x00\x00[]"]
)
def test_no_message(client: Client, message: bytes) -> None:
    client.send(message)
    assert client.receive().startswith(b"EDuckDB's extension ")


def test_a_message_that_is_too_long(client: Client, service: Service) -> None:
    client.socket.sendall(struct.pack("<I", LONGEST + 1))
    assert client.socket.recv(1) == b""
    wait_until(lambda: service.num_open == 0)


def test_half_a_message(client: Client, service: Service) -> None:
    client.socket.sendall(struct.pack("<I", 100) + b"half")
    client.socket.close()
    wait_until(lambda: service.num_open == 0)
    assert service.engine.num_prompts == 0


def test_a_history_outlives_the_sockets_of_its_connection(service: Service) -> None:
    first = Client(service)
    first.ask()
    first.socket.close()
    wait_until(lambda: service.num_open == 0)
    asked = json.dumps({"ask": "table", "name": "llm_queries"}).encode()
    second = Client(service)
    second.send(struct.pack("<I", len(asked)) + asked)
    answer = second.receive()
    assert answer[:5] == b"T" + struct.pack("<I", 1)
    assert b"<{}>" in answer
    second.socket.close()
