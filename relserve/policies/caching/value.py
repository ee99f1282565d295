"""What scheduling a request is worth: pending time, its demotion past the SLO, and the penalty for hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from relserve.policies.caching.requests import Bools, Floats, RequestColumns
from relserve.policies.caching.state import CacheView

NEAR_ZERO = 1e-6  # seconds


def pending_s(view: CacheView) -> Floats:
    """p of section 4.2: seconds since the last token, or since arrival where there was none."""
    requests = view.requests
    since = np.where(np.isnan(requests.last_token_s), requests.arrival_s, requests.last_token_s)
    return np.maximum(view.now_s - since, 0.0)


def awaited_slo_s(requests: RequestColumns) -> Floats:
    """How long the awaited token may take: the first, or another."""
    return np.where(np.isnan(requests.last_token_s), requests.ttft_slo_s, requests.tpot_slo_s)


def violated(view: CacheView) -> Bools:
    """Where the pending time so far is already over the SLO of the token that is awaited."""
    return pending_s(view) > awaited_slo_s(view.requests)


def penalty_s(view: CacheView) -> Floats:
    """(|W| + |R|) t of Eq. 5 and 6: what all requests wait longer a step for each request being hidden.

    The paper counts rho a block of memory; here it is rho a token times the tokens.
    """
    return len(view.requests) * view.costs.rho * view.requests.num_tokens.astype(np.float64)


class Value(Protocol):
    """What it is worth, in seconds, to schedule each request with keys and values."""

    def of(self, view: CacheView) -> Floats:
        """A value for each row, 0 or more."""


@dataclass(frozen=True)
class Pending:
    """Eq. 5 with beta = 0: the pending time, that of violators demoted.

    Attributes:
        decay: violators keep this share of their pending time (section 6.6 tries 0.4); 0 gives them a
            near-zero constant, the published fallback of section 4.2. Eq. 5's penalty is taken off in either
            case, which the paper leaves open, so violators are not hidden where hidden costs anything.
    """

    decay: float = 0.0

    def of(self, view: CacheView) -> Floats:
        """See `Value.of`."""
        pending = pending_s(view)
        return np.where(violated(view), self.decay * pending if self.decay else NEAR_ZERO, pending)
