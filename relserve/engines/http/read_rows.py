"""Rows whose probabilities of choices are read at a server, by its likeliest tokens or its decision path."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass, field, replace

from relserve.call.answer_types import ChoiceAnswer
from relserve.call.questions import MOST_QUESTIONS
from relserve.call.relquery import Reply, Sampling, Submission, Usage
from relserve.engines.http.decision_wire import AskedQuestion, DecisionWire
from relserve.engines.http.dialect import Dialect, encodable
from relserve.engines.http.faults import Fault, RetryAction
from relserve.engines.http.label_reply import TELLS_NONE, read_labels, refused
from relserve.engines.http.reply import usage_shares
from relserve.engines.http.rows import NO_SUCH_MODEL, HttpRows
from relserve.errors import Failure, FailureKind

WHAT_IT_ASKS = "Answer what the text asks."  # of a state that has its question in it
NO_SUCH_PATH = (404, 405, 501)
ENOUGH_IN_VAIN = 2  # rows of which a server told nothing, for one may have been odd
TAKES_NOT = (400, 413, 422)  # of a request whose path is there

# Refusals of a chat that say where else to ask.
_ELSEWHERE = re.compile(r"\bchat\b|logprobs|decision|systemone|system one", re.IGNORECASE)

log = logging.getLogger(__name__)


@dataclass(eq=False)
class ReadRows(HttpRows):
    """Sends rows whose replies are the probabilities of choices; see `HttpRows`, and `ReadingWays`.

    Attributes:
        submission: as it is asked by tokens.
        plain: the same as it is asked by a decision path, where the questions about one state go together:
            servers compute, and bill, a state once a request, and keep it, being the beginning.
    """

    plain: Submission = field(kw_only=True)
    _alone: int | None = None  # the row that is asked about alone, to see whether the server can be read
    _ended: asyncio.Event = field(default_factory=asyncio.Event)  # the row before the next one
    _knows_none: list[str] = field(default_factory=list)  # why rows could not be read here, nor any other

    async def _enter(self, index: int) -> None:
        if self._alone not in (None, index):
            await self._ended.wait()
        is_open = not self.server.reads.is_known and not self._is_useless
        if is_open and (not index or self._knows_none):
            self._alone = index
            self._ended.clear()
        await super()._enter(index)

    async def _row(self, indices: tuple[int, ...]) -> None:
        try:
            await super()._row(indices)
        finally:
            self._alone = None
            self._ended.set()

    @property
    def _is_useless(self) -> bool:
        return len(self._knows_none) >= ENOUGH_IN_VAIN

    def _together(self, index: int) -> tuple[int, ...]:
        reads, end = self.server.reads, index + 1
        if reads.is_known and reads.wire is not None:
            state, _ = apart(self.plain, index)
            most = min(len(self.plain.prompts), index + MOST_QUESTIONS)
            while end < most and apart(self.plain, end)[0] == state:
                end += 1
        return tuple(range(index, end))

    async def _send(
        self, indices: tuple[int, ...], dialect: Dialect, submission: Submission
    ) -> list[Reply] | Fault:
        """By each way that the server may know, until it knows one; else what was said by tokens."""
        by_tokens: list[Reply] | Fault | None = None
        if self._is_useless:
            return [_unsent(index, self._knows_none[-1]) for index in indices]
        while True:
            ways = self.server.reads
            sent = await super()._send(indices, dialect, submission)
            if ways.is_known:
                return sent
            if not self._lacks(ways.wire, sent, dialect):
                if _is_proof(ways.wire, sent):
                    self.server.reads = ways.known()
                    by = "likeliest tokens" if ways.wire is None else ways.wire.path
                    log.info("%s: reads probabilities by %s", self.server.name, by)
                return sent
            if ways.wire is None:
                by_tokens = sent
            if self.server.reads == ways:
                self.server.reads = ways.others()
            if by_tokens is not None and self.server.reads.wire is None:
                self._knows_none += _why_none(by_tokens)
                return by_tokens

    async def _request(
        self, indices: tuple[int, ...], dialect: Dialect, submission: Submission
    ) -> list[Reply]:
        if (wire := self.server.reads.wire) is not None:
            return await self._decided(wire, indices, dialect)
        (index,) = indices
        if "logprobs" in dialect.omitted:
            return [_unsent(index, TELLS_NONE)]
        body = dialect.body(self.server.model, submission.prompts[index], submission)
        told = await self._post(dialect.path, body)
        return [read_labels(told, index, submission.labels, submission.sampling.label_mass)]

    async def _decided(self, wire: DecisionWire, indices: tuple[int, ...], dialect: Dialect) -> list[Reply]:
        state, _ = apart(self.plain, indices[0])
        questions = [apart(self.plain, index)[1] for index in indices]
        body = wire.body(self.server.model, state, questions)
        if dialect.is_vllm and self.plain.cache_salt is not None:
            body["cache_salt"] = self.plain.cache_salt
        data = await self._post(wire.path, body)
        usages = usage_shares(data, len(indices))
        found = wire.read(data, questions)
        tells = self.plain.sampling.label_mass
        masses = [wire.mass_in(data, number) if tells else None for number in range(len(questions))]
        return list(map(self._reply, indices, found, usages, masses))

    def _reply(
        self, index: int, found: tuple[float, ...] | Failure, usage: Usage, mass: float | None
    ) -> Reply:
        if isinstance(found, Failure):
            return Reply(index, None, found, usage)
        best = choices_of(self.plain, index)[found.index(max(found))]
        masses = None if mass is None else (mass,)
        return Reply(index, best, usage=usage, probabilities=found, label_masses=masses)

    def _lacks(self, wire: DecisionWire | None, sent: list[Reply] | Fault, dialect: Dialect) -> bool:
        """Whether the server has shown that it does not know the way."""
        if not isinstance(sent, Fault):
            return wire is None and _tells_none(sent)
        if wire is None:
            return self._lacks_tokens(sent, dialect)
        if sent.status in NO_SUCH_PATH:
            names_model = sent.status == 404 and NO_SUCH_MODEL.match(sent.message)
            return dialect.chat or not names_model  # of a path that is there, unless the model chats
        return sent.action is RetryAction.RETRY and not sent.status  # HTTP 200 with something else

    def _lacks_tokens(self, fault: Fault, dialect: Dialect) -> bool:
        if fault.status in NO_SUCH_PATH:
            return not dialect.chat  # else /completions is still to be tried
        if fault.status not in (400, 403, 422, 500) or fault.row_failure is FailureKind.OVER_CONTEXT:
            return False
        changed = dialect.after_refusal(fault.status, fault.message, self.submission.sampling)
        if changed is not None:
            return "logprobs" in changed.omitted
        return fault.status != 500 and bool(_ELSEWHERE.search(fault.message))

    def _raise_if_useless(self, fault: Fault, dialect: Dialect) -> None:
        if fault.status != 403 or not _refuses_logprobs(fault):  # which says nothing of the key
            super()._raise_if_useless(fault, dialect)

    def _learned_from(self, fault: Fault, dialect: Dialect, sampling: Sampling) -> bool:
        if self.server.reads.wire is not None:
            return False  # what a decision path refuses tells nothing about chats
        return super()._learned_from(fault, dialect, sampling)


def apart(submission: Submission, index: int) -> tuple[str, AskedQuestion]:
    """The state of a prompt, and what is asked about it, after the system message and the examples."""
    choices = choices_of(submission, index)
    lead = ChoiceAnswer(choices).instruction
    question, state = submission.frame.apart(submission.prompts[index].removeprefix(lead))
    question = question.removesuffix(lead).rstrip()  # of a question that follows its state
    examples = [
        f"Example: {turn.user.removeprefix(lead).strip()}\nAnswer: {turn.assistant}"
        for turn in submission.turns
    ]
    text = "\n".join(filter(None, [submission.system, *examples, question or WHAT_IT_ASKS]))
    return encodable(state), AskedQuestion(encodable(text), tuple(map(encodable, choices)))


def choices_of(submission: Submission, index: int) -> tuple[str, ...]:
    """What a prompt asks to decide among."""
    grammar = submission.grammar_of(index)
    assert grammar is not None
    return grammar.choices


def _is_proof(wire: DecisionWire | None, sent: list[Reply] | Fault) -> bool:
    """Whether the server has shown that it knows the way."""
    return not isinstance(sent, Fault) or (wire is not None and sent.status in TAKES_NOT)


def _why_none(sent: list[Reply] | Fault) -> list[str]:
    """Why other rows cannot be read by tokens either; nothing where that is perhaps of this row alone."""
    if isinstance(sent, Fault):
        return [sent.message] if _refuses_logprobs(sent) else []
    return [TELLS_NONE] if _tells_none(sent) else []


def _unsent(index: int, why: str) -> Reply:
    """Of a row about which the server was not asked, so that caps do not count it."""
    return replace(refused(index, why), is_unsent=True)


def _refuses_logprobs(fault: Fault) -> bool:
    return "logprobs" in fault.message


def _tells_none(replies: list[Reply]) -> bool:
    return any(reply.failure is not None and reply.failure.message == TELLS_NONE for reply in replies)
