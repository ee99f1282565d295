"""A step of vLLM's scheduler that is shown a part of the running rows, and admits no more than it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from relserve.vllm_plugin import features, host
from relserve.vllm_plugin.host import Host, HostRequest


def narrowed(
    scheduler: Host,
    step: Callable[[], Any],
    shown: list[HostRequest],
    held_back: list[HostRequest],
    max_admit: int | None = None,
    token_budget: int | None = None,
) -> Any:
    """Have vLLM schedule the rows that are shown, and put everything back.

    Args:
        step: calls vLLM's own `schedule()`.
        shown: running rows, most urgent first; it preempts the last.
        held_back: the other running rows, which keep what they hold.
        max_admit: most rows to admit; None for as many as fit.
        token_budget: most tokens of the step; None for as many as the engine allows, and so it is where
            prompts are computed up to block boundaries only, for fewer could be none.
    """
    cap, budget = host.admission_cap(scheduler), scheduler.max_num_scheduled_tokens
    most = cap - len(held_back)  # rows held back keep their place in the workers
    if max_admit is not None:
        most = min(most, len(shown) + host.num_paused_seats(scheduler) + max_admit)
    scheduler.running = shown
    host.set_admission_cap(scheduler, max(most, len(shown)))
    if token_budget is not None and not features.splits_at_blocks(scheduler):
        scheduler.max_num_scheduled_tokens = min(token_budget, budget)
    try:
        with host.watermark_kept(scheduler) if held_back else nullcontext():
            return step()
    finally:
        host.set_admission_cap(scheduler, cap)
        scheduler.max_num_scheduled_tokens = budget
        scheduler.running = scheduler.running + held_back


@contextmanager
def without_requests(queue: Any, request_ids: frozenset[str]) -> Iterator[None]:
    """Keep some requests of vLLM's queue from a step; they go before the others afterwards."""
    if not request_ids:
        yield
        return
    held = [request for request in queue if request.request_id in request_ids]
    queue.remove_requests(held)
    try:
        yield
    finally:
        for request in reversed(held):
            queue.prepend_request(request)
