"""Engines as one user has them: only models that they may ask, and only for their tokens of a time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from relserve.call.options import WORDS
from relserve.call.relquery import Reply, Submission
from relserve.call.token_counts import CHARS_A_TOKEN
from relserve.engines.protocol import Encoder, Engine, Estimable
from relserve.errors import FailureKind, ForbiddenError, QuotaError
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.linear import CostModel
from relserve.server.users.quota import DAY, MINUTE, WINDOWS, Quota, Window
from relserve.server.users.users import User
from relserve.session.likely_spending import size_of
from relserve.session.prompt_price import expected_output
from relserve.session.wrapped_engine import WrappedEngine

AT_ONCE = 256  # rows that an engine runs at once which does not tell: vLLM's own default
POLL_S = 0.05  # between two looks whether claimed tokens are free again
BYTES, OVERHEAD = 3, 8  # of a token, at least; tokens of a prompt beside its texts

FindEngine = Callable[[str | None], Engine]
_DEFAULT_MODEL, _SQL_MODEL = "tiny", "tiny-sql"  # where the first is the server's, text2sql() asks the other


def metered_finder(find: FindEngine, user: User, quota: Quota) -> FindEngine:
    """`find` as a user has it.

    Args:
        find: from a model's name to its engine; None: the server's own model.
    """

    def find_metered(name: str | None) -> Engine:
        is_default = name == WORDS or (name == _SQL_MODEL and find(None).model == _DEFAULT_MODEL)
        check_model(user, name, is_default)
        engine = find(name)
        if name is None:
            check_model(user, engine.model, is_default=True)
        return metered(engine, user, quota)

    return find_metered


def check_model(user: User, name: str | None, is_default: bool = False) -> None:
    """Refuse a model that a user may not ask, before anything looks for it.

    Args:
        name: as a call names it; None: the call names none.
        is_default: whether it is the server's own model, or belongs to it.

    Raises:
        ForbiddenError: it is not theirs; says which are.
    """
    if name is None or (user.models is None and (user.is_admin or is_default)):
        return
    if user.models is None:
        raise ForbiddenError(
            f"user {user.name} may not ask the model {name!r}, only the server's own: leave model := out, or "
            f"have the server's owner run `relserve user change {user.name} --models ..`"
        )
    if name not in user.models:
        theirs = ", ".join(sorted(user.models)) or "none"
        raise ForbiddenError(f"user {user.name} may not ask the model {name!r}; their models are: {theirs}")


def metered(engine: Engine, user: User, quota: Quota) -> Engine:
    """The engine, which counts a user's tokens and refuses to go on when they are used up."""
    kind = _MeteredEstimable if isinstance(engine, Estimable) else Metered
    return kind(engine, user, quota)


class Metered(WrappedEngine):
    """An engine that counts what it answers.

    Before a row is sent, the most tokens that it may take are claimed: rows that do not fit beside those
    under way, of all of the user's statements and requests, wait for these. What runs in the engine when the
    tokens are used up is aborted there. So a user goes over by what one row takes. A row of a batch counts
    when it is sent, by what it is expected to take, and its answer counts no more.
    """

    _engine: Any

    def __init__(self, engine: Engine, user: User, quota: Quota) -> None:
        super().__init__(engine)
        self._user, self._quota = user, quota

    @property
    def asks_before_sending(self) -> bool:
        """Whether its rows ask `Submission.may_send`."""
        return getattr(self._engine, "asks_before_sending", False)

    @property
    def look(self) -> Any:
        """See `BatchEngine.look`; None of an engine that sends no batches."""
        return getattr(self._engine, "look", None)

    @property
    def find_counted(self) -> Any:
        """See `BatchEngine.find_counted`; None of an engine that sends no batches."""
        return getattr(self._engine, "find_counted", None)

    def around(self, wrap: Callable[[Any], Engine]) -> Metered:
        """The same of the engine inside, wrapped: its rows get there once their tokens are claimed."""
        return Metered(wrap(self._engine), self._user, self._quota)

    @property
    def _sends_batches(self) -> bool:
        return self.find_counted is not None

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`.

        Raises:
            QuotaError: the user's tokens are used up; says when more may be asked.
        """
        num_prompts, submission = len(submission.prompts), replace(submission, user=self._user.name)
        rows = num_prompts if submission.rows is None else submission.rows
        before = await self.find_counted(submission) if self._sends_batches else []
        indices: Sequence[int] = range(num_prompts)
        if before:  # they wait in a batch or were answered in one, and were counted when they were sent
            async with aclosing(self._engine.answer(submission.part(before, rows))) as batches:
                async for batch in batches:
                    yield _at(before, batch)
            indices = sorted(set(indices) - set(before))
        tokens = _expected_tokens(submission) if self._sends_batches else _most_tokens(submission)
        wanted, first = [tokens[index] for index in indices], 0
        while first < len(indices):
            self._check()
            count = self._quota.claim(self._user.name, self._user.token_limits, wanted[first:])
            if not count:
                await asyncio.sleep(POLL_S)  # until others of the user's are done
                continue
            now = indices[first : first + count]
            part = submission if count == num_prompts else submission.part(now, rows)
            async with aclosing(self._claimed(part, wanted[first : first + count])) as batches:
                async for batch in batches:
                    yield batch if part is submission else _at(now, batch)
            first += count

    async def _claimed(
        self, submission: Submission, wanted: Sequence[int]
    ) -> AsyncGenerator[list[Reply], None]:
        """The replies to rows whose tokens are claimed; the claims end with them."""
        claimed, left = sum(wanted), set(range(len(wanted)))
        begun = _Begun(submission)
        if self.asks_before_sending:
            submission = replace(submission, may_send=begun.may_send)
        try:
            async with aclosing(self._engine.answer(submission)) as batches:
                async for batch in batches:
                    new = [each for each in batch if not each.is_counted]
                    used = sum(wanted[each.index] if _is_in_batch(each) else _tokens(each) for each in new)
                    self._quota.add(self._user.name, used)
                    done = sum(wanted[reply.index] for reply in batch)
                    self._quota.release(self._user.name, done)
                    claimed -= done
                    left.difference_update(reply.index for reply in batch)
                    yield batch
                    if left:
                        self._check()
        except (asyncio.CancelledError, GeneratorExit):
            if not self._sends_batches:  # their rows count when they are sent
                num_running = getattr(self._engine, "max_num_seqs", None) or AT_ONCE
                sent = [n for n in left if n < begun.num_sent]  # they are asked about in order
                running = sent if self.asks_before_sending else sorted(left)[:num_running]
                self._quota.add(self._user.name, begun.tokens(running))
            raise
        finally:
            self._quota.release(self._user.name, claimed)

    async def close(self) -> None:
        """Leave the engine as it is: other users ask it, too."""

    def _check(self) -> None:
        try:
            check_tokens(self._user, self._quota)
        except QuotaError as error:
            kept = " (rows answered before are kept in the answer cache, where it is on)"
            raise QuotaError(f"{error}{kept if math.isfinite(error.wait_s) else ''}", error.wait_s) from None


class _MeteredEstimable(Metered):
    """The same, of an engine whose work can be estimated."""

    def find_encoder(self) -> Encoder | None:
        """See `Estimable.find_encoder`."""
        found: Encoder | None = self._engine.find_encoder()
        return found

    def find_cost(self) -> CostModel | None:
        """See `Estimable.find_cost`."""
        found: CostModel | None = self._engine.find_cost()
        return found

    def find_lengths(self) -> LengthLearner:
        """See `Estimable.find_lengths`."""
        found: LengthLearner = self._engine.find_lengths()
        return found

    @property
    def max_num_seqs(self) -> int | None:
        """See `Estimable.max_num_seqs`."""
        found: int | None = self._engine.max_num_seqs
        return found

    @property
    def block_size(self) -> int:
        """See `Estimable.block_size`."""
        return int(self._engine.block_size)


def _at(indices: Sequence[int], replies: Sequence[Reply]) -> list[Reply]:
    """The replies to a part of a submission, by their places in the whole."""
    return [replace(reply, index=indices[reply.index]) for reply in replies]


def _tokens(reply: Reply) -> int:
    return reply.usage.prompt_tokens + reply.usage.output_tokens


def _is_in_batch(reply: Reply) -> bool:
    return reply.failure is not None and reply.failure.kind is FailureKind.IN_BATCH


class _Begun:
    """What an engine has begun of a submission that nobody waits for any more: it has read those prompts."""

    def __init__(self, submission: Submission) -> None:
        self._submission, self.num_sent = submission, 0

    async def may_send(self, prompt: str) -> str:
        """See `Submission.may_send`."""
        why = "" if self._submission.may_send is None else await self._submission.may_send(prompt)
        self.num_sent += not why
        return why

    def tokens(self, rows: Sequence[int]) -> int:
        """About how many tokens the prompts of some rows have."""
        tokens = _prompt_tokens(self._submission)
        return sum(tokens[index] for index in rows)


def _expected_tokens(submission: Submission) -> list[int]:
    """The tokens of each row by its bytes and its answer's type, as caps count a row of a batch."""
    return [tokens + expected_output(submission.sampling) for tokens in _prompt_tokens(submission)]


def _prompt_tokens(submission: Submission) -> list[int]:
    """The tokens of each row's prompt by its bytes."""
    same = size_of(submission.lead) / CHARS_A_TOKEN + OVERHEAD
    return [round(same + size_of(prompt) / CHARS_A_TOKEN) for prompt in submission.prompts]


def _most_tokens(submission: Submission) -> list[int]:
    """The most tokens that each row may take, its prompt's as far as its length tells."""
    overhead = OVERHEAD * (1 + 2 * len(submission.turns))
    same = _most_of(submission.lead) + overhead + submission.sampling.output_cap
    return [same + _most_of(prompt) for prompt in submission.prompts]


def _most_of(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES


def check_tokens(user: User, quota: Quota) -> None:
    """Refuse a user whose tokens of the last minute, hour or day are used up.

    Raises:
        QuotaError: says which, and when more may be asked.
    """
    waits = [
        (quota.wait_s(user.name, limit, window), limit, window)
        for window, limit in zip(WINDOWS, user.token_limits, strict=True)
        if limit is not None
    ]
    wait_s, limit, window = max(waits, default=(0.0, 0, MINUTE))
    if wait_s:
        raise QuotaError(_used_up(user.name, limit, window, wait_s), wait_s)


def _used_up(name: str, limit: int, window: Window, wait_s: float) -> str:
    if math.isinf(wait_s):
        return f"user {name} may use no tokens: their quota is {limit} {window}"
    minutes, seconds = divmod(math.ceil(wait_s), 60)
    hours, minutes = divmod(minutes, 60) if window is DAY else (0, minutes)
    when = f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
    return f"user {name} has used the {limit:,} tokens of {window}; more may be asked in {when}"
