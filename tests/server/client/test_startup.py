"""A client's first messages, answered without a socket."""

from __future__ import annotations

import base64
import hashlib
import struct
import time
from pathlib import Path

import pytest

from relserve.server.client.startup import Arrived, Startup
from relserve.server.users.tries import Tries
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import MECHANISM, make_verifier
from tests.server.client.raw_client import startup


class Told:
    """In a channel's place: what is sent, and whether the socket is closed."""

    peer, is_encrypted, is_started = ("192.0.2.1", 5), False, False

    def __init__(self) -> None:
        self.sent, self.is_closed = b"", False

    def send_now(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def users(tmp_path: Path) -> Users:
    """Of ann alone."""
    users = Users(tmp_path / "users.json", [User("ann", make_verifier("right"))])
    users.save()
    return Users.load(users.path)


def asked(users: Users, name: str) -> tuple[Startup, Told, str]:
    """A login that waits for the proof of the password, and what it was told of salt and iterations."""
    arrived: list[Arrived] = []
    tries = Tries(time.monotonic)
    login = Startup(users, None, False, lambda _, who: arrived.append(who), lambda *_: None, tries)
    told = Told()
    login.take(told, (b"", startup(user=name)[4:]))  # type: ignore[arg-type]
    first = b"n,,n=,r=abc"
    initial = MECHANISM.encode() + b"\0" + struct.pack("!i", len(first)) + first
    login.take(told, (b"p", initial))  # type: ignore[arg-type]
    return login, told, told.sent.rpartition(b"r=abc")[2].decode()


@pytest.mark.parametrize("name", ["ann", "nobody"])
def test_a_wrong_password_is_told_at_once(users: Users, name: str) -> None:
    """Who waited before telling would help those who guess, and do not wait."""
    login, told, server_first = asked(users, name)
    proof = base64.b64encode(hashlib.sha256(b"").digest()).decode()
    login.take(told, (b"p", f"c=biws,r=abc{server_first.partition(',')[0]},p={proof}".encode()))  # type: ignore[arg-type]
    assert b"28P01" in told.sent
    assert told.is_closed


def salt(users: Users, name: str) -> str:
    return asked(users, name)[2].split(",")[1]


def test_a_user_that_is_none_has_the_same_salt_for_ever(users: Users) -> None:
    again = Users.load(users.path)
    for name in ("ann", "nobody", "somebody"):
        assert salt(users, name) == salt(users, name) == salt(again, name)
    again.put(User("bob", make_verifier("x")))
    again.save()
    assert salt(Users.load(users.path), "nobody") == salt(users, "nobody") != salt(users, "somebody")


def test_encryption_is_asked_for_once(users: Users) -> None:
    """Who asks on and on, and reads no answer, would fill the server's memory."""
    login = Startup(users, None, False, lambda *_: None, lambda *_: None, Tries(time.monotonic))
    told = Told()
    for code in (80877104, 80877103, 80877103, 80877103):
        login.take(told, (b"", struct.pack("!i", code)))  # type: ignore[arg-type]
    assert told.sent.startswith(b"NNE")
    assert told.sent.count(b"asked for twice") == 1
    assert told.is_closed
