"""Carrying out the plan of a step: the one place that changes what vLLM's `schedule()` finds.

Nothing of vLLM's `schedule()` is copied or replaced. Before it is called, rows that the plan drops lose their
memory, the running rows are put in the plan's order (vLLM's preemption victim is the last), those that are
held back are kept out of it, and the waiting queue shows only what may be admitted. Afterwards everything is
put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol

from relserve.vllm_plugin import features, host
from relserve.vllm_plugin.cache import scheduling_host
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.host import Host
from relserve.vllm_plugin.queue import RelQueue
from relserve.vllm_plugin.step_plan import StepPlan


class PlannedHost(Host, Protocol):
    """A scheduler whose steps are planned."""

    types: RowTypes


def carried_out(scheduler: PlannedHost, plan: StepPlan | None, step: Callable[[], Any]) -> Any:
    """Have vLLM schedule a step as its plan says, and put everything back; gives what vLLM scheduled.

    Args:
        plan: None for a step of vLLM's own. Its token budget is ignored where prompts are computed up to
            block boundaries only, for fewer tokens could be none.
        step: calls vLLM's own `schedule()`.
    """
    if plan is None:
        return step()
    for request_id in plan.drop:
        scheduling_host.preempt(scheduler, scheduler.requests[request_id])
    cap, tokens = host.admission_cap(scheduler), scheduler.max_num_scheduled_tokens
    most = cap - len(plan.held_back)  # rows held back keep their place in the workers
    if plan.max_admit is not None:
        most = min(most, len(plan.running) + host.num_paused_seats(scheduler) + plan.max_admit)
    scheduler.running, scheduler.types.planned = list(plan.running), plan.types
    host.set_admission_cap(scheduler, max(most, len(plan.running)))
    if plan.token_budget is not None and not features.splits_at_blocks(scheduler):
        scheduler.max_num_scheduled_tokens = min(plan.token_budget, tokens)
    try:
        with _shown(scheduler.waiting, plan), _watermark(scheduler, plan):
            return step()
    finally:
        host.set_admission_cap(scheduler, cap)
        scheduler.max_num_scheduled_tokens = tokens
        scheduler.running, scheduler.types.planned = [*scheduler.running, *plan.held_back], {}


def _watermark(scheduler: Host, plan: StepPlan) -> Any:
    return host.watermark_kept(scheduler) if plan.held_back else nullcontext()


@contextmanager
def _shown(queue: Any, plan: StepPlan) -> Iterator[None]:
    """Have a queue, ours or vLLM's, show a step only what it may admit."""
    if isinstance(queue, RelQueue):
        queue.show(plan)
        try:
            yield
        finally:
            queue.show_all()
        return
    held = [each for each in queue if each.request_id in plan.held_requests] if plan.held_requests else []
    if held:
        queue.remove_requests(held)
    try:
        yield
    finally:
        for request in reversed(held):  # which go before the others again
            queue.prepend_request(request)
