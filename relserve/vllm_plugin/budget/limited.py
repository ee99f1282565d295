"""Requests with limits on the time of their tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from relserve.call.rel_tag import asked_slos
from relserve.policies.budget.state import EndedRequest
from relserve.vllm_plugin.host import HostRequest
from relserve.vllm_plugin.ledger import RelRecord
from relserve.vllm_plugin.settings import as_slo


@dataclass(slots=True)
class Limited:
    """A request in the engine that has a limit; times are seconds of one monotonic clock.

    Attributes:
        rel: its relQuery.
        ttft_slo_s: its limit on the time until its first token (TTFT); infinite for none.
        tpot_slo_s: its limit on the mean time between the others (TPOT).
        first_s: when it gave its first token; None before.
    """

    request: HostRequest
    rel: RelRecord
    arrival_s: float
    ttft_slo_s: float
    tpot_slo_s: float
    first_s: float | None = None

    def ended(self, now_s: float) -> EndedRequest:
        """What became of it."""
        first_s = now_s if self.first_s is None else self.first_s
        num_output = self.request.num_output_tokens
        return EndedRequest(first_s - self.arrival_s, (now_s - first_s) / max(num_output - 1, 1), num_output)


def limits_of(request: HostRequest, defaults: tuple[float, float]) -> tuple[float, float]:
    """Limits on TTFT and TPOT in seconds, infinite for none.

    A request's own go before, where they make sense.

    Args:
        defaults: of requests that say nothing; 0 for none.
    """
    params = request.sampling_params
    args: Any = (params.extra_args if params is not None else None) or {}
    slos = asked_slos(args)
    if slos == (None, None):
        return defaults[0] or math.inf, defaults[1] or math.inf
    asked = [as_slo(slo) for slo in slos]
    ttft, tpot = (own if own is not None else default for own, default in zip(asked, defaults, strict=True))
    return ttft or math.inf, tpot or math.inf
