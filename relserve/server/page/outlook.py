"""When relQueries are likely to end, by what their engines say."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from relserve.machine.engine_status import EngineStatus

STOCK = "stock"  # the variant of an engine that serves in vLLM's own order


class QueueOutlook(NamedTuple):
    """How a relQuery stands in its engine.

    Attributes:
        place: in the order in which the engine serves, 1 for the first.
        left_s: of its own work, as the engine predicts it.
        end_s: when it should end, in seconds of the wall clock; None when nothing tells.
    """

    place: int
    phase: str
    priority: float | None
    left_s: float | None
    end_s: float | None


def outlooks(engines: Iterable[EngineStatus], ended: Collection[str] = ()) -> dict[str, QueueOutlook]:
    """By relQuery's id, for those that an engine knows.

    relserve's scheduler predicts the work of each relQuery alone and serves in order, so a relQuery ends
    after its own work and that of those before it. What a stock engine tells is the pace of all together.

    Args:
        ended: relQueries that have, though their engines may still wait for rows that failed.
    """
    found = {}
    for engine in engines:
        before_s: float | None = 0.0
        rels = (rel for rel in engine.rels if rel.rel_id not in ended)
        for place, rel in enumerate(rels, start=1):
            left_s = rel.left_s
            wait_s = None if before_s is None or left_s is None else before_s + left_s
            end_s = None if wait_s is None else engine.written_s + wait_s
            found[rel.rel_id] = QueueOutlook(place, rel.phase, rel.priority, left_s, end_s)
            before_s = 0.0 if engine.variant == STOCK else wait_s
    return found
