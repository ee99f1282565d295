"""One submission in flight: its requests are fed to vLLM, replies taken as they come, the rest aborted."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from textwrap import shorten
from typing import Any

from relserve.call.relquery import Reply, RowTimes, Sampling, Submission, Usage
from relserve.engines.local.daemon_thread import in_daemon_thread
from relserve.engines.local.log import EngineGone, one_line
from relserve.engines.local.prompts import speakable
from relserve.engines.local.running import RunningEngine
from relserve.errors import Failure, FailureKind
from relserve.vllm_plugin import host
from relserve.vllm_plugin.host import Collector, RequestOutput

ENCODE_CHUNK = 512  # prompts tokenised at once, while the chunk before is submitted
MAX_WHY = 120  # characters of vLLM's reason to give a request up; it may quote all of a grammar
YIELD_EVERY = 16  # requests submitted between looks at the event loop, about 2 ms

_numbers = itertools.count(1)


class Flight:
    """The requests of one submission that are with one engine.

    Args:
        find_cause: why requests whose ids begin so were given up, as far as the engine's log tells, else "".

    Attributes:
        pending: request id of each prompt that was submitted and has no reply, by its index.
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
        self.pending: dict[int, str] = {}
        self._collectors: dict[int, Collector] = {}
        self._ready: list[int] = []
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
        ids, self.pending = list(self.pending.values()), {}
        if ids and not self._engine.dead:
            with contextlib.suppress(Exception):  # it may die just now
                await self._engine.client.abort(ids)

    async def _feed(self) -> None:
        """Tokenise and submit, a chunk being tokenised while the one before is submitted."""
        chunks = [self._indices[i : i + ENCODE_CHUNK] for i in range(0, len(self._indices), ENCODE_CHUNK)]
        params = await in_daemon_thread(
            lambda: sampling_params(self._engine, self._submission, len(self._indices))
        )
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
                await self._submit(index, ids, params)
                if i % YIELD_EVERY == 0:
                    await asyncio.sleep(0)

    def _encode(self, chunk: Sequence[int]) -> asyncio.Future[list[list[int]] | Exception]:
        prompts = [self._submission.prompts[i] for i in chunk]

        def encode() -> list[list[int]] | Exception:
            try:
                return self._engine.encoder.encode(prompts, self._submission.system)
            except Exception as error:
                return error

        return in_daemon_thread(encode)

    async def _submit(self, index: int, ids: list[int], params: Any) -> None:
        limit = self._engine.max_model_len
        if not ids:
            return self._fail([index], Failure(FailureKind.REFUSED, "the prompt is empty"))
        if len(ids) >= limit:
            problem = f"the prompt has {len(ids)} tokens, the model's context holds {limit}"
            return self._fail([index], Failure(FailureKind.OVER_CONTEXT, problem))
        request_id = self.pending[index] = f"{self._prefix}.{index}"
        try:
            # What Renderer.render_cmpl makes of a TokensPrompt: with a type, vLLM needs no thread for it.
            prompt = {"type": "token", "prompt_token_ids": ids}
            collector = await self._engine.client.add_request(request_id, prompt, params)
        except Exception as error:
            if self._engine.dead or self._engine.client.errored:
                self._engine.mark_dead(one_line(error))
                return None
            del self.pending[index]
            await self._engine.client.abort(request_id)
            return self._fail([index], Failure(FailureKind.REFUSED, one_line(error)))
        self._collectors[index] = collector
        # The collector sets this event when it has something. Ours wakes the flight, which saves a task and
        # a wake-up for each request.
        collector.ready = ReplyNotifier(self, index)
        if collector.output is not None:
            self._notice(index)
        return None

    def _fail(self, indices: Sequence[int], failure: Failure) -> None:
        self._failed += [Reply(i, None, failure) for i in indices]
        self.wake()

    def _notice(self, index: int) -> None:
        self._ready.append(index)
        self.wake()

    def _take(self) -> list[Reply]:
        numbers, self._ready = self._ready, []
        replies, self._failed = self._failed, []
        for index in numbers:
            collector = self._collectors.get(index)
            if collector is None:
                continue
            try:
                output = collector.get_nowait()
            except Exception as error:
                if self._engine.client.errored:  # every collector gets what ended vLLM's output loop
                    self._engine.mark_dead(one_line(error))
                    continue
                # From vLLM 0.33 on also what is wrong with this request alone.
                reply = Reply(index, None, _given_up(one_line(error)))
            else:
                if output is None or not output.finished:
                    continue
                reply = _reply(index, output, self._why_given_up)
            del self._collectors[index]
            self.pending.pop(index, None)
            replies.append(reply)
        return replies

    def _why_given_up(self, reason: str) -> str:
        if not self._cause and self._submission.sampling.grammar is not None:
            self._cause = self._find_cause(self._prefix)
        return self._cause or reason


class ReplyNotifier:
    """Stands in for the asyncio.Event of one request."""

    __slots__ = ("_flight", "_index")

    def __init__(self, flight: Flight, index: int) -> None:
        self._flight, self._index = flight, index

    def set(self) -> None:
        self._flight._notice(self._index)

    def clear(self) -> None:
        """Nothing to clear: what is ready is taken once."""


def _reply(index: int, output: RequestOutput, find_cause: Callable[[str], str]) -> Reply:
    completion = output.outputs[0]
    usage = Usage(len(output.prompt_token_ids), output.num_cached_tokens or 0, len(completion.token_ids))
    times = None
    if (m := output.metrics) is not None:
        times = RowTimes(m.queued_ts, m.scheduled_ts, m.first_token_ts, m.last_token_ts, m.num_preemptions)
    if completion.finish_reason in ("abort", "error"):
        return Reply(index, None, _given_up(find_cause(completion.finish_reason)), usage)
    confidence, cut = _confidence(completion.cumulative_logprob), completion.finish_reason == "length"
    return Reply(index, completion.text, None, usage, times, confidence, cut)


def _given_up(why: str) -> Failure:
    """Why a row has no answer that vLLM began to work on."""
    return Failure(FailureKind.ENGINE, f"the engine gave the request up ({shorten(why, MAX_WHY)})")


def _confidence(logprob: float | None) -> float | None:
    """The probability of a reply.

    vLLM's default (logprobs_mode "raw_logprobs") takes the logits as they are before temperature and
    penalties but behind the grammar's mask, so that each token's probability is that among the allowed ones.
    """
    return None if logprob is None else math.exp(min(0.0, logprob))


def sampling_params(engine: RunningEngine, submission: Submission, num_rows: int) -> Any:
    """vLLM's sampling parameters for every request of a submission, of which `num_rows` are sent."""
    sampling = submission.sampling
    cap = sampling.max_tokens
    if sampling.grammar is not None and sampling.grammar.choices:
        cap = min(cap, max(engine.encoder.num_tokens(sampling.grammar.choices)) + 1)
    tag = submission.tag(len(submission.prompts) - num_rows, cap)
    return host.shared_sampling_params(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=sampling.seed,
        stop=[speakable(s) for s in sampling.stop],
        structured_outputs=_structured(sampling),
        logprobs=0 if sampling.with_confidence else None,  # 0: those of the chosen tokens alone
        extra_args=tag.args(),
    )


def _structured(sampling: Sampling) -> Any:
    if sampling.grammar is None:
        return None
    if sampling.grammar.choices:
        return host.structured_outputs(choice=[speakable(c) for c in sampling.grammar.choices])
    if sampling.grammar.shape is not None:
        return host.structured_outputs(regex=speakable(sampling.grammar.shape.regex()))
    return host.structured_outputs(regex=sampling.grammar.regex)
