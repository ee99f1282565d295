"""The price of a model, and what tokens or time cost by it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from relserve.call.relquery import Usage

CURRENCY = "USD"
MILLION = 1e6
HOUR_S = 3600.0


class Rates(NamedTuple):
    """Dollars for a million tokens: of prompts, of those that the server found in its cache, of replies."""

    input: float
    cached_input: float
    output: float

    def cost(self, usage: Usage) -> float:
        """Dollars for these tokens."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        read = (usage.prompt_tokens - cached) * self.input + cached * self.cached_input
        return (read + usage.output_tokens * self.output) / MILLION


@dataclass(frozen=True)
class TokenPrice:
    """A price by tokens.

    Attributes:
        above: other rates of a request whose prompt has more than so many tokens, the smallest number first.
    """

    rates: Rates
    above: tuple[tuple[int, Rates], ...] = ()

    def cost(self, usage: Usage) -> float:
        """Dollars for one request."""
        rates = self.rates
        for start, others in self.above:
            rates = others if usage.prompt_tokens > start else rates
        return rates.cost(usage)

    def cost_of_many(self, usage: Usage, num_requests: float) -> float:
        """Dollars for the tokens of so many requests of about one size."""
        if num_requests <= 0:
            return 0.0
        one = Usage(*(tokens / num_requests for tokens in usage))  # type: ignore[arg-type]
        return num_requests * self.cost(one)


@dataclass(frozen=True)
class HourPrice:
    """A price by the time of the machine on which the model runs."""

    hour: float

    def cost(self, seconds: float) -> float:
        """Dollars for so long."""
        return self.hour * seconds / HOUR_S


Price = TokenPrice | HourPrice


def dollars(cost: float | None) -> str:
    """Money as people read it: `0.47 USD`; "unknown" for None."""
    if cost is None:
        return "unknown"
    if cost >= 0.995 or cost == 0:
        return f"{cost:,.2f} {CURRENCY}"
    return f"{cost:.2g} {CURRENCY}" if cost >= 1e-4 else f"{cost:.1e} {CURRENCY}"
