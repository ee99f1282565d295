"""Fixtures: a real `vllm serve` of the tiny model, and a server that misbehaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from http_fakes import FakeServer, Handler
from vllm_servers import SHIPPED, VllmServer, random_model

from relserve.engines.loop import spawn


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped model; a small one with random weights where there is none."""
    if (SHIPPED / "config.json").is_file():
        return SHIPPED
    return random_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def vllm_server(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """One server for all tests, not started yet; a test may kill it."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    server = VllmServer(model_path, tmp_path_factory.mktemp("serve") / "serve.log")
    yield server
    server.stop()


@pytest.fixture
def serve_url(vllm_server: VllmServer) -> str:
    """The URL of a running `vllm serve` of the tiny model."""
    vllm_server.ensure_up()
    return vllm_server.url


@pytest.fixture
def fake() -> Iterator[Callable[..., FakeServer]]:
    """fake(handler, **fields): a started FakeServer on the engine loop."""
    servers: list[FakeServer] = []

    def start(handler: Handler, **fields: Any) -> FakeServer:
        server = FakeServer(handler, **fields)
        spawn(server.start()).result(timeout=10)
        servers.append(server)
        return server

    yield start
    for server in servers:
        spawn(server.stop()).result(timeout=10)
