"""A place at a gate, held by a test that does not run in an event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relserve.engines.loop import spawn
from relserve.gate.gate import Gate
from relserve.gate.request_group import Permit


@contextmanager
def entered(gate: Gate, **asked: Any) -> Iterator[Permit]:
    """Wait at a gate as `Gate.enter` does, on the engine loop, and hold the place while inside."""
    place = gate.enter(**asked)
    permit = spawn(_first(place)).result()
    try:
        yield permit
    finally:
        spawn(place.__aexit__(None, None, None)).result()


async def _first(place: Any) -> Permit:
    permit: Permit = await place.__aenter__()
    return permit
