"""The rows of one relQuery on their way through a server, each a request of its own."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

from relserve.call.ebnf import EbnfError
from relserve.call.relquery import Reply, Sampling, Submission
from relserve.engines.http.client import NO_RESPONSE, StatusError
from relserve.engines.http.dialect import Dialect
from relserve.engines.http.faults import Fault, RetryAction, fault_of
from relserve.engines.http.label_reply import read_labels
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

_NO_SUCH_MODEL = re.compile(r"(?>.*?model\b)(?>.*?(?:does not exist|not found|not exist))", re.IGNORECASE)

log = logging.getLogger(__name__)

Inbox = asyncio.Queue["Reply | Exception"]


@dataclass
class _Tries:
    """How often one row was sent in vain."""

    faults: int = 0
    refusals: int = 0  # for overload


@dataclass(eq=False)
class HttpRows:
    """Sends the rows of a submission, and puts a Reply of each, or an error that ends all, into `inbox`."""

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
        """Start each row when there is a slot for it; with one waiter for all, relQueries take turns."""
        for index in range(len(self.submission.prompts)):
            await self._enter(index)
            task = asyncio.create_task(self._row(index))
            self._tasks.add(task)
            # In a callback, since a task cancelled before its first step runs no `finally`.
            task.add_done_callback(partial(self._done, index))

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

    async def _row(self, index: int) -> None:
        try:
            self.inbox.put_nowait(await self._answer(index))
        except Exception as error:  # whatever it is, the relQuery must hear of it instead of waiting on
            self.inbox.put_nowait(error)

    async def _answer(self, index: int) -> Reply:
        """Send a row until it has its reply.

        Raises:
            EngineError, ModelError, OptionError: no row will be answered.
        """
        concurrency, tries, submission = self.server.concurrency, _Tries(), self.submission.as_for(index)
        while True:
            entered_s, dialect = asyncio.get_running_loop().time(), self.server.dialect
            if self.submission.sampling.thinking and not dialect.chat:
                self._refuse_thinking(NO_CHAT)
            grammar = submission.sampling.grammar
            if grammar is not None and grammar.ebnf and not dialect.takes_ebnf:
                self._refuse_ebnf()
            fault = await self._send(index, dialect, submission)
            if isinstance(fault, Reply):
                concurrency.answered()
                return fault
            self._raise_if_useless(fault, dialect)
            if fault.action is RetryAction.FAIL_ROW:
                if not self._learned_from(fault, dialect, submission.sampling):
                    concurrency.answered()
                    return _failed(index, fault)
            elif fault.action is RetryAction.WAIT:
                concurrency.refused(entered_s, fault.retry_after_s)
                if not self._may_wait(tries):
                    return self._lost(index, fault)
                self._leave(index)
                await self._enter(index)
            elif fault.action is RetryAction.LOSE_ROW:
                return self._lost(index, fault)
            elif fault.action is RetryAction.GIVE_UP or not self._may_retry(tries, fault):
                return await self._given_up(index, fault)
            else:
                # The slot is kept meanwhile: were it free, row after row would run into the same outage.
                await asyncio.sleep(fault.retry_after_s or _delay_s(tries.faults))

    async def _send(self, index: int, dialect: Dialect, submission: Submission) -> Reply | Fault:
        try:
            body = dialect.body(self.server.model, submission.prompts[index], submission)
            data = in_json(await self.server.client.post(dialect.path, body, self.submission.trace))
            if submission.labels:
                return read_labels(data, index, submission.labels)
            reply = read_reply(data, index, dialect.wraps(submission.sampling.grammar), submission.sampling)
        except EbnfError as error:
            return Reply(index, None, Failure(FailureKind.REFUSED, str(error)))
        except RecursionError:
            return Reply(index, None, Failure(FailureKind.UNPARSABLE, "the reply is nested too deeply"))
        except (StatusError, *NO_RESPONSE, UnreadableReply, ValueError) as error:
            return fault_of(error)
        by_grammar = dialect.is_vllm or dialect.is_llama_cpp  # from the first token on: it leaves no thoughts
        if self.submission.sampling.thinking and by_grammar and not shows_thoughts(data):
            self._refuse_thinking(NO_PARSER if dialect.is_vllm else "it tells no thoughts from answers")
        return reply

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
        if fault.status == 404 and _NO_SUCH_MODEL.match(fault.message):
            raise ModelError(f"{name} does not serve {self.server.model!r} ({fault.message})")
        if fault.status in (404, 405, 501) and unproven and not dialect.chat:
            raise EngineStartError(
                f"{name} has neither /chat/completions nor /completions ({fault.message}): "
                "check the URL's path"
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

    async def _given_up(self, index: int, fault: Fault) -> Reply:
        """The row's failure; an error where the server is gone rather than the row bad."""
        if fault.action is RetryAction.CHECK_SERVER:
            try:
                await list_models(self.server.client)
            except StatusError:
                pass  # it is there, after all
            except (*NO_RESPONSE, ValueError) as error:
                raise EngineDeadError(
                    f"{self.server.name} no longer answers ({fault.message}); answers that came before stand"
                ) from error
        return self._lost(index, fault)

    def _lost(self, index: int, fault: Fault) -> Reply:
        concurrency = self.server.concurrency
        concurrency.num_lost_in_a_row += 1
        if concurrency.num_lost_in_a_row >= MAX_LOST_IN_A_ROW:
            raise EngineDeadError(
                f"{self.server.name} answered none of the last {MAX_LOST_IN_A_ROW} rows ({fault.message})"
            )
        return _failed(index, fault)


def _failed(index: int, fault: Fault) -> Reply:
    refused = fault.action in (RetryAction.FAIL_ROW, RetryAction.LOSE_ROW)
    kind = fault.row_failure if refused else FailureKind.ENGINE
    return Reply(index, None, Failure(kind, fault.message))


def _delay_s(num_faults: int) -> float:
    longest: float = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** (num_faults - 1))
    return longest * random.uniform(0.75, 1.0)  # rows that failed together should not come back together
