"""An engine that sends rows only as long as caps leave room; the rest fail, and no answer is lost."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from relserve.call.relquery import Reply, Submission, Usage
from relserve.call.token_counts import CHARS_A_TOKEN
from relserve.engines.protocol import Engine
from relserve.errors import Failure, FailureKind
from relserve.prices.price import HourPrice, Price, TokenPrice
from relserve.session.caps import Amounts, SpendingCap
from relserve.session.likely_spending import OVERHEAD, size_of
from relserve.session.prompt_price import expected_output
from relserve.session.wrapped_engine import WrappedEngine

POLL_S = 0.02  # between two looks whether rows under way have left room
AT_ONCE = 1000  # rows that are let go before the event loop has a turn


class CappedEngine(WrappedEngine):
    """See `Engine`. A row over a cap has a reply with FailureKind.CAP, after all rows that were sent.

    Engines with `asks_before_sending` are servers that may charge for what they have begun: they ask before
    each row, and all rows that were sent are waited for. Others are given all rows at once, and what they
    have not answered when the cap is reached is aborted there.
    """

    def __init__(self, engine: Engine, caps: Sequence[SpendingCap], price: Price | None) -> None:
        super().__init__(engine)
        self._caps, self._price = caps, price

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`."""
        account = _Account(self._caps, self._price, submission)
        asks = getattr(self._engine, "asks_before_sending", False)
        first, total = 0, len(submission.prompts)
        held, left = list[Reply](), set(range(total))
        try:
            # Once more where rows that were refused unsent leave their room to others.
            while num := total - first if asks else await account.claim_rows(total - first):
                sent = submission
                if num < total:
                    sent = submission.part(range(first, first + num), submission.rows)
                if asks:
                    sent = replace(submission, may_send=account.why_not)
                async with aclosing(self._engine.answer(sent)) as stream:  # type: ignore[type-var]
                    async for batch in stream:
                        if first:
                            batch = [replace(reply, index=first + reply.index) for reply in batch]
                        answered = [reply for reply in batch if not _is_held(reply)]
                        held += [reply for reply in batch if _is_held(reply)]
                        account.settle(answered)
                        left.difference_update(reply.index for reply in batch)
                        if answered:
                            yield answered
                        if not asks and left and account.is_reached():
                            break
                first += num
                account.close()
            if rest := held + [Reply(index, None, account.failure()) for index in sorted(left)]:
                yield rest
        except (asyncio.CancelledError, GeneratorExit):
            # rows of a batch count when they are found
            if asks and getattr(self._engine, "find_counted", None) is None:
                account.give_up()
            raise
        finally:
            account.close()


def _is_held(reply: Reply) -> bool:
    return reply.failure is not None and reply.failure.kind is FailureKind.CAP


class _Account:
    """What the rows of one submission have claimed and taken."""

    def __init__(self, caps: Sequence[SpendingCap], price: Price | None, submission: Submission) -> None:
        self._caps, self._price, self._prompts = caps, price, submission.prompts
        self._lead = size_of(submission.lead)
        self._num, self._taken = 0, Usage()
        self._claims: deque[tuple[Amounts, Amounts]] = deque()  # and what of it a prompt alone takes
        self._output = float(expected_output(submission.sampling))
        self._billed_s = time.monotonic()

    async def why_not(self, prompt: str) -> str:
        """Let a row go, as soon as the rows under way leave room: ""; or why it may not."""
        while True:
            usage = self._expected_usage(prompt)
            expected = self._of(usage)
            may_go, cap = self._claim(expected)
            if may_go:
                self._claims.append((expected, self._of(usage._replace(output_tokens=0))))
                return ""
            if may_go is False and cap is not None:
                return cap.told()
            await asyncio.sleep(POLL_S)

    async def claim_rows(self, most: int) -> int:
        """Let so many more rows go as the caps on rows allow, whatever tokens they take.

        Where rows under way have all the room, they may leave some: it waits for them.
        """
        one, num = Amounts(rows=1), 0
        while num < most and not self.is_reached():
            may_go, _ = self._claim(one)
            if may_go:
                self._claims.append((one, Amounts()))
                num += 1
                if not num % AT_ONCE:
                    await asyncio.sleep(0)
            elif num or may_go is False:
                break
            else:
                await asyncio.sleep(POLL_S)
        return num

    def settle(self, replies: Sequence[Reply]) -> None:
        """Rows that went have their replies, or are in a batch; those of earlier batches are counted."""
        for reply in replies:
            if reply.is_counted:
                continue
            taken = Amounts() if reply.is_unsent else self._amounts(reply)
            expected = self._claims.popleft()[0] if self._claims else None
            for cap in self._caps:
                cap.spend(taken) if expected is None else cap.settle(expected, taken)

    def is_reached(self) -> bool:
        """Whether a cap leaves nothing."""
        return any(cap.is_reached() for cap in self._caps)

    def failure(self) -> Failure:
        """Of a row that was not sent."""
        cap = next((cap for cap in self._caps if cap.is_reached()), self._caps[0])
        return Failure(FailureKind.CAP, cap.told())

    def give_up(self) -> None:
        """Rows that went to a server are of no more use: it has read their prompts, and charges for them."""
        for expected, begun in self._claims:
            for cap in self._caps:
                cap.settle(expected, begun)
        self._claims.clear()

    def close(self) -> None:
        """Rows that went and have no reply were not answered."""
        for expected, _ in self._claims:
            for cap in self._caps:
                cap.release(expected)
        self._claims.clear()

    def _claim(self, expected: Amounts) -> tuple[bool | None, SpendingCap | None]:
        """Claim at every cap or at none; the cap that has no room."""
        for number, cap in enumerate(self._caps):
            if not (may_go := cap.claim(expected)):
                for before in self._caps[:number]:
                    before.release(expected)
                return may_go, cap
        return True, None

    def _expected_usage(self, prompt: str) -> Usage:
        """By the mean of the rows that were answered; before the first by the bytes and the answers' type."""
        read = (size_of(prompt) + self._lead) / CHARS_A_TOKEN + OVERHEAD
        usage = Usage(round(read), 0, round(self._output))
        if self._num:
            usage = Usage._make(round(tokens / self._num) for tokens in self._taken)
        return usage

    def _amounts(self, reply: Reply) -> Amounts:
        """What a row took; in a batch, or of a server that does not tell, what was expected."""
        usage = reply.usage
        in_batch = reply.failure is not None and reply.failure.kind is FailureKind.IN_BATCH
        if in_batch or (reply.failure is None and not any(usage)):
            return self._of(self._expected_usage(self._prompts[reply.index]))
        self._num += 1
        self._taken = Usage._make(map(sum, zip(self._taken, usage, strict=True)))
        taken = self._of(usage)
        if isinstance(self._price, HourPrice):
            now_s = time.monotonic()
            taken = taken._replace(cost=self._price.cost(now_s - self._billed_s))
            self._billed_s = now_s
        return taken

    def _of(self, usage: Usage) -> Amounts:
        cost = self._price.cost(usage) if isinstance(self._price, TokenPrice) else 0.0
        return Amounts(1, usage.prompt_tokens + usage.output_tokens, cost)
