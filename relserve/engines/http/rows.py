"""The rows of one relQuery on their way through a server."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn

from relserve.call.ebnf import EbnfError
from relserve.call.relquery import Reply, Sampling, Submission
from relserve.engines.http.client import NO_RESPONSE, StatusError
from relserve.engines.http.dialect import Dialect
from relserve.engines.http.faults import Fault, RetryAction, fault_of
from relserve.engines.http.reply import UnreadableReply, in_json, read_reply
from relserve.engines.http.server import ModelServer, list_models
from relserve.engines.http.thoughts import shows_thoughts
from relserve.errors import EngineDeadError, EngineStartError, Failure, FailureKind, ModelError, OptionError

MAX_LOST_IN_A_ROW = 16  # so many rows given up with no answer in between: the server is of no use
REFUSALS_PER_RETRY = 5  # a row refused for overload again and again while others are answered
NO_PARSER = "it was started without --reasoning-parser NAME of vllm serve"
NO_CHAT = "it has no chat endpoint, or its model no chat template"
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 8.0

NO_SUCH_MODEL = re.compile(r"(?>.*?model\b)(?>.*?(?:does not exist|not found|not exist))", re.IGNORECASE)

log = logging.getLogger(__name__)

Inbox = asyncio.Queue["Reply | Exception"]


@dataclass
class _Tries:
    """How often one row was sent in vain."""

    faults: int = 0
    refusals: int = 0  # for overload


@dataclass(eq=False)
class HttpRows:
    """Sends the rows of a submission, and puts a Reply of each, or an error that ends all, into `inbox`.

    Each row is a request of its own here; a kind of rows that go together says so by `_together`.
    """

    server: ModelServer
    submission: Submission
    max_retries: int
    max_waits: int  # of rows that are refused for overload
    inbox: Inbox = field(default_factory=asyncio.Queue)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _inside: set[int] = field(default_factory=set)  # rows that hold a slot of the limit

    def start(self) -> None:
        """Begin to send."""
        self._tasks.add(asyncio.create_task(self._feed()))

    async def cancel(self) -> None:
        """Drop what is not answered; closing a request's connection makes the server abort it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _feed(self) -> None:
        """Start each request when there is a slot for it; with one waiter for all, relQueries take turns."""
        index, may_send = 0, self.submission.may_send
        while index < len(self.submission.prompts):
            if may_send is not None and (why := await may_send(self.submission.prompts[index])):
                self._hold_back(index, why)
                return
            await self._enter(index)
            indices = await self._let_go(self._together(index))
            task = asyncio.create_task(self._row(indices))
            self._tasks.add(task)
            # In a callback, since a task cancelled before its first step runs no `finally`.
            task.add_done_callback(partial(self._done, index))
            index += len(indices)

    async def _let_go(self, indices: tuple[int, ...]) -> tuple[int, ...]:
        """As many rows of a request as may go now, beside its first: if they waited, they would keep room."""
        may_send = self.submission.may_send
        if may_send is None:
            return indices
        for number, index in enumerate(indices[1:], 1):
            try:
                async with asyncio.timeout(0):
                    if await may_send(self.submission.prompts[index]):
                        return indices[:number]  # the next request's first is told why
            except TimeoutError:
                return indices[:number]
        return indices

    def _hold_back(self, index: int, why: str) -> None:
        """Send no row from this one on."""
        rest = range(index, len(self.submission.prompts))
        for reply in _unanswered(tuple(rest), FailureKind.CAP, why):
            self.inbox.put_nowait(reply)

    def _together(self, index: int) -> tuple[int, ...]:
        """The rows from this one on that one request asks about."""
        return (index,)

    async def _enter(self, index: int) -> None:
        await self.server.concurrency.enter()
        self._inside.add(index)

    def _leave(self, index: int) -> None:
        if index in self._inside:
            self._inside.remove(index)
            self.server.concurrency.leave()

    def _done(self, index: int, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._leave(index)

    async def _row(self, indices: tuple[int, ...]) -> None:
        try:
            for reply in await self._answer(indices, indices[0]):
                self.inbox.put_nowait(reply)
        except Exception as error:  # whatever it is, the relQuery must hear of it instead of waiting on
            self.inbox.put_nowait(error)

    async def _answer(self, indices: tuple[int, ...], slot: int) -> list[Reply]:
        """Send a request until each of its rows has its reply.

        Args:
            slot: the row that holds a slot of the limit for it.

        Raises:
            EngineError, ModelError, OptionError: no row will be answered.
        """
        concurrency, tries, submission = self.server.concurrency, _Tries(), self.submission.as_for(indices[0])
        while True:
            entered_s, dialect = asyncio.get_running_loop().time(), self.server.dialect
            if self.submission.sampling.thinking and not dialect.chat:
                self._refuse_thinking(NO_CHAT)
            grammar = submission.sampling.grammar
            if grammar is not None and grammar.ebnf and not dialect.takes_ebnf:
                self._refuse_ebnf()
            fault = await self._send(indices, dialect, submission)
            if not isinstance(fault, Fault):
                concurrency.answered(entered_s)
                return fault
            self._raise_if_useless(fault, dialect)
            if fault.action is RetryAction.FAIL_ROW:
                if not self._learned_from(fault, dialect, submission.sampling):
                    concurrency.answered(entered_s)
                    if len(indices) > 1:
                        return await self._in_halves(indices, slot)
                    return _failed(indices, fault)
            elif fault.action is RetryAction.WAIT:
                concurrency.refused(entered_s, fault.retry_after_s)
                if not self._may_wait(tries):
                    return self._lost(indices, fault)
                self._leave(slot)
                await self._enter(slot)
            elif fault.action is RetryAction.LOSE_ROW:
                return self._lost(indices, fault)
            elif fault.action is RetryAction.GIVE_UP or not self._may_retry(tries, fault):
                return await self._given_up(indices, fault)
            else:
                # The slot is kept meanwhile: were it free, row after row would run into the same outage.
                await asyncio.sleep(fault.retry_after_s or _delay_s(tries.faults))

    async def _in_halves(self, indices: tuple[int, ...], slot: int) -> list[Reply]:
        """The replies to rows that were refused together: one may be why, or they are too many."""
        middle = len(indices) // 2
        first = await self._answer(indices[:middle], slot)
        return first + await self._answer(indices[middle:], slot)

    async def _send(
        self, indices: tuple[int, ...], dialect: Dialect, submission: Submission
    ) -> list[Reply] | Fault:
        try:
            return await self._request(indices, dialect, submission)
        except EbnfError as error:
            refused = _unanswered(indices, FailureKind.REFUSED, str(error))
            return [replace(reply, is_unsent=True) for reply in refused]
        except OptionError:
            raise  # though it is a ValueError
        except RecursionError:
            return _unanswered(indices, FailureKind.UNPARSABLE, "the reply is nested too deeply")
        except (StatusError, *NO_RESPONSE, UnreadableReply, ValueError) as error:
            return fault_of(error)

    async def _request(
        self, indices: tuple[int, ...], dialect: Dialect, submission: Submission
    ) -> list[Reply]:
        """The replies to one request.

        Raises: as of `JsonClient.post` and `read_reply`; EbnfError.
        """
        (index,) = indices
        sampling = submission.sampling
        body = dialect.body(self.server.model, submission.prompts[index], submission)
        data = await self._post(dialect.path, body)
        reply = read_reply(data, index, dialect.wraps(sampling.grammar), sampling)
        by_grammar = dialect.is_vllm or dialect.is_llama_cpp  # from the first token on: it leaves no thoughts
        if self.submission.sampling.thinking and by_grammar and not shows_thoughts(data):
            self._refuse_thinking(NO_PARSER if dialect.is_vllm else "it tells no thoughts from answers")
        return [reply]

    async def _post(self, path: str, body: dict[str, Any]) -> object:
        return in_json(await self.server.client.post(path, body, self.submission.trace))

    def _refuse_ebnf(self) -> NoReturn:
        raise OptionError(
            f"{self.server.name} cannot be held to a grammar of the call's own, as vLLM's and llama.cpp's "
            "servers can; leave the grammar out, or name a model of one of these, or one that runs here"
        )

    def _refuse_thinking(self, why: str) -> NoReturn:
        raise OptionError(
            f"thinking: the model of {self.server.name} cannot be asked to think: {why}; leave thinking out, "
            "mend the server, or name a reasoning model"
        )

    def _learned_from(self, fault: Fault, dialect: Dialect, sampling: Sampling) -> bool:
        """Whether the row may go again because the server is now spoken to otherwise."""
        server = self.server
        if server.dialect != dialect:
            return True  # another row was refused for the same reason, and was first
        changed = dialect.after_refusal(fault.status, fault.message, sampling)
        if changed is None:
            return False
        log.warning("%s: %s; from now on %s", server.name, fault.message, changed)
        server.dialect = changed
        return True

    def _raise_if_useless(self, fault: Fault, dialect: Dialect) -> None:
        name, unproven = self.server.name, not self.server.concurrency.num_answered
        if self.submission.sampling.thinking and (
            why := dialect.why_no_thoughts(fault.status, fault.message)
        ):
            self._refuse_thinking(why)
        no_entry = fault.status == 403 and unproven and fault.action is RetryAction.LOSE_ROW
        if fault.status == 401 or no_entry:
            raise EngineStartError(self.server.key.refused(name, fault.message))
        if fault.status == 404 and NO_SUCH_MODEL.match(fault.message):
            raise ModelError(f"{name} does not serve {self.server.model!r} ({fault.message})")
        decides = self.server.reads.wire if self.submission.sampling.read is None else None
        if fault.status in (404, 405, 501) and (unproven or decides is not None) and not dialect.chat:
            instead = "check the URL's path"
            if decides is not None:
                instead = f"it has {decides.path} alone, for llm_prob and its like; name another model"
            raise EngineStartError(
                f"{name} has neither /chat/completions nor /completions ({fault.message}): {instead}"
            )
        if fault.action is RetryAction.STOP:
            raise EngineDeadError(f"{name} answers no more: {fault.message}")

    def _may_wait(self, tries: _Tries) -> bool:
        """Whether a row refused for overload may queue again: as long as the server gets on with others."""
        tries.refusals += 1
        concurrency = self.server.concurrency
        stuck = concurrency.num_refusals > self.max_waits and concurrency.num_inside <= 1
        return not stuck and tries.refusals <= REFUSALS_PER_RETRY * self.max_waits

    def _may_retry(self, tries: _Tries, fault: Fault) -> bool:
        tries.faults += 1
        most = min(1, self.max_retries) if fault.action is RetryAction.RETRY_ONCE else self.max_retries
        return tries.faults <= most

    async def _given_up(self, indices: tuple[int, ...], fault: Fault) -> list[Reply]:
        """The rows' failure; an error where the server is gone rather than the rows bad."""
        if fault.action is RetryAction.CHECK_SERVER:
            try:
                await list_models(self.server.client)
            except StatusError:
                pass  # it is there, after all
            except (*NO_RESPONSE, ValueError) as error:
                raise EngineDeadError(
                    f"{self.server.name} no longer answers ({fault.message}); answers that came before stand"
                ) from error
        return self._lost(indices, fault)

    def _lost(self, indices: tuple[int, ...], fault: Fault) -> list[Reply]:
        concurrency = self.server.concurrency
        concurrency.num_lost_in_a_row += 1
        if concurrency.num_lost_in_a_row >= MAX_LOST_IN_A_ROW:
            raise EngineDeadError(
                f"{self.server.name} answered none of the last {MAX_LOST_IN_A_ROW} rows ({fault.message})"
            )
        return _failed(indices, fault)


def _failed(indices: tuple[int, ...], fault: Fault) -> list[Reply]:
    refused = fault.action in (RetryAction.FAIL_ROW, RetryAction.LOSE_ROW)
    kind = fault.row_failure if refused else FailureKind.ENGINE
    return _unanswered(indices, kind, fault.message)


def _unanswered(indices: tuple[int, ...], kind: FailureKind, message: str) -> list[Reply]:
    return [Reply(index, None, Failure(kind, message)) for index in indices]


def _delay_s(num_faults: int) -> float:
    longest: float = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** (num_faults - 1))
    return longest * random.uniform(0.75, 1.0)  # rows that failed together should not come back together
