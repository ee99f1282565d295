"""Rows in one message: what the engine's end does with them, and who gets them one by one."""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from relserve.vllm_plugin import batches

pytestmark = pytest.mark.vllm


class Engine:
    """Takes requests as vLLM's engine does; it cannot prepare one whose prompt is [13]."""

    def __init__(self) -> None:
        self.added: list[tuple[Any, int]] = []
        self.refused: list[Any] = []

    def preprocess_add_request(self, request: Any) -> tuple[Any, int]:
        if request.prompt_token_ids == [13]:
            raise ValueError("unlucky")
        return request, 0

    def add_request(self, request: Any, wave: int) -> None:
        self.added.append((request, wave))

    def _handle_request_preproc_error(self, request: Any) -> None:
        self.refused.append(request)


def encoded(**sampling: Any) -> bytes:
    vllm = pytest.importorskip("vllm", reason="vLLM is not installed")
    core = pytest.importorskip("vllm.v1.engine")
    serial = pytest.importorskip("vllm.v1.serial_utils")
    request = core.EngineCoreRequest(
        request_id="", prompt_token_ids=[], mm_features=None, sampling_params=vllm.SamplingParams(**sampling),
        pooling_params=None, arrival_time=1.5, lora_request=None, cache_salt=None, data_parallel_rank=None,
    )  # fmt: skip
    return b"".join(bytes(part) for part in serial.MsgpackEncoder().encode(request))


def test_each_row_is_a_copy_of_its_request() -> None:
    engine = Engine()
    messages = [encoded(max_tokens=3, stop=["."]), encoded(max_tokens=4, extra_args={"rel_id": "q"})]
    assert batches.add_rows(engine, messages, ["a", "b", "c"], [1, 0, 1], [[1], [2, 3], [4]]) == 3
    added = [request for request, _ in engine.added]
    assert [(each.request_id, each.external_req_id) for each in added] == [("a", "a"), ("b", "b"), ("c", "c")]
    assert [each.prompt_token_ids for each in added] == [[1], [2, 3], [4]]
    assert [each.sampling_params.max_tokens for each in added] == [4, 3, 4]
    assert added[2].sampling_params.extra_args == {"rel_id": "q"}
    assert added[1].sampling_params.stop == ["."]


def test_a_row_that_cannot_be_prepared_costs_no_other() -> None:
    engine = Engine()
    batches.add_rows(engine, [encoded()], ["a", "b", "c"], [0, 0, 0], [[1], [13], [2]])
    assert [request.request_id for request, _ in engine.added] == ["a", "c"]
    assert [request.request_id for request in engine.refused] == ["b"]


def client_of(ranks: int, call: Any = None) -> Any:
    parallel = SimpleNamespace(data_parallel_size=ranks)
    core = SimpleNamespace(call_utility_async=call)
    return SimpleNamespace(
        vllm_config=SimpleNamespace(parallel_config=parallel), engine_core=core, errored=False
    )


def test_only_one_engine_under_our_scheduler_takes_messages() -> None:
    async def known(method: str, *args: Any) -> int:
        assert method == batches.METHOD
        assert args == ([], [], [], [])
        return 0

    async def unknown(method: str, *args: Any) -> int:
        raise Exception(f"Call to {method} method failed")

    assert asyncio.run(batches.takes_batches(client_of(1, known)))
    assert not asyncio.run(batches.takes_batches(client_of(1, unknown)))
    assert not asyncio.run(batches.takes_batches(client_of(2)))


class Collector:
    """Has what came already."""

    def __init__(self, output: Any) -> None:
        self.output, self.ready = output, None

    def get_nowait(self) -> Any:
        output, self.output = self.output, None
        if isinstance(output, Exception):
            raise output
        return output


class Client:
    """Takes requests one by one."""

    def __init__(self) -> None:
        self.errored = False
        self.collectors: dict[str, Collector] = {}

    async def add_request(self, request_id: str, prompt: Any, params: Any, trace_headers: Any) -> Collector:
        if prompt["prompt_token_ids"] == [13]:
            raise ValueError("unlucky")
        collector = self.collectors[request_id] = Collector(params)
        return collector


def test_rows_go_one_by_one_where_no_message_is_taken() -> None:
    client, came = Client(), list[Any]()
    rows = [
        batches.SubmittedRow("now", [1], "at once", came.append),
        batches.SubmittedRow("bad", [13], None, came.append),
        batches.SubmittedRow("later", [2], None, came.append),
    ]
    refused = asyncio.run(batches.SingleSender(client).send(rows))
    assert {name: str(error) for name, error in refused.items()} == {"bad": "unlucky"}
    assert came == ["at once"]
    later = client.collectors["later"]
    later.output = "at last"
    later.ready.set()
    later.ready.set()  # nothing more came
    later.output = died = RuntimeError("it died")
    later.ready.set()
    assert came == ["at once", "at last", died]


def test_an_engine_that_died_refuses_no_row() -> None:
    client = Client()
    client.errored = True
    with pytest.raises(ValueError, match="unlucky"):
        asyncio.run(batches.SingleSender(client).send([batches.SubmittedRow("bad", [13], None, print)]))


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_the_installed_release_has_what_both_ends_touch() -> None:
    """Run on every supported release by benchmarks.vllm_releases."""
    core = pytest.importorskip("vllm.v1.engine.core", reason="vLLM is not installed").EngineCoreProc
    clients = pytest.importorskip("vllm.v1.engine.core_client")
    front = pytest.importorskip("vllm.v1.engine.async_llm").AsyncLLM
    outputs = pytest.importorskip("vllm.v1.engine.output_processor").OutputProcessor
    inputs = pytest.importorskip("vllm.v1.engine.input_processor").InputProcessor
    assert parameters(core.preprocess_add_request) == ["self", "request"]
    assert parameters(core._handle_request_preproc_error) == ["self", "request"]
    assert parameters(core.add_request)[:3] == ["self", "request", "request_wave"]
    assert parameters(clients.AsyncMPClient.call_utility_async) == ["self", "method", "args"]
    assert parameters(front._run_output_handler) == ["self"]
    assert parameters(outputs.add_request) == [
        "self", "request", "prompt", "parent_req", "request_index", "queue"
    ]  # fmt: skip
    assert parameters(inputs.process_inputs)[:5] == [
        "self", "request_id", "prompt", "params", "supported_tasks"
    ]  # fmt: skip
    batches.install()
    assert getattr(core, batches.METHOD) is batches.add_rows


class Prompts:
    """A client that is asked what it makes of prompts, one by one and for a message."""

    def __init__(self) -> None:
        self.errored, self.given = False, list[Any]()
        core = SimpleNamespace(client_index=0, call_utility_async=self._call)
        core.encoder = SimpleNamespace(encode=lambda request: [b"a message"])
        self.engine_core, self.input_processor = core, SimpleNamespace(process_inputs=self._made)
        self.output_processor = SimpleNamespace(add_request=lambda *_: None)

    async def get_supported_tasks(self) -> tuple[str, ...]:
        return ("generate",)

    def _run_output_handler(self) -> None:
        pass

    async def _call(self, *_: Any) -> None:
        pass

    def _made(self, request_id: str, prompt: Any, params: Any, **_: Any) -> Any:
        self.given.append(prompt)
        return SimpleNamespace(cache_salt=prompt.get("cache_salt"))

    async def add_request(self, request_id: str, prompt: Any, params: Any, trace_headers: Any) -> Collector:
        self.given.append(prompt)
        return Collector(None)


@pytest.mark.parametrize("sender", [batches.BatchSender, batches.SingleSender])
@pytest.mark.parametrize(("salt", "told"), [("s", {"cache_salt": "s"}), (None, {})])
def test_vllm_is_told_the_salt(sender: Any, salt: str | None, told: dict[str, str]) -> None:
    client = Prompts()
    asyncio.run(sender(client, None, salt).send([batches.SubmittedRow("a", [1, 2], None, lambda _: None)]))
    assert client.given == [{"type": "token", "prompt_token_ids": [1, 2], **told}]


def test_to_vllm_prompts_of_two_salts_have_nothing_in_common() -> None:
    core, utils = pytest.importorskip("vllm.v1.request"), pytest.importorskip("vllm.v1.core.kv_cache_utils")
    hashing = pytest.importorskip("vllm.utils.hashing")
    vllm = pytest.importorskip("vllm")
    utils.init_none_hash(hashing.sha256)
    hasher = utils.get_request_block_hasher(2, hashing.sha256)

    def hashes(salt: str | None) -> set[Any]:
        request = core.Request("r", [1, 2, 3, 4, 5], vllm.SamplingParams(), None, cache_salt=salt,
                               block_hasher=hasher)  # fmt: skip
        return set(request.block_hashes)

    assert len(hashes("a")) == 2
    assert hashes("a") == hashes("a")
    assert len(hashes("a") | hashes("b") | hashes(None)) == 6
