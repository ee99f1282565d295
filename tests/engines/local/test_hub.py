"""A model that the hub does not have is told of after one question, before vLLM starts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from relserve.engines.local.start import launch, see_that_the_hub_has
from relserve.errors import EngineStartError

constants = pytest.importorskip("huggingface_hub.constants", reason="no client of the hub is installed")


class Hub(BaseHTTPRequestHandler):
    """Has org/there, is out of order for org/broken, and knows no other model."""

    asked: list[str]

    def do_GET(self) -> None:
        if self.path.startswith("/api/models/"):
            type(self).asked.append(self.path)
        status = 200 if "org/there" in self.path else 500 if "org/broken" in self.path else 404
        body = b'{"id": "org/there"}' if status == 200 else b"{}"
        self.send_response(status)
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Which models a made-up hub on this machine is asked for."""
    monkeypatch.setattr(Hub, "asked", [], raising=False)
    with HTTPServer(("127.0.0.1", 0), Hub) as server:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Hub.asked
        server.shutdown()


def test_a_model_that_the_hub_has_not_is_told_of_after_one_question(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    with pytest.raises(EngineStartError, match=r"hub has no model 'org/mistyped'.*Start here"):
        launch("org/mistyped", {}, None)
    assert asked == ["/api/models/org/mistyped"]


@pytest.mark.cells(2)
@pytest.mark.parametrize(("model", "is_asked"), [
    ("org/there", True), ("org/broken", True), ("/gone/folder", False), ("./gone", False), ("gpt2", False),
])  # fmt: skip
def test_anything_else_is_left_to_vllm(asked: list[str], model: str, is_asked: bool) -> None:
    see_that_the_hub_has(model)
    assert bool(asked) is is_asked


def test_without_the_network_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(EngineStartError, match=r"'org/elsewhere' was not fetched before"):
        see_that_the_hub_has("org/elsewhere")


def test_what_was_fetched_before_is_not_asked_for(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "models--org--here" / "snapshots" / "0123abc").mkdir(parents=True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    see_that_the_hub_has("org/here")
    assert asked == []


def test_another_hub_is_left_to_vllm(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_USE_MODELSCOPE", "True")
    see_that_the_hub_has("org/mistyped")
    assert asked == []
