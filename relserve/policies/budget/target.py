"""How long a step should take, by LENS (NexusSched, section 4.2.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from relserve.policies.budget.state import EndedRequest

KEEP = 1.0 - 1.0 / 64


@dataclass
class TradeOff:
    """What TTFT is at a TPOT (Eq. 3: alpha - beta t_d), and the length of answers, from requests that ended.

    The paper does not say how alpha and beta are estimated: here by least squares with forgetting. Where
    requests with longer TPOT had no shorter TTFT there is no trade-off to be seen, and beta is 0. The mean
    length is compared with beta, so it is one more sum over the same requests, and no `KeyedMeans`.
    """

    _sums: list[float] = field(default_factory=lambda: [0.0] * 6)

    def add(self, request: EndedRequest) -> None:
        """A request has ended."""
        d, p = request.tpot_s, request.ttft_s
        new = (1.0, d, p, d * d, d * p, float(request.num_output))
        self._sums = [KEEP * old + each for old, each in zip(self._sums, new, strict=True)]

    @property
    def mean_output(self) -> float:
        """Expected decode length; 0 before any request has ended."""
        return self._sums[5] / self._sums[0] if self._sums[0] else 0.0

    @property
    def alpha_beta(self) -> tuple[float, float]:
        """Seconds, and seconds a second."""
        n, d, p, dd, dp, _ = self._sums
        if not n:
            return 0.0, 0.0
        spread = dd / n - (d / n) ** 2
        slope = (dp / n - d * p / n**2) / spread if spread > 1e-12 else 0.0
        beta = max(-slope, 0.0)
        return p / n + beta * d / n, beta


def bounds(trade: TradeOff, ttft_slo_s: float, tpot_slo_s: float) -> tuple[float, float]:
    """Eq. 5 and 6: the least and the largest TPOT that keep both limits."""
    alpha, beta = trade.alpha_beta
    if beta:
        return (alpha - ttft_slo_s) / beta, tpot_slo_s
    return (inf if alpha > ttft_slo_s else -inf), tpot_slo_s


def target_s(trade: TradeOff, ttft_slo_s: float, tpot_slo_s: float, least_s: float) -> float:
    """Eq. 7."""
    lowest, highest = bounds(trade, ttft_slo_s, tpot_slo_s)
    if trade.mean_output > trade.alpha_beta[1]:
        return min(highest, max(least_s, lowest))
    return highest
