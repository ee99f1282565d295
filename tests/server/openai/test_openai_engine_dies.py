"""An engine's process that is killed under requests of OpenAI clients, its client's process living on."""

from __future__ import annotations

import os
import signal
from typing import Any

import openai
import pytest

from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.server.openai.upstream import EngineUpstream
from relserve.tiny import MODEL_DIR
from tests.server.openai.chatting import HI
from tests.server.openai.gateways import running
from tests.waiting import PATIENCE_S

pytestmark = [
    pytest.mark.engine_of_its_own,
    pytest.mark.vllm,
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of vLLM's own server, in another thread
]
LONG: Any = {"max_tokens": 4000, "extra_body": {"ignore_eos": True}}


def test_requests_under_way_are_503_and_the_next_starts_another(tmp_path):
    engine = LocalEngine("tiny", str(MODEL_DIR), engine_args={"dtype": "float32"}, log_path=tmp_path / "log")
    spawn(engine.start()).result(3 * PATIENCE_S)
    with running(lambda: EngineUpstream(engine, "tiny", {})) as gateway:
        client = gateway.client(timeout=3 * PATIENCE_S)
        answer = client.chat.completions.create(model="tiny", messages=HI, stream=True, **LONG)
        next(answer)
        first = engine.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        with pytest.raises(openai.APIError) as caught:
            list(answer)
        assert "engine" in str(caught.value).lower()
        again = client.chat.completions.create(model="tiny", messages=HI, max_tokens=2)
        assert again.usage is not None
        assert engine.pid not in (None, first)
    folder = spawn(engine.openai_socket({})).result().parent
    spawn(engine.close()).result(PATIENCE_S)
    assert not folder.exists()


def test_an_engine_that_cannot_start_is_503(tmp_path):
    broken = tmp_path / "model"
    broken.mkdir()
    (broken / "config.json").write_text("{}")
    engine = LocalEngine("broken", str(broken), log_path=tmp_path / "log")
    with running(lambda: EngineUpstream(engine, "broken", {})) as gateway:
        with pytest.raises(openai.InternalServerError, match="did not start; ask again") as caught:
            gateway.client(timeout=3 * PATIENCE_S).completions.create(model="broken", prompt="hi")
        assert caught.value.status_code == 503
        assert caught.value.response.headers["retry-after"]
        assert str(tmp_path) not in str(caught.value)
    spawn(engine.close()).result(PATIENCE_S)
