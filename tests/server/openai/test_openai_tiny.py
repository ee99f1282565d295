"""OpenAI's own client on the embedded model, whose engine answers SQL, too."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import httpx
import openai
import pytest

import relserve
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.entering import ENTERS, REQUEST_ID, Entering
from relserve.engines.loop import spawn
from relserve.gate.made import make_gate
from relserve.vllm_plugin.openai_app import num_output_tokens_of
from tests.gate.entered import entered
from tests.server.openai.chatting import HI, chat
from tests.server.openai.gateways import Running
from tests.waiting import PATIENCE_S, frozen, wait_until

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of vLLM's own server, in another thread
]
DOCS = Path(__file__).parents[3] / "docs"
FOR_LONG = {"max_tokens": 4000, "extra_body": {"ignore_eos": True}}


@pytest.fixture
def gateway(tiny_gateway: Running) -> Running:
    return tiny_gateway


@pytest.fixture
def ask(gateway: Running) -> Callable[..., Any]:
    """ask(..): a chat completion."""

    def create(**options: Any) -> Any:
        client = gateway.client(timeout=options.pop("timeout", 60))
        return client.chat.completions.create(
            **{"model": "tiny", "messages": HI, "max_tokens": 8, "temperature": 0, **options}
        )

    return create


def num_in_engine(engine: LocalEngine) -> int:
    """Requests that vLLM works on, whoever asked."""
    assert engine.running is not None
    return len(engine.running.client.output_processor.request_states)


def test_chat_and_completions(gateway, ask):
    whole = ask(seed=1)
    streamed = list(ask(seed=1, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in streamed if chunk.choices)
    assert text == whole.choices[0].message.content
    assert streamed[-1].usage == whole.usage
    both = gateway.client().completions.create(
        model="tiny", prompt=["hi", "ho"], max_tokens=3, n=2, logprobs=1
    )
    assert [choice.index for choice in both.choices] == [0, 1, 2, 3]
    assert all(len(choice.logprobs.tokens) <= 3 for choice in both.choices)


def test_the_example_of_the_docs(gateway):
    (code,) = re.findall(r"```py\n(.*?)```", (DOCS / "openai.md").read_text("utf-8"), re.DOTALL)
    exec(compile(code.replace("http://127.0.0.1:8000/v1", gateway.url), "openai.md", "exec"), {})
    wait_until(lambda: gateway.codes == {("anybody", 200): 1})


def test_structured_answers_and_logprobs(ask):
    answer = ask(
        extra_body={"structured_outputs": {"choice": ["good", "bad"]}}, logprobs=True, top_logprobs=2
    )
    assert answer.choices[0].message.content in ("good", "bad")
    assert len(answer.choices[0].logprobs.content[0].top_logprobs) == 2
    schema = {"type": "array", "items": {"enum": [7]}, "minItems": 2, "maxItems": 2}
    form = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}
    held = ask(max_tokens=40, response_format=form).choices[0].message.content
    assert re.fullmatch(r"\s*(\[[\s7,\]]*)?", held)


@pytest.mark.cells(8)
@pytest.mark.parametrize(
    "given",
    [
        {"max_tokens": 0}, {"max_tokens": -1}, {"max_tokens": 10**12}, {"max_tokens": "many"},
        {"temperature": -1}, {"temperature": 1e300}, {"top_p": 0}, {"n": 0}, {"n": 10**9}, {"seed": 2**70},
        {"messages": []}, {"messages": [{"role": "user", "content": {"a": 1}}]}, {"messages": 3},
        {"stop": ""}, {"logprobs": True, "top_logprobs": 10**6}, {"logit_bias": {"99999999": 5}},
        {"tools": "x"}, {"presence_penalty": 99}, {"response_format": {"type": "xml"}},
        {"messages": [{"role": "user", "content": "hi " * 9000}]}, {"chat_template": "{{ 1/0 }}"},
        {"structured_outputs": {"regex": "("}}, {"min_tokens": 10**9}, {"allowed_token_ids": [10**9]},
        {"vllm_xargs": {"rel_id": "x", "rel_rows": 10**30}},
    ],
    ids=lambda given: str(given)[:50],
)  # fmt: skip
def test_absurd_parameters_are_400_with_a_reason(gateway, given):
    body = {"model": "tiny", "messages": HI, "max_tokens": 3, **given}
    reply = httpx.post(f"{gateway.url}/chat/completions", json=body, timeout=60)
    error = reply.json()["error"]
    assert (reply.status_code, error["type"]) == (400, "invalid_request_error")
    assert len(error["message"]) > 10


@pytest.mark.cells(1)
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_ends_its_work_in_the_engine(gateway, ask, local_engine, stream):
    if stream:
        answer = ask(stream=True, **FOR_LONG)
        for _ in range(3):
            next(answer)
        assert num_in_engine(local_engine) == 1
        answer.close()
    else:
        ask()  # it is up
        with frozen(local_engine.pid), pytest.raises(openai.APITimeoutError):
            ask(timeout=2, **FOR_LONG)
    wait_until(lambda: num_in_engine(local_engine) == 0, 20)
    wait_until(lambda: gateway.codes.get(("anybody", 499)) == 1)


def test_a_deadline_ends_the_work_in_the_engine(ask, local_engine):
    options = {**FOR_LONG, "extra_body": {"ignore_eos": True, "deadline": 1.0}}
    ask()  # it is up
    with frozen(local_engine.pid):
        with pytest.raises(openai.InternalServerError, match="deadline of 1 s has passed"):
            ask(**options)
    wait_until(lambda: num_in_engine(local_engine) == 0, 20)


def test_a_deadline_that_is_over_before_the_gate_is_no_matter_of_load(ask, local_engine, monkeypatch):
    monkeypatch.setattr(local_engine, "gate", make_gate("in_time", {}))
    for _ in range(3):
        with pytest.raises(openai.InternalServerError, match=r"deadline of 0\.001 s has passed") as caught:
            ask(extra_body={"deadline": 0.001})
        assert (caught.value.status_code, caught.value.code) == (504, "deadline")
        assert caught.value.response.headers["x-should-retry"] == "false"


@pytest.mark.long
def test_sql_and_openai_share_one_engine_and_its_order(ask, local_engine):
    """A chat is answered while a statement of many rows is under way in the same engine."""
    text = "SELECT llm('Tell of {}', range, max_tokens := 60) FROM range(100000)"
    with (
        relserve.connect(engine=local_engine, cache=False, progress=False) as con,
        ThreadPoolExecutor(1) as pool,
    ):
        sql = pool.submit(lambda: con.execute(text).fetchall())
        try:
            wait_until(lambda: num_in_engine(local_engine) > 100)
            pid, began = local_engine.pid, time.monotonic()
            answer = ask(max_tokens=2)
            took = time.monotonic() - began
            assert answer.usage.completion_tokens <= 2
            assert not sql.done(), f"the chat took {took:.1f} s, and the statement was done before"
            assert local_engine.pid == pid
        finally:
            con.interrupt()
        assert isinstance(sql.exception(PATIENCE_S), duckdb.InterruptException)


@pytest.mark.long
def test_the_gate_of_the_engine_is_asked(gateway, ask, local_engine, monkeypatch):
    """With one place, a second request waits; with a limit that it would miss it is told so at once."""
    monkeypatch.setattr(local_engine, "gate", make_gate("static-1", {}))
    monkeypatch.setattr("relserve.server.openai.gateway.GATE_S", PATIENCE_S)  # the gate may be slow to say so
    with entered(local_engine.gate, prompt_tokens=1, max_tokens=1):
        with pytest.raises(openai.RateLimitError) as caught:
            ask(max_tokens=4000, extra_body={"deadline": 3, "ignore_eos": True})
        assert caught.value.response.headers["retry-after"]
        with pytest.raises(openai.APITimeoutError):
            ask(timeout=0.5)
        assert num_in_engine(local_engine) == 0  # what waits is not in the engine
    assert ask().choices
    wait_until(lambda: num_in_engine(local_engine) == 0)


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("path", "asked", "ids"),
    [
        ("chat/completions", {"messages": HI}, ["chatcmpl-abc"]),
        ("completions", {"prompt": ["hi", "ho"], "n": 2}, ["cmpl-abc-0", "cmpl-abc-1"]),
    ],
)
def test_the_gate_sees_how_far_whole_answers_are(gateway, local_engine, path, asked, ids):
    socket = str(spawn(local_engine.openai_socket({})).result())
    body = {"model": "tiny", "max_tokens": 300, "ignore_eos": True, **asked}
    entering = Entering("ann", 3, 300, None, True, ids, time.time())
    headers = {REQUEST_ID: "abc", ENTERS: entering.header()}
    with httpx.Client(transport=httpx.HTTPTransport(uds=socket), timeout=60) as client:
        asking = threading.Thread(
            target=lambda: client.post(f"http://engine/v1/{path}", json=body, headers=headers)
        )
        asking.start()
        running = local_engine.running
        wait_until(lambda: num_output_tokens_of(running.client, ids) > 20)
        before = num_output_tokens_of(running.client, ids)
        wait_until(lambda: num_output_tokens_of(running.client, ids) > before)
        asking.join(60)
    assert num_output_tokens_of(running.client, ids) == 0


def test_vllms_web_app_leaves_the_root_logger_as_it_was(gateway):
    """A library that it imports sets its level, and this process's warnings would be lost."""
    chat(gateway.client(), model="tiny")
    assert logging.getLogger().level == logging.WARNING
