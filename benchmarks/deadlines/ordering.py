"""What it takes to put relQueries with deadlines in order, without vLLM: processor time of each step."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.due import DueTimes
from relserve.policies.scheduling.order import Numbers
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.state import EngineLimits, FreeCapacity, RelState, StepView
from relserve.policies.scheduling.variants import DEFAULT, make
from relserve.vllm_plugin.settings import SchedulerSettings

COUNTS = (64, 10_000)
NONE, PLAIN, WORKFLOWS = "none", "plain", "workflow"
SLO_S = (1.0, 60.0, 500.0)
STEP_S, CHANGED = 0.02, 8  # between steps; relQueries of which a row ran in one
COST, LIMITS = CostModel(1e-4, 5e-3, 1e-4, 2e-2), EngineLimits(64, 2048, 12_000)


class TimedDue(DueTimes):
    """Notes how long it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.taken_ms: list[float] = []

    def place(self, values: Numbers, view: StepView, book: Any) -> Numbers:
        """See `DueTimes.place`."""
        began = time.thread_time()
        found = super().place(values, view, book)
        self.taken_ms.append(1e3 * (time.thread_time() - began))
        return found


def relquery(number: int, kind: str, now_s: float, rng: random.Random) -> RelState:
    """One that comes now."""
    rows = rng.randint(1, 8)
    state = RelState(f"r{number}", now_s, rows, 10, rows, rows * 200, rows, rows * 200)
    if kind == NONE:
        return state
    state = replace(state, deadline_s=now_s + rng.choice(SLO_S))
    return replace(state, workflow_id=f"w{number}", stage="s") if kind == WORKFLOWS else state


def order_row(count: int, kind: str, num_steps: int) -> list[Any]:
    """Milliseconds of the order and of deadlines' places in it, mean and 99th percentile.

    In each step one relQuery comes and another leaves.
    """
    rng, policy, due = random.Random(0), make(DEFAULT, patience=SchedulerSettings().patience), TimedDue()
    policy.due = due
    states = [relquery(number, kind, STEP_S * number / count, rng) for number in range(count)]
    names, taken_ms = [state.rel_id for state in states], []
    _order(policy, states, [], STEP_S)
    due.taken_ms.clear()
    for step in range(1, num_steps + 1):
        gone = names.pop(rng.randrange(len(names)))
        ran = [policy.book.states[policy.book.slot_of[name]] for name in rng.sample(names, CHANGED)]
        new = relquery(count + step, kind, STEP_S * step, rng)
        names.append(new.rel_id)
        taken_ms.append(_order(policy, [new, *ran], [gone], STEP_S * (step + 1)))
    return [count, kind, *_mean_and_99(taken_ms), *_mean_and_99(due.taken_ms)]


def _order(policy: SchedulingPolicy, changed: Sequence[RelState], gone: Sequence[str], now_s: float) -> float:
    view = StepView(changed, gone, FreeCapacity(64, 100_000), LIMITS, now_s, COST, lambda state: 1.0)
    began = time.thread_time()
    policy.order(view)
    return 1e3 * (time.thread_time() - began)


def _mean_and_99(taken_ms: Sequence[float]) -> tuple[float, float]:
    return statistics.mean(taken_ms), statistics.quantiles(taken_ms, n=100)[98]


def order_rows(num_steps: int) -> list[list[Any]]:
    """Few relQueries and many, without deadlines and with."""
    return [order_row(count, kind, num_steps) for count in COUNTS for kind in (NONE, PLAIN, WORKFLOWS)]
