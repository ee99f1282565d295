"""One submission in flight: its requests are fed to vLLM, replies taken as they come, the rest aborted."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from textwrap import shorten

from relserve.call.relquery import Reply, Submission
from relserve.engines.local.daemon_thread import in_daemon_thread
from relserve.engines.local.dialogue import Ask, Dialogue, usage_of
from relserve.engines.local.log import EngineGone, one_line
from relserve.engines.local.prompts import speakable
from relserve.engines.local.running import RunningEngine
from relserve.engines.local.sampling import talk_of
from relserve.errors import Failure, FailureKind
from relserve.vllm_plugin.host import Collector, RequestOutput

ENCODE_CHUNK = 512  # prompts tokenised at once, while the chunk before is submitted
MAX_WHY = 120  # characters of vLLM's reason to give a request up; it may quote all of a grammar
YIELD_EVERY = 16  # requests submitted between looks at the event loop, about 2 ms

_numbers = itertools.count(1)


@dataclass(slots=True)
class _Row:
    """A row that is asked about: what is asked and the outputs so far, by the place of each request."""

    dialogue: Dialogue
    request_ids: list[str] = field(default_factory=list)
    num_awaited: int = 0
    outputs: list[RequestOutput | None] = field(default_factory=list)


@dataclass(slots=True)
class _Request:
    """A request that was submitted: its row's index, and its place among those asked together."""

    index: int
    place: int
    collector: Collector | None = None


class Flight:
    """The requests of one submission that are with one engine.

    Args:
        find_cause: why requests whose ids begin so were given up, as far as the engine's log tells, else "".

    Attributes:
        pending: the requests that were submitted and are not answered, by their ids.
    """

    def __init__(
        self,
        engine: RunningEngine,
        submission: Submission,
        indices: Sequence[int],
        find_cause: Callable[[str], str],
    ) -> None:
        self._engine, self._submission, self._indices = engine, submission, indices
        self._find_cause, self._cause = find_cause, ""
        # Unique per flight, for a rel_id may be submitted again while its first flight still ends.
        self._prefix = f"{speakable(submission.rel_id)}.{next(_numbers)}"
        self._request_numbers = itertools.count()
        self.pending: dict[str, _Request] = {}
        self._rows: dict[int, _Row] = {}
        self._ready: list[str] = []
        self._next: list[tuple[int, Sequence[Ask]]] = []  # asked about rows of which outputs have come
        self._unwanted: list[str] = []  # of rows that failed
        self._failed: list[Reply] = []
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Look again at what came, and whether the engine lives."""
        self._wake.set()

    async def replies(self) -> AsyncGenerator[list[Reply], None]:
        """Replies as they come; closing it aborts what is unfinished.

        Raises:
            EngineGone: the engine died.
        """
        feeder = asyncio.ensure_future(self._feed())
        feeder.add_done_callback(lambda _: self.wake())
        self._engine.on_death.add(self.wake)
        try:
            while True:
                if ready := self._take():
                    yield ready
                    continue
                if self._engine.dead:
                    raise EngineGone
                if self._next or self._unwanted:
                    await self._go_on()
                    continue
                if feeder.done():
                    feeder.result()
                    if not self.pending:
                        return
                await self._wake.wait()
                self._wake.clear()
        finally:
            self._engine.on_death.discard(self.wake)
            feeder.cancel()
            with contextlib.suppress(BaseException):
                await feeder
            await self._abort()

    async def _abort(self) -> None:
        ids, self.pending = [*self.pending, *self._unwanted], {}
        if ids and not self._engine.dead:
            with contextlib.suppress(Exception):  # it may die just now
                await self._engine.client.abort(ids)

    async def _feed(self) -> None:
        """Tokenise and submit, a chunk being tokenised while the one before is submitted."""
        chunks = [self._indices[i : i + ENCODE_CHUNK] for i in range(0, len(self._indices), ENCODE_CHUNK)]
        talk = await in_daemon_thread(lambda: talk_of(self._engine, self._submission, len(self._indices)))
        encoding = self._encode(chunks[0]) if chunks else None
        for number, chunk in enumerate(chunks):
            assert encoding is not None
            encoded = await encoding
            if number + 1 < len(chunks):
                encoding = self._encode(chunks[number + 1])
            if isinstance(encoded, Exception):
                problem = f"the prompt could not be rendered: {one_line(encoded)}"
                self._fail(chunk, Failure(FailureKind.REFUSED, problem))
                continue
            for i, (index, ids) in enumerate(zip(chunk, encoded, strict=True)):
                if not ids:
                    self._fail([index], Failure(FailureKind.REFUSED, "the prompt is empty"))
                    continue
                await self._begin(index, talk(index, ids))
                if i % YIELD_EVERY == 0:
                    await asyncio.sleep(0)

    def _encode(self, chunk: Sequence[int]) -> asyncio.Future[list[list[int]] | Exception]:
        prompts = [self._submission.prompts[i] for i in chunk]

        def encode() -> list[list[int]] | Exception:
            try:
                thinking = self._submission.sampling.thinking
                return self._engine.encoder.encode(prompts, self._submission.system, thinking)
            except Exception as error:
                return error

        return in_daemon_thread(encode)

    async def _begin(self, index: int, dialogue: Dialogue) -> None:
        """Submit what is first asked about a row, of which it may be known already that it fails."""
        try:
            asks = next(dialogue)
        except StopIteration as end:
            self._failed.append(end.value)
            return self.wake()
        row = self._rows[index] = _Row(dialogue)
        return await self._submit(index, row, asks)

    async def _go_on(self) -> None:
        """Submit what rows ask next, and abort what failed rows had asked."""
        if self._unwanted:
            unwanted, self._unwanted = self._unwanted, []
            await self._engine.client.abort(unwanted)
        asked, self._next = self._next, []
        for i, (index, asks) in enumerate(asked):
            if index in self._rows:
                await self._submit(index, self._rows[index], asks)
            if i % YIELD_EVERY == 0:
                await asyncio.sleep(0)

    async def _submit(self, index: int, row: _Row, asks: Sequence[Ask]) -> None:
        """Submit what is asked about a row; one request that cannot be submitted fails the row."""
        row.request_ids = [f"{self._prefix}.{next(self._request_numbers)}" for _ in asks]
        row.num_awaited, row.outputs = len(asks), [None] * len(asks)
        for place, ask in enumerate(asks):
            if index not in self._rows:  # it failed while it was submitted
                return None
            failure = await self._request(row.request_ids[place], _Request(index, place), ask)
            if failure is not None and index in self._rows:
                self._forget(index)
                return self._fail([index], failure)
        return None

    async def _request(self, request_id: str, request: _Request, ask: Ask) -> Failure | None:
        limit = self._engine.max_model_len
        if len(ask.ids) >= limit:
            problem = f"the prompt has {len(ask.ids)} tokens, the model's context holds {limit}"
            return Failure(FailureKind.OVER_CONTEXT, problem)
        self.pending[request_id] = request
        try:
            # What Renderer.render_cmpl makes of a TokensPrompt: with a type, vLLM needs no thread for it.
            prompt = {"type": "token", "prompt_token_ids": ask.ids}
            collector = await self._engine.client.add_request(request_id, prompt, ask.params)
        except Exception as error:
            if self._engine.dead or self._engine.client.errored:
                self._engine.mark_dead(one_line(error))
                return None
            self.pending.pop(request_id, None)
            await self._engine.client.abort(request_id)
            return Failure(FailureKind.REFUSED, one_line(error))
        if request_id not in self.pending:  # its row failed meanwhile
            self._unwanted.append(request_id)
        request.collector = collector
        # The collector sets this event when it has something. Ours wakes the flight, which saves a task and
        # a wake-up for each request.
        collector.ready = ReplyNotifier(self, request_id)
        if collector.output is not None:
            self._notice(request_id)
        return None

    def _forget(self, index: int) -> None:
        """Ask no more about a row; what is still asked is aborted with the next requests."""
        row = self._rows.pop(index)
        self._unwanted += [each for each in row.request_ids if self.pending.pop(each, None) is not None]

    def _fail(self, indices: Sequence[int], failure: Failure) -> None:
        self._failed += [Reply(i, None, failure) for i in indices]
        self.wake()

    def _notice(self, request_id: str) -> None:
        self._ready.append(request_id)
        self.wake()

    def _take(self) -> list[Reply]:
        """The replies that are whole; what rows ask next is kept for `_go_on`."""
        ids, self._ready = self._ready, []
        replies, self._failed = self._failed, []
        for request_id in ids:
            request = self.pending.get(request_id)
            if request is None or request.collector is None:
                continue
            try:
                output = request.collector.get_nowait()
            except Exception as error:
                if self._engine.client.errored:  # every collector gets what ended vLLM's output loop
                    self._engine.mark_dead(one_line(error))
                    continue
                # From vLLM 0.33 on also what is wrong with this request alone.
                replies.append(Reply(request.index, None, self._given_up(one_line(error))))
                self._forget(request.index)
                continue
            if output is not None and output.finished:
                del self.pending[request_id]
                if (reply := self._hand_over(request, output)) is not None:
                    replies.append(reply)
        return replies

    def _hand_over(self, request: _Request, output: RequestOutput) -> Reply | None:
        """Give a row the output of one of its requests; its reply, when that was the last."""
        if (reason := output.outputs[0].finish_reason) in ("abort", "error"):
            self._forget(request.index)
            return Reply(request.index, None, self._given_up(reason), usage_of([output]))
        row = self._rows[request.index]
        row.outputs[request.place] = output
        row.num_awaited -= 1
        if row.num_awaited:
            return None
        try:
            asks = row.dialogue.send([each for each in row.outputs if each is not None])
        except StopIteration as end:
            del self._rows[request.index]
            reply: Reply = end.value
            return reply
        self._next.append((request.index, asks))
        return None

    def _given_up(self, reason: str) -> Failure:
        """Why a row has no answer that vLLM began to work on."""
        if not self._cause and self._submission.sampling.grammar is not None:
            self._cause = self._find_cause(self._prefix)
        why = shorten(self._cause or reason, MAX_WHY)
        return Failure(FailureKind.ENGINE, f"the engine gave the request up ({why})")


class ReplyNotifier:
    """Stands in for the asyncio.Event of one request."""

    __slots__ = ("_flight", "_request_id")

    def __init__(self, flight: Flight, request_id: str) -> None:
        self._flight, self._request_id = flight, request_id

    def set(self) -> None:
        self._flight._notice(self._request_id)

    def clear(self) -> None:
        """Nothing to clear: what is ready is taken once."""
