"""Alpha of the published dispatcher: when to tune it again, and how (HexGen-Text2SQL, 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, lgamma, log, sqrt

WINDOW_S = 100.0
SIGNIFICANCE = 0.01
COARSE = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
FINE = 0.1


def best_alpha(mean_latency_s: Callable[[float], float]) -> float:
    """The alpha of the least mean latency (Eq. 8): in steps of 0.2, then 0.1 around the best.

    That is at most 8 trials; of equal ones the smallest is taken.

    Args:
        mean_latency_s: simulates the latest workflows under an alpha.
    """
    tried = {alpha: mean_latency_s(alpha) for alpha in COARSE}
    best = min(tried, key=lambda alpha: (tried[alpha], alpha))
    for alpha in (round(best - FINE, 6), round(best + FINE, 6)):
        if 0.0 <= alpha <= 1.0:
            tried[alpha] = mean_latency_s(alpha)
    return min(tried, key=lambda alpha: (tried[alpha], alpha))


class TuningClock:
    """Tells when to tune: after the first window, then whenever a window was slower than the one before.

    At the end of each window the latencies of the workflows that ended in it are compared with those of the
    window before by a one-sided test of two means. A clock that goes back is waited for; one that leaps ends
    one window.
    """

    def __init__(self) -> None:
        self._end_s: float | None = None
        self._is_tuned = False
        self._latest: list[float] = []
        self._reference: list[float] = []

    def ended(self, latency_s: float) -> None:
        """A workflow has ended."""
        self._latest.append(latency_s)

    def is_due(self, now_s: float) -> bool:
        """Whether to tune now; to be asked whenever a workflow ends, or now and then."""
        if self._end_s is None:
            self._end_s = now_s + WINDOW_S
        if now_s < self._end_s:
            return False
        self._end_s = now_s + WINDOW_S
        latest, self._latest = self._latest, []
        reference, self._reference = self._reference, latest or self._reference
        if not self._is_tuned:
            self._is_tuned = bool(latest)
            return self._is_tuned
        return p_slower(latest, reference) < SIGNIFICANCE


def p_slower(latest: Sequence[float], reference: Sequence[float]) -> float:
    """The chance of such a difference if the mean of the first is not greater (Welch's test, one-sided).

    1 where a side has fewer than two values, or none of them varies and the first is not greater.
    """
    if min(len(latest), len(reference)) < 2:
        return 1.0
    (mean, of_mean), (before, of_before) = _moments(latest), _moments(reference)
    spread = of_mean + of_before
    if spread <= 0:
        return 0.0 if mean > before else 1.0
    freedom = spread**2 / (of_mean**2 / (len(latest) - 1) + of_before**2 / (len(reference) - 1))
    return student_above((mean - before) / sqrt(spread), freedom)


def _moments(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and variance of the mean."""
    mean = sum(values) / len(values)
    return mean, sum([(value - mean) ** 2 for value in values]) / (len(values) - 1) / len(values)


def student_above(t: float, freedom: float) -> float:
    """The chance that Student's t of so many degrees of freedom is above a value."""
    tail = 0.5 * _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)
    return tail if t > 0 else 1.0 - tail


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(1.0 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1.0 - x)) / a
    value, c, d = 1.0, 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1))
    value = d
    for i in range(1, 400):
        for part in (
            i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i)),
            -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1)),
        ):
            d = 1.0 / _not_zero(1.0 + part * d)
            c = _not_zero(1.0 + part / c)
            value *= c * d
        if abs(c * d - 1.0) < 1e-12:
            break
    return front * value


def _not_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300
