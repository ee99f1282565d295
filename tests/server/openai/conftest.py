"""Gateways to an upstream that a test scripts, and to the embedded model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.server.openai.upstream import EngineUpstream
from relserve.server.users.keys import make_key
from relserve.server.users.users import User, Users
from tests.server.openai.gateways import Running, running
from tests.server.openai.scripted_upstream import ScriptedUpstream
from tests.waiting import PATIENCE_S


@pytest.fixture
def upstream() -> ScriptedUpstream:
    return ScriptedUpstream()


@pytest.fixture
def gateway(upstream: ScriptedUpstream) -> Iterator[Running]:
    """Without keys."""
    with running(lambda: upstream) as one:
        yield one


@pytest.fixture
def tiny_gateway(local_engine: LocalEngine) -> Iterator[Running]:
    """Without keys, to the shared engine."""
    with running(lambda: EngineUpstream(local_engine, "tiny", {})) as one:
        spawn(local_engine.start()).result(2 * PATIENCE_S)
        yield one


class Book:
    """The users' file, written as `relserve user` does; a server that runs reads it anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        Users(path).save()

    def add(self, name: str, **facts: object) -> str:
        """A user with a key, which it gives."""
        users = Users.load(self.path)
        secret, key = make_key()
        users.put(User(name, keys=(key,), **facts))
        users.save()
        return secret

    def remove(self, name: str) -> None:
        users = Users.load(self.path)
        users.remove(name)
        users.save()


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "users.json")


@pytest.fixture
def keyed(upstream: ScriptedUpstream, book: Book) -> Iterator[Running]:
    """With the book's keys."""
    with running(lambda: upstream, Users.load(book.path)) as one:
        yield one
