"""One submission in flight: its requests are fed to vLLM, replies taken as they come, the rest aborted."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import shorten

from relserve.call.relquery import Reply, Submission
from relserve.engines.daemon_thread import in_daemon_thread
from relserve.engines.local.admitted import Admitted
from relserve.engines.local.dialogue import Dialogue, TokenizedPrompt, usage_of
from relserve.engines.local.log import EngineGone, one_line, why_refused
from relserve.engines.local.prompts import speakable
from relserve.engines.local.running import RunningEngine
from relserve.engines.local.sampling import talk_of
from relserve.errors import AdmissionError, Failure, FailureKind
from relserve.gate.gate import Gate
from relserve.vllm_plugin.batches import SubmittedRow as NewRow
from relserve.vllm_plugin.batches import num_output_tokens_of_row
from relserve.vllm_plugin.host import RequestOutput

CHUNK = 256  # prompts tokenised, and then submitted, at once, while the chunk after is tokenised
FIRST_CHUNK = 32  # so that the engine has work at once
MAX_WHY = 120  # characters of vLLM's reason to give a request up; it may quote all of a grammar

_numbers = itertools.count(1)


@dataclass(slots=True)
class _Row:
    """A row that is asked about: what is asked and the outputs so far, by the place of each request.

    Attributes:
        was_answered: all that was asked before.
    """

    dialogue: Dialogue
    was_answered: bool = False
    request_ids: list[str] = field(default_factory=list)
    num_awaited: int = 0
    outputs: list[RequestOutput | None] = field(default_factory=list)


@dataclass(slots=True)
class _Request:
    """A request that was submitted: its row's index, and its place among those asked together."""

    index: int
    place: int


class Flight:
    """The requests of one submission that are with one engine.

    Args:
        find_cause: why requests whose ids begin so were given up, as far as the engine's log tells, else "".
        gate: lets rows in; None: all at once.

    Attributes:
        pending: the requests that were submitted and are not answered, by their ids.
    """

    def __init__(
        self,
        engine: RunningEngine,
        submission: Submission,
        indices: Sequence[int],
        find_cause: Callable[[str], str],
        gate: Gate | None = None,
    ) -> None:
        self._engine, self._submission, self._indices = engine, submission, indices
        self._sender = engine.sender(submission.trace, submission.cache_salt)
        self._find_cause, self._cause = find_cause, ""
        num_output_tokens = partial(num_output_tokens_of_row, engine.client)
        self._admitted = (
            None if gate is None or gate.is_open else Admitted(gate, submission, num_output_tokens)
        )
        # Unique per flight, for a rel_id may be submitted again while its first flight still ends.
        self._prefix = f"{speakable(submission.rel_id)}.{next(_numbers)}"
        self._request_numbers = itertools.count()
        self.pending: dict[str, _Request] = {}
        self._rows: dict[int, _Row] = {}
        self._ready: list[tuple[str, RequestOutput | Exception]] = []
        self._next: list[
            tuple[int, Sequence[TokenizedPrompt]]
        ] = []  # asked about rows of which outputs have come
        self._unwanted: list[str] = []  # of rows that failed
        self._failed: list[Reply] = []
        self._sending: set[asyncio.Future[None]] = set()
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
            for task in (feeder, *self._sending):
                task.cancel()
                with contextlib.suppress(BaseException):
                    await task
            if self._admitted is not None:
                self._admitted.leave()
            await self._abort()

    async def _abort(self) -> None:
        ids, self.pending = [*self.pending, *self._unwanted], {}
        if ids and not self._engine.dead:
            with contextlib.suppress(Exception):  # it may die just now
                await self._engine.client.abort(ids)

    async def _feed(self) -> None:
        """Tokenise and submit, a chunk being tokenised while the one before is submitted."""
        chunks = _chunks(self._indices)
        talk = await in_daemon_thread(lambda: talk_of(self._engine, self._submission, self._indices))
        encoding = self._encode(chunks[0]) if chunks else None
        if self._admitted is not None and chunks:
            self._admitted.come(len(self._indices))
        for number, chunk in enumerate(chunks):
            assert encoding is not None
            encoded = await encoding
            if number + 1 < len(chunks):
                encoding = self._encode(chunks[number + 1])
            if isinstance(encoded, Exception):
                problem = f"the prompt could not be rendered: {one_line(encoded)}"
                self._fail(chunk, Failure(FailureKind.REFUSED, problem))
                continue
            self._fail(
                [index for index, ids in zip(chunk, encoded, strict=True) if not ids],
                Failure(FailureKind.REFUSED, "the prompt is empty"),
            )
            begun = ((index, talk(index, ids)) for index, ids in zip(chunk, encoded, strict=True) if ids)
            await self._enter(self._begin(begun))

    async def _enter(self, asked: list[tuple[int, Sequence[TokenizedPrompt]]]) -> None:
        """Submit what is first asked about rows, as far as they are let in."""
        while asked:
            num = len(asked)
            if self._admitted is not None:
                try:
                    num = await self._admitted.take([index for index, _ in asked])
                except AdmissionError as error:
                    for index, _ in asked:
                        del self._rows[index]
                    self._fail([index for index, _ in asked], Failure(FailureKind.DEADLINE, str(error)))
                    return
            now, asked = asked[:num], asked[num:]
            await self._send(self._requests(now))

    def _encode(self, chunk: Sequence[int]) -> asyncio.Future[list[list[int]] | Exception]:
        prompts = [self._submission.prompts[i] for i in chunk]

        def encode() -> list[list[int]] | Exception:
            try:
                thinking = self._submission.sampling.thinking
                return self._engine.encoder.encode(
                    prompts, self._submission.system, thinking, self._submission.turns
                )
            except Exception as error:
                return error

        return in_daemon_thread(encode)

    def _begin(
        self, dialogues: Iterable[tuple[int, Dialogue]]
    ) -> list[tuple[int, Sequence[TokenizedPrompt]]]:
        """What is first asked about rows, of some of which it may be known already that they fail."""
        asked = []
        for index, dialogue in dialogues:
            try:
                asked.append((index, next(dialogue)))
            except StopIteration as end:
                self._failed.append(end.value)
                self.wake()
                continue
            self._rows[index] = _Row(dialogue)
        return asked

    async def _go_on(self) -> None:
        """Submit what rows ask next, and abort what failed rows had asked."""
        if self._unwanted:
            unwanted, self._unwanted = self._unwanted, []
            await self._engine.client.abort(unwanted)
        asked, self._next = self._next, []
        # Not awaited: an engine takes rows between two steps, and replies go out meanwhile.
        sending = asyncio.ensure_future(self._send(self._requests(asked)))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    async def _send(self, requests: Sequence[NewRow]) -> None:
        """Submit requests; one that cannot be submitted fails its row."""
        if not requests:
            return
        try:
            refused = await self._engine.ask(self._sender.send(requests))
        except EngineGone:
            return
        except Exception as problem:
            if self._engine.dead or self._engine.client.errored:
                self._engine.mark_dead(one_line(problem))
                return
            given_up = self._given_up(one_line(problem))
            self._refuse({request.request_id: given_up for request in requests})
            return
        self._refuse({each: Failure(FailureKind.REFUSED, why_refused(e)) for each, e in refused.items()})

    def _requests(self, asked: Sequence[tuple[int, Sequence[TokenizedPrompt]]]) -> list[NewRow]:
        """The requests of rows, which are pending from now on."""
        return [each for index, asks in asked for each in self._requests_of(index, asks)]

    def _requests_of(self, index: int, asks: Sequence[TokenizedPrompt]) -> list[NewRow]:
        """Those of a row; none where it failed, or fails now."""
        row, limit = self._rows.get(index), self._engine.max_model_len
        if row is None:
            return []
        longest = max(len(ask.ids) for ask in asks)
        if longest >= limit:
            self._ended(index)
            problem = f"the prompt has {longest} tokens, the model's context holds {limit}"
            self._fail([index], Failure(FailureKind.OVER_CONTEXT, problem), row.was_answered)
            return []
        row.request_ids = [f"{self._prefix}.{next(self._request_numbers)}" for _ in asks]
        if self._admitted is not None:
            self._admitted.asks(index, row.request_ids)
        row.num_awaited, row.outputs = len(asks), [None] * len(asks)
        self.pending |= {each: _Request(index, place) for place, each in enumerate(row.request_ids)}
        return [
            NewRow(request_id, ask.ids, ask.params, partial(self._notice, request_id))
            for request_id, ask in zip(row.request_ids, asks, strict=True)
        ]

    def _refuse(self, refused: Mapping[str, Failure]) -> None:
        """Fail the rows of requests that were not submitted."""
        for request_id, failure in refused.items():
            if (request := self.pending.get(request_id)) is not None:
                row = self._forget(request.index)
                was_asked = row.was_answered or any(each not in refused for each in row.request_ids)
                self._fail([request.index], failure, was_asked)

    def _forget(self, index: int) -> _Row:
        """Ask no more about a row; what is still asked is aborted with the next requests."""
        row = self._ended(index)
        self._unwanted += [each for each in row.request_ids if self.pending.pop(each, None) is not None]
        return row

    def _ended(self, index: int, reply: Reply | None = None) -> _Row:
        """Ask no more about a row, which has its reply or was given up."""
        if self._admitted is not None:
            self._admitted.ended(index, reply)
        return self._rows.pop(index)

    def _fail(self, indices: Sequence[int], failure: Failure, was_asked: bool = False) -> None:
        self._failed += [Reply(i, None, failure, is_unsent=not was_asked) for i in indices]
        if indices:
            self.wake()

    def _notice(self, request_id: str, output: RequestOutput | Exception) -> None:
        self._ready.append((request_id, output))
        self.wake()

    def _take(self) -> list[Reply]:
        """The replies that are whole; what rows ask next is kept for `_go_on`."""
        ready, self._ready = self._ready, []
        replies, self._failed = self._failed, []
        for request_id, output in ready:
            request = self.pending.get(request_id)
            if request is None:
                continue
            if isinstance(output, Exception):
                if self._engine.client.errored:  # every row gets what ended vLLM's output loop
                    self._engine.mark_dead(one_line(output))
                    continue
                # From vLLM 0.33 on also what is wrong with this request alone.
                replies.append(Reply(request.index, None, self._given_up(one_line(output))))
                self._forget(request.index)
            elif output.finished:
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
        row.was_answered = True
        try:
            asks = row.dialogue.send([each for each in row.outputs if each is not None])
        except StopIteration as end:
            reply: Reply = end.value
            self._ended(request.index, reply)
            return reply
        self._next.append((request.index, asks))
        return None

    def _given_up(self, reason: str) -> Failure:
        """Why a row has no answer that vLLM began to work on."""
        if not self._cause and self._submission.has_grammars:
            self._cause = self._find_cause(self._prefix)
        why = shorten(self._cause or reason, MAX_WHY)
        return Failure(FailureKind.ENGINE, f"the engine gave the request up ({why})")


def _chunks(indices: Sequence[int]) -> list[Sequence[int]]:
    """Parts to be submitted one after another, the first one small."""
    rest = indices[FIRST_CHUNK:]
    first = [indices[:FIRST_CHUNK]] if indices else []
    return [*first, *(rest[i : i + CHUNK] for i in range(0, len(rest), CHUNK))]
