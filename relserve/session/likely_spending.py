"""The tokens and the money that a relQuery will likely take, told before anything is asked."""

from __future__ import annotations

from typing import NamedTuple

from relserve.cache.kept_usage import UsageCounts
from relserve.call.relquery import Submission, Usage
from relserve.call.token_counts import CHARS_A_TOKEN
from relserve.prices.price import HourPrice, Price

OVERHEAD = 8  # tokens that a chat template puts around a prompt
WRAPPING = 8  # tokens around an answer that a server holds to a JSON schema


class LikelySpending(NamedTuple):
    """Of one relQuery.

    Attributes:
        num_requests: prompts that will be sent, each of which is a row to caps.
        usage: their tokens and those of their answers.
        cost: US dollars; None: the price is unknown.
        basis: what the tokens rest on.
    """

    num_requests: int
    usage: Usage
    cost: float | None
    basis: str

    @property
    def tokens(self) -> int:
        """Of prompts and answers together."""
        return self.usage.prompt_tokens + self.usage.output_tokens


def num_bytes(submission: Submission) -> int:
    """Bytes of all prompts with what stands before each."""
    prompts = submission.prompts
    return sum(map(size_of, prompts)) + len(prompts) * size_of(submission.lead)


def size_of(text: str) -> int:
    """Its bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


class SpendingBasis(NamedTuple):
    """What is known of a relQuery's spending before it asks.

    Attributes:
        submission: its rows, as the call asks about them.
        num_sent: how many of them have no kept answer.
        seen: what calls of the same kind took at the same model.
        price: None: unknown.
    """

    submission: Submission
    num_sent: int
    seen: UsageCounts
    price: Price | None

    def likely(
        self, output: float, counted: float | None, times: int, seconds: float | None
    ) -> LikelySpending:
        """What asking the rows will likely take.

        Args:
            output: tokens of an answer, by its type or by the engine's learnt lengths.
            counted: tokens of the mean prompt by the model's own tokenizer; None: it is not at hand.
            times: prompts that are sent for each row.
            seconds: that it will take; None: unknown.
        """
        num, num_sent, seen = len(self.submission.prompts), self.num_sent, self.seen
        size = num_bytes(self.submission) * num_sent / num if num else 0.0
        if seen.requests and seen.bytes and seen.prompt_tokens:
            read = size * seen.prompt_tokens / seen.bytes
            cached = read * seen.cached_tokens / seen.prompt_tokens
            written = num_sent * seen.output_tokens / seen.requests
            basis = f"{seen.requests:,} earlier prompts of this call"
        else:
            read = size / CHARS_A_TOKEN + OVERHEAD * num_sent if counted is None else counted * num_sent
            wraps = WRAPPING if counted is None and self.submission.has_grammars else 0
            read, cached, written = read * times, 0.0, num_sent * (output + wraps) * times
            basis = "the type of its answers"
        usage, num_requests = Usage(round(read), round(cached), round(written)), num_sent * times
        return LikelySpending(num_requests, usage, self._cost(num_requests, usage, seconds), basis)

    def _cost(self, num_requests: int, usage: Usage, seconds: float | None) -> float | None:
        if not num_requests:
            return 0.0
        if isinstance(self.price, HourPrice):
            return None if seconds is None else self.price.cost(seconds)
        return None if self.price is None else self.price.cost_of_many(usage, num_requests)
