"""The phases of a relQuery's latency, from the times of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from relserve.call.relquery import RowTimes


class Phases(NamedTuple):
    """The phases of a relQuery's latency, in seconds (RelServe, section 3).

    waiting: arrival until its first row is scheduled; core running: until its last row has its first
    token; tail running: until its last token.
    """

    waiting_s: float
    core_s: float
    tail_s: float


def phases_of(times: Sequence[RowTimes]) -> Phases | None:
    """The phases of a relQuery whose rows had these times; None when the engine told none."""
    if not times:
        return None
    arrived = min(t.queued_s for t in times)
    first_scheduled = min(t.scheduled_s for t in times)
    last_first_token = max(t.first_token_s for t in times)
    last_token = max(t.last_token_s for t in times)
    return Phases(
        first_scheduled - arrived,
        max(0.0, last_first_token - first_scheduled),
        max(0.0, last_token - last_first_token),
    )
