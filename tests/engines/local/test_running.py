"""What becomes of an engine's sockets when it ends."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest

from relserve.engines.local.running import end_aside
from relserve.vllm_plugin.host import message_context
from tests.waiting import wait_until

zmq = pytest.importorskip("zmq", reason="it comes with vLLM")


def test_a_context_with_open_sockets_holds_nobody_up() -> None:
    context = zmq.Context()
    shadow = zmq.Context(context)  # as vLLM's asyncio context: the first one does not know its sockets
    socket = shadow.socket(zmq.PUSH)
    client = SimpleNamespace(engine_core=SimpleNamespace(resources=SimpleNamespace(ctx=context)))
    end_aside(message_context(client))  # type: ignore[arg-type]
    gc.collect()
    assert not context.closed
    socket.close(linger=0)
    wait_until(lambda: context.closed)
