"""Rows handed to an engine in one message: both ends of it. With `host.py`,
`engines.py` and `openai_app.py`, all of relserve that knows vLLM.

vLLM's client checks, copies, encodes and sends each request alone, and its engine wakes up for each. The rows
of one relQuery share their sampling parameters: here these are checked and sent once, as a request of which
each row makes a copy; rows come as lists of ids and tokens. What is done with a request is vLLM's own code.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from relserve.vllm_plugin.host import EngineClient, RequestOutput

if TYPE_CHECKING:
    from vllm.v1.engine import EngineCoreRequest

METHOD = "relserve_add_rows"  # of the engine, by which vLLM's client calls it


class SubmittedRow(NamedTuple):
    """A request to submit.

    Attributes:
        params: vLLM's sampling parameters, with an output at the end alone; shared by many rows.
        put: takes the output, or the exception that ended the request.
    """

    request_id: str
    token_ids: list[int]
    params: Any
    put: Callable[[RequestOutput | Exception], None]


class Sink(NamedTuple):
    """Where vLLM puts the outputs of a row, instead of a collector of its own."""

    put: Callable[[RequestOutput | Exception], None]


class RequestTemplate(NamedTuple):
    """A request as vLLM made it of the first row with some sampling parameters, and as it is sent."""

    request: EngineCoreRequest
    encoded: bytes


class RowSender(Protocol):
    """Submits rows to one engine."""

    async def send(self, rows: Sequence[SubmittedRow]) -> Mapping[str, Exception]:
        """Submit rows; gives those that were refused, by their ids.

        Raises:
            Exception: the message did not arrive; nothing was submitted, or the engine is gone.
        """


class BatchSender:
    """Sends all rows in one message, for one flight: what it learned of sampling parameters goes with it."""

    def __init__(
        self, client: EngineClient, trace: Mapping[str, str] | None = None, cache_salt: str | None = None
    ) -> None:
        self._client, self._trace, self._cache_salt = client, trace, cache_salt
        self._templates: dict[
            int, tuple[Any, RequestTemplate | Exception]
        ] = {}  # by the identity of the parameters

    async def send(self, rows: Sequence[SubmittedRow]) -> Mapping[str, Exception]:
        """See `RowSender`."""
        client: Any = self._client
        tasks = await client.get_supported_tasks()
        client._run_output_handler()
        refused: dict[str, Exception] = {}
        templates: dict[int, int] = {}  # places in the message, by the identity of the parameters
        encoded: list[bytes] = []
        ids, which, tokens = list[str](), list[int](), list[list[int]]()
        for row in rows:
            template = self._template_of(row, tasks)
            if isinstance(template, Exception):
                refused[row.request_id] = template
                continue
            request = _copied(template.request, row.request_id, row.token_ids)
            client.output_processor.add_request(request, None, None, 0, Sink(row.put))
            if id(row.params) not in templates:
                templates[id(row.params)] = len(encoded)
                encoded.append(template.encoded)
            ids.append(row.request_id)
            which.append(templates[id(row.params)])
            tokens.append(row.token_ids)
        if ids:
            await client.engine_core.call_utility_async(METHOD, encoded, ids, which, tokens)
        return refused

    def _template_of(self, row: SubmittedRow, tasks: Any) -> RequestTemplate | Exception:
        known = self._templates.get(id(row.params))
        if known is None:
            known = self._templates[id(row.params)] = row.params, self._made(row, tasks)
        return known[1]

    def _made(self, row: SubmittedRow, tasks: Any) -> RequestTemplate | Exception:
        client: Any = self._client
        try:
            prompt = _prompt(row, self._cache_salt)
            request = client.input_processor.process_inputs(
                row.request_id, prompt, row.params, supported_tasks=tasks, trace_headers=self._trace
            )
        except Exception as error:
            return error
        request.client_index = client.engine_core.client_index
        bare = _copied(request, "", [])
        return RequestTemplate(
            request, b"".join(bytes(part) for part in client.engine_core.encoder.encode(bare))
        )


class Collector(Protocol):
    """Where the outputs of one request arrive; `ready` is set when there are any."""

    output: Any
    ready: Any

    def get_nowait(self) -> RequestOutput | None: ...


class SingleSender:
    """Sends rows one by one, as vLLM's own client does: to several engines, among which it balances."""

    def __init__(
        self, client: EngineClient, trace: Mapping[str, str] | None = None, cache_salt: str | None = None
    ) -> None:
        self._client, self._trace, self._cache_salt = client, trace, cache_salt

    async def send(self, rows: Sequence[SubmittedRow]) -> Mapping[str, Exception]:
        """See `RowSender`."""
        refused: dict[str, Exception] = {}
        for row in rows:
            prompt = _prompt(row, self._cache_salt)
            try:
                collector = await self._client.add_request(
                    row.request_id, prompt, row.params, trace_headers=self._trace
                )
            except Exception as error:
                if self._client.errored:
                    raise
                refused[row.request_id] = error
                continue
            collector.ready = _Ready(collector, row.put)
            if collector.output is not None:
                collector.ready.set()
        return refused


def _prompt(row: SubmittedRow, cache_salt: str | None) -> dict[str, Any]:
    """What vLLM is given; blocks of its prefix cache serve prompts of the same salt alone."""
    prompt: dict[str, Any] = {"type": "token", "prompt_token_ids": row.token_ids}
    return prompt if cache_salt is None else {**prompt, "cache_salt": cache_salt}


class _Ready:
    """Stands in for a collector's asyncio.Event: hands on what came, without a task that waits for it."""

    __slots__ = ("_collector", "_put")

    def __init__(self, collector: Collector, put: Callable[[RequestOutput | Exception], None]) -> None:
        self._collector, self._put = collector, put

    def set(self) -> None:
        try:
            output = self._collector.get_nowait()
        except Exception as error:
            self._put(error)
            return
        if output is not None:
            self._put(output)

    def clear(self) -> None:
        """Nothing to clear: what is ready is taken at once."""


async def takes_batches(client: EngineClient) -> bool:
    """Whether the engine takes rows in one message: it is a single one, under relserve's scheduler."""
    if client.vllm_config.parallel_config.data_parallel_size > 1:
        return False
    try:
        await client.engine_core.call_utility_async(METHOD, [], [], [], [])
    except Exception:
        if client.errored:
            raise
        return False
    return True


def num_output_tokens_of_row(client: EngineClient, request_id: str) -> int:
    """Tokens that a request of a `BatchSender` has said so far; 0 for unknown ones."""
    processor: Any = getattr(client, "output_processor", None)
    state = None if processor is None else processor.request_states.get(request_id)
    detokenizer = None if state is None else state.detokenizer
    return 0 if detokenizer is None else int(detokenizer.num_output_tokens())


def install() -> None:
    """Give the engine of this process the method that `BatchSender` calls."""
    from vllm.v1.engine.core import EngineCoreProc

    setattr(EngineCoreProc, METHOD, add_rows)


def add_rows(
    engine: Any,
    encoded: Sequence[bytes],
    ids: Sequence[str],
    which: Sequence[int],
    tokens: Sequence[list[int]],
) -> int:
    """The engine's end: add the rows of a message, of which those that cannot be added get an error.

    Args:
        encoded: requests without id and prompt; `which` has the place of each row's.
    """
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.serial_utils import MsgpackDecoder

    decoder = MsgpackDecoder(EngineCoreRequest)
    templates = [decoder.decode(each) for each in encoded]
    for request_id, place, token_ids in zip(ids, which, tokens, strict=True):
        request = _copied(templates[place], request_id, token_ids)
        try:
            prepared = engine.preprocess_add_request(request)
        except Exception:
            engine._handle_request_preproc_error(request)
            continue
        engine.add_request(*prepared)
    return len(ids)


def _copied(request: Any, request_id: str, token_ids: list[int]) -> Any:
    made = copy.copy(request)
    made.request_id = made.external_req_id = request_id
    made.prompt_token_ids, made.arrival_time = token_ids, time.time()  # of the wall clock, as vLLM's own
    return made
