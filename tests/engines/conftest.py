"""Fixtures: servers of the tiny model (vLLM's, llama.cpp's), one that misbehaves, the zoo's models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from http_fakes import FakeServer, Handler
from vllm_servers import VllmServer

from benchmarks.zoo import build
from relserve.engines.http.engine import HttpEngine
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.tiny import MODEL_DIR
from tests.llama_cpp import LlamaCppServer, tiny_as_gguf
from tests.waiting import PATIENCE_S

# Each has what no other has here: 262,144 tokens, windows and a template that refuses a system message;
# digits in threes and two tokens that end a reply; no template; experts; a SentencePiece with special tokens.
# Tokens are compared with stock vLLM's in vllm_plugin/test_real_outputs.
MADE_UP = ("gemma3", "llama3", "opt", "mixtral", "phi3")


@pytest.fixture(scope="session")
def model_path() -> Path:
    """The folder of the shipped model."""
    return MODEL_DIR


@pytest.fixture(scope="module")
def plain_engine(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    """The embedded model in float32, to compare with: where another worker has the session's engine.

    Its process is forked off a prepared one (tests/prepared.py).
    """
    pytest.importorskip("vllm", reason="vLLM is not installed")
    log = tmp_path_factory.mktemp("plain") / "engine.log"
    engine = LocalEngine("tiny", str(model_path), engine_args={"dtype": "float32"}, log_path=log)
    yield engine
    spawn(engine.close()).result(timeout=PATIENCE_S)


@pytest.fixture(scope="session")
def vllm_server(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """One server for all tests, not started yet; a test that kills a server starts its own."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    log = tmp_path_factory.mktemp("serve") / "serve.log"
    server = VllmServer(model_path, log, has_worker=True)
    yield server
    server.stop()


@pytest.fixture
def serve_url(vllm_server: VllmServer) -> str:
    """The URL of a running `vllm serve` of the tiny model."""
    vllm_server.ensure_up()
    return vllm_server.url


@pytest.fixture(scope="session")
def llamacpp_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaCppServer]:
    """One server of llama.cpp for all tests, not started yet."""
    folder = tmp_path_factory.mktemp("llamacpp")
    server = LlamaCppServer(tiny_as_gguf(folder / "tiny.gguf"), folder / "serve.log")
    yield server
    server.stop()


@pytest.fixture
def llamacpp_engine(llamacpp_server: LlamaCppServer) -> Iterator[HttpEngine]:
    """The HTTP engine on a running server of llama.cpp."""
    llamacpp_server.ensure_up()
    engine = HttpEngine(llamacpp_server.url)
    yield engine
    spawn(engine.close()).result(timeout=PATIENCE_S)


@pytest.fixture
def fake() -> Iterator[Callable[..., FakeServer]]:
    """fake(handler, **fields): a started FakeServer on the engine loop."""
    servers: list[FakeServer] = []

    def start(handler: Handler, **fields: Any) -> FakeServer:
        server = FakeServer(handler, **fields)
        spawn(server.start()).result(timeout=PATIENCE_S)
        servers.append(server)
        return server

    yield start
    for server in servers:
        spawn(server.stop()).result(timeout=PATIENCE_S)


@pytest.fixture(scope="session", params=MADE_UP)
def zoo_engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalEngine]:
    """An engine for each made-up model, one after the other; in float32 as the shared one."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    engine = LocalEngine(
        request.param, str(build(request.param)), engine_args={"dtype": "float32"},
        log_path=tmp_path_factory.mktemp("zoo") / "engine.log",
    )  # fmt: skip
    yield engine
    spawn(engine.close()).result(timeout=PATIENCE_S)
