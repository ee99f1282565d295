"""Malformed and truncated messages, before a login and after it."""

from __future__ import annotations

import random
import ssl
import struct
from collections.abc import Callable, Sequence

from benchmarks.hostile.house import MARKER, AttackedServer
from benchmarks.hostile.outcome import HostileOutcome
from benchmarks.hostile.wire import SSL_REQUEST, RawClient, message, startup

Change = Callable[[bytes, random.Random], bytes]


def _short(value: int) -> bytes:
    return struct.pack("!h", value)


def _int(value: int) -> bytes:
    return struct.pack("!i", value)


# Messages as they should be; what is sent is one of them, or a few, changed.
SOUND: Sequence[tuple[bytes, bytes]] = (
    (b"Q", b"SELECT 1\0"),
    (b"Q", b"SELECT llm('Say {}', 1)\0"),
    (b"Q", b"BEGIN; SELECT 1; ROLLBACK\0"),
    (b"Q", b"COPY copied FROM STDIN\0"),
    (b"Q", b"COPY (SELECT 1) TO STDOUT\0"),
    (b"P", b"s\0SELECT $1 + $2\0" + _short(2) + _int(23) + _int(20)),
    (b"P", b"\0SELECT $1::VARCHAR\0" + _short(0)),
    (b"B", b"\0s\0" + _short(0) + _short(2) + _int(1) + b"1" + _int(-1) + _short(0)),
    (
        b"B",
        b"p\0s\0" + _short(1) + _short(1) + _short(2) + _int(4) + _int(7) + _int(8) + b"\0" * 8 + _short(0),
    ),
    (b"D", b"Ss\0"),
    (b"D", b"Pp\0"),
    (b"E", b"p\0" + _int(1)),
    (b"E", b"\0" + _int(0)),
    (b"C", b"Ss\0"),
    (b"H", b""),
    (b"S", b""),
    (b"d", b"1\t2\n"),
    (b"c", b""),
    (b"f", b"no more\0"),
    (b"F", _int(2001) + _short(0) + _short(0) + _short(0)),
    (b"p", b"another password\0"),
)


def _cut(body: bytes, rng: random.Random) -> bytes:
    return body[: rng.randrange(len(body) + 1)]


def _flipped(body: bytes, rng: random.Random) -> bytes:
    changed = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _longer(body: bytes, rng: random.Random) -> bytes:
    return body + rng.randbytes(rng.choice([1, 3, 100, 70_000]))


def _noise(body: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(200))


def _with_numbers(body: bytes, rng: random.Random) -> bytes:
    """Numbers that promise too much, or less than nothing, somewhere inside."""
    place = rng.randrange(len(body) + 1)
    number = rng.choice([_short(-1), _short(32767), _int(-2), _int(2**31 - 1), _int(-(2**31)), b"\xff" * 8])
    return body[:place] + number + body[place + len(number) :]


def _without_end(body: bytes, rng: random.Random) -> bytes:
    return body.replace(b"\0", b"")


def _of_bad_text(body: bytes, rng: random.Random) -> bytes:
    return body.replace(b"S", b"\xc3\x28").replace(b"s", b"\xed\xa0\x80")


CHANGES: tuple[Change, ...] = (
    _cut, _flipped, _longer, _noise, _with_numbers, _without_end, _of_bad_text, lambda body, rng: body,
)  # fmt: skip
LENGTHS = (0, 1, 3, -1, 2**31 - 1, -(2**31), 1 << 28, (1 << 28) + 5)


def after_login(house: AttackedServer, count: int, seed: int) -> HostileOutcome:
    """Changed messages to a session that is logged in; it must answer a statement after them, or end."""
    outcome, rng = HostileOutcome("malformed messages after login"), random.Random(seed)
    client: RawClient | None = None
    for _ in range(count):
        outcome.cases += 1
        if client is None:
            client = RawClient(house)
            client.login()
        sent = b"".join(_changed(rng) for _ in range(rng.choice([1, 1, 1, 2, 5])))
        client = _answered(client, sent + _wound_up(), outcome)
    if client is not None:
        client.close()
    return outcome


def _wound_up() -> bytes:
    """What brings any session to its ReadyForQuery: the end of a COPY, Sync, and the end of a transaction."""
    texts = b"ROLLBACK\0", b"SELECT 'the end of it'\0"
    return message(b"f", b"enough\0") + message(b"S", b"") + b"".join(message(b"Q", text) for text in texts)


def _changed(rng: random.Random) -> bytes:
    kind, body = rng.choice(SOUND)
    if rng.random() < 0.1:
        kind = bytes([rng.randrange(256)])
    return message(kind, rng.choice(CHANGES)(body, rng))


def _answered(client: RawClient, sent: bytes, outcome: HostileOutcome) -> RawClient | None:
    """Send, and read until the last statement's answer; None: the server has hung up."""
    told = b""
    try:
        client.send(sent)
        while True:
            kind, body = client.read()
            told += body
            if kind == b"D" and b"the end of it" in body:
                next(each for each in client.messages() if each[0] == b"Z")
                break
    except TimeoutError:
        outcome.tell("hung", f"no answer to {sent[:100]!r}")
        client.close()
        return None
    except (ConnectionError, ssl.SSLError):
        client.close()
        return None
    finally:
        if MARKER.encode() in told:
            outcome.tell("leaked", f"{sent[:100]!r} told {MARKER}")
    return client


def lengths(house: AttackedServer, count: int, seed: int) -> HostileOutcome:
    """Lengths that lie, and messages that end before theirs, after which the client goes."""
    outcome, rng = HostileOutcome("lengths that lie, truncated messages"), random.Random(seed)
    for _ in range(count):
        outcome.cases += 1
        client = RawClient(house)
        try:
            client.login()
            kind, body = rng.choice(SOUND)
            if rng.random() < 0.5:
                client.send(kind + _int(rng.choice(LENGTHS)) + body)
            else:
                client.send(message(kind, body)[: rng.randrange(len(body) + 5)])
            if rng.random() < 0.3:
                client.reset()
            else:
                client.socket.unwrap() if isinstance(client.socket, ssl.SSLSocket) else None
        except TimeoutError:
            pass  # it waits for what the length promised, as it should
        except (OSError, StopIteration):
            pass
        finally:
            client.close()
    return outcome


def before_login(house: AttackedServer, count: int, seed: int) -> HostileOutcome:
    """Noise and changed first messages, with and without TLS: the server must hang up, or wait for more."""
    outcome, rng = HostileOutcome("malformed messages before login"), random.Random(seed)
    for _ in range(count):
        outcome.cases += 1
        sent = rng.choice(_FIRST)(rng)
        try:
            client = RawClient(house, tls=rng.random() < 0.3)
            client.send(sent)
            client.socket.shutdown(1)
            told = client.rest()
            client.close()
        except TimeoutError:
            outcome.tell("hung", f"no end after {sent[:100]!r}")
        except OSError:
            continue
        else:
            if MARKER.encode() in told or b"root:x:" in told or b"\x52\0\0\0\x08\0\0\0\0" in told:
                outcome.tell("leaked", f"{sent[:100]!r} got {told[:100]!r}")
    return outcome


def _any_startup(rng: random.Random) -> bytes:
    return startup(user=rng.choice(["ann", "root", "nobody", "x" * 5000, "a\nb"]), database="shop")


_FIRST: tuple[Callable[[random.Random], bytes], ...] = (
    lambda rng: rng.randbytes(rng.randrange(1, 300)),
    lambda rng: _int(rng.choice(LENGTHS)) + rng.randbytes(20),
    lambda rng: _int(8) + rng.randbytes(4),
    lambda rng: _flipped(_any_startup(rng), rng),
    lambda rng: _cut(_any_startup(rng), rng),
    lambda rng: SSL_REQUEST * rng.randint(1, 3) + _any_startup(rng),
    lambda rng: SSL_REQUEST + rng.randbytes(100),
    lambda rng: _int(16) + _int(80877102) + rng.randbytes(8),
    lambda rng: _any_startup(rng) + message(b"Q", b"SELECT 1\0"),
    lambda rng: _any_startup(rng) + message(b"p", _password(rng)),
    lambda rng: _any_startup(rng) + message(b"p", _password(rng)) + message(b"p", rng.randbytes(40)),
    lambda rng: startup(**{f"setting{i}": "x" * 20 for i in range(300)}),
    lambda rng: startup(user="ann", options="-c search_path='; SELECT 1; -- " + "x" * 100),
    lambda rng: b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
)


def _password(rng: random.Random) -> bytes:
    first = rng.choice(
        [b"n,,n=,r=x", b"y,,n=,r=x", b"p=tls-unique,,n=,r=x", b"", b"n,,", b"n,,n=,r=" + b"x" * 5000]
    )
    mechanism = rng.choice([b"SCRAM-SHA-256\0", b"SCRAM-SHA-256-PLUS\0", b"PLAIN\0", b"", b"\xff\0"])
    return mechanism + _int(rng.choice([len(first), -1, 2**31 - 1, 0])) + first
