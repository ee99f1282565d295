"""Sockets at a port of HTTP that ask for nothing, or for ever: they go, and everybody else is served."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import select
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.types import Receive, Scope, Send

from relserve.server.tls import tls_context
from tests.server.page.page_facts import WrittenFacts, get, served
from tests.waiting import PATIENCE_S, wait_until

MOST, COME = 8, 30
HALVES = [b"", b"G", b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n"]


@contextlib.contextmanager
def opened(address: str, number: int, says: bytes) -> Iterator[list[socket.socket]]:
    """So many sockets, each of which has said something."""
    parts = urlsplit(address)
    with contextlib.ExitStack() as stack:
        sockets = []
        for _ in range(number):
            one = stack.enter_context(socket.create_connection((parts.hostname, parts.port), PATIENCE_S))
            with contextlib.suppress(ConnectionError):
                one.sendall(says)
            sockets.append(one)
        yield sockets


def asker(address: str) -> http.client.HTTPConnection:
    """A client that keeps its socket."""
    return http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE_S)


def answer(client: http.client.HTTPConnection) -> bytes:
    """The page, as it gets it."""
    client.request("GET", "/")
    return client.getresponse().read()


def num_left(sockets: Sequence[socket.socket]) -> int:
    """How many the server has not hung up on."""
    said, _, _ = select.select(sockets, [], [], 0)
    return len(sockets) - sum(_is_hung_up(each) for each in said)


def _is_hung_up(one: socket.socket) -> bool:
    try:
        return one.recv(1, socket.MSG_PEEK) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("says", HALVES)
def test_sockets_that_ask_for_nothing_keep_nobody_out(says: bytes) -> None:
    with served(WrittenFacts(), most=MOST) as address, opened(address, COME, says) as sockets:
        assert get(f"{address}/health")[0] == 200
        wait_until(lambda: num_left(sockets) < MOST)


def test_the_silent_ones_go_before_those_that_have_asked() -> None:
    with served(WrittenFacts(), most=MOST) as address:
        asked = asker(address)
        for _ in range(2):
            assert answer(asked)
            with opened(address, COME, b"") as sockets:
                wait_until(lambda: num_left(sockets) < MOST)
        asked.close()
        answered = [asker(address) for _ in range(COME)]
        assert all(map(answer, answered))
        wait_until(lambda: num_left([each.sock for each in answered]) <= MOST)
        assert answer(answered[-1])  # those whose answers are longest ago went
        for each in answered:
            each.close()


@pytest.mark.parametrize(("path", "status"), [("/health", 200), ("/api/status", 401), ("/nothing", 401)])
def test_no_socket_is_kept_of_strangers(path: str, status: int) -> None:
    with served(WrittenFacts(), token="secret") as address:
        stranger, known = asker(address), asker(address)
        stranger.request("GET", path)
        reply = stranger.getresponse()
        assert (reply.status, reply.headers["connection"]) == (status, "close")
        known.request("GET", "/", headers={"Authorization": "Bearer secret"})
        assert "connection" not in known.getresponse().headers
        known.close()


def test_nobody_goes_whose_request_is_being_answered() -> None:
    may_end = threading.Event()
    begun: list[int] = []

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        begun.append(1)
        await asyncio.to_thread(may_end.wait, PATIENCE_S)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    with served(WrittenFacts(), shown=slow, most=2) as address:
        asking = [asker(address) for _ in range(2)]
        for each in asking:
            each.request("GET", "/")
        wait_until(lambda: len(begun) == 2)
        with opened(address, 1, HALVES[2]) as sockets:
            wait_until(lambda: num_left(sockets) == 0)
        may_end.set()
        assert [each.getresponse().read() for each in asking] == [b"ok", b"ok"]
        assert get(f"{address}/")[0] == 200


BODY_GOES_ON = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\nx"  # behind its answer


@pytest.mark.parametrize(
    "says", [*HALVES, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT", BODY_GOES_ON]
)
def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, says: bytes) -> None:
    with served(WrittenFacts()) as address:
        kept = asker(address)
        assert answer(kept)
        monkeypatch.setattr("relserve.server.page.sockets.HEAD_S", 0.1)
        with opened(address, 3, says) as sockets:
            for each in sockets:
                with contextlib.suppress(ConnectionError):
                    while each.recv(4096):
                        pass
        assert answer(kept)  # an idle one that has asked is no such
        kept.close()


@pytest.mark.parametrize("begins", [b"GET / HTTP/1.1\r\nX: ", b"GET /"])
def test_headers_have_an_end(begins: bytes) -> None:
    with served(WrittenFacts()) as address, opened(address, 1, begins) as (one,):
        with pytest.raises(ConnectionError):  # noqa: PT012
            for _ in range(1000):
                one.sendall(b"x" * 10_000)
        assert get(f"{address}/health")[0] == 200


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate that nobody has signed, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "cert.pem", folder / "key.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here"
    subprocess.run([*words.split(), "-keyout", key, "-out", chain], check=True, capture_output=True)
    return chain, key


@pytest.mark.parametrize("says", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n"])
def test_handshakes_that_do_not_end_keep_nobody_out(certificate: tuple[Path, Path], says: bytes) -> None:
    with (
        served(WrittenFacts(), tls=tls_context(*certificate), most=MOST) as address,
        opened(address, COME, says) as sockets,
    ):
        parts = urlsplit(address)
        trusting = ssl._create_unverified_context()
        asking = http.client.HTTPSConnection(parts.netloc, context=trusting, timeout=PATIENCE_S)
        for _ in range(2):
            asking.request("GET", "/health")
            assert asking.getresponse().read() == b"ok\n"
        asking.close()
        wait_until(lambda: num_left(sockets) < MOST)
