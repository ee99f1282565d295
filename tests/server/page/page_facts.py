"""A server as the page sees it, made up: what happens is written down by the test."""

from __future__ import annotations

import asyncio
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace
from starlette.types import ASGIApp

from relserve.machine.engine_status import BudgetStatus, EngineStatus
from relserve.machine.fleet_status import FleetStatus, MemberStatus
from relserve.machine.gate_status import GateStatus
from relserve.server.page.app import app
from relserve.server.page.counters import Counters
from relserve.server.page.facts import ConnectedClient
from relserve.server.page.serving import serving
from relserve.session.history import ErrorRecord, QueryRecord
from tests.ending import ends_soon


@dataclass
class WrittenFacts:
    """Facts as lists that a test fills."""

    counters: Counters = field(default_factory=Counters)
    clients_now: list[ConnectedClient] = field(default_factory=list)
    queries_now: list[tuple[str, QueryRecord]] = field(default_factory=list)
    errors_now: list[tuple[str, ErrorRecord]] = field(default_factory=list)
    engines_now: list[EngineStatus] = field(default_factory=list)
    fleets_now: list[FleetStatus] = field(default_factory=list)
    gates_now: list[GateStatus] = field(default_factory=list)

    def clients(self) -> list[ConnectedClient]:
        return list(self.clients_now)

    def queries(self) -> list[tuple[str, QueryRecord]]:
        return list(self.queries_now)

    def errors(self) -> list[tuple[str, ErrorRecord]]:
        return list(self.errors_now)

    def engines(self) -> list[EngineStatus]:
        return list(self.engines_now)

    def fleets(self) -> list[FleetStatus]:
        return list(self.fleets_now)

    def gates(self) -> list[GateStatus]:
        return list(self.gates_now)


MEMBERS = [
    MemberStatus(
        "m0", "up", "", "here", False, False, 7, 90, 1, 3, 0.0123, "ours", {"ours": 90, "ours, OpenAI": 7}
    ),
    MemberStatus("m1", "dead", "killed by SIGKILL", "http://h/v1", False, False, 0, 4, 2, None, None, "", {}),
]
FLEET = FleetStatus(9, None, "fleet:f.toml", "ours", 1_800_000_000.0, 2, 5, MEMBERS)
BUDGET = BudgetStatus("ours", 150, 480, "slack", 0.02, 0.97, 0.1, 0.004)


def engine(*rels: object, **changes: object) -> EngineStatus:
    made = EngineStatus(
        os.getpid(), None, "Qwen/Qwen3-8B", "dpu+marginal", 1_800_000_000.0, 5, 7, 0.25, len(rels), list(rels)
    )
    return replace(made, **changes)


@contextmanager
def served(
    facts: WrittenFacts, token: str | None = None, shown: ASGIApp | None = None, **options: Any
) -> Iterator[str]:
    """The page of these facts on a port of its own, in a thread's event loop; gives its address.

    Args:
        shown: an app in the page's place.
        options: of `serving`.
    """
    ready, done = threading.Event(), threading.Event()
    port: list[int] = []

    async def serve() -> None:
        async with serving(shown or app(facts, token), "127.0.0.1", 0, **options) as number:
            port.append(number)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(60)
        yield f"{'https' if options.get('tls') else 'http'}://127.0.0.1:{port[0]}"
    finally:
        done.set()
        ends_soon(thread)


def get(address: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of what an address gives."""
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, dict(reply.headers), reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read().decode()
