"""What one decision takes: 64 engines to choose from, 10,000 steps in the queue."""

from __future__ import annotations

import random
import statistics
import time
from typing import Any

from benchmarks.common import table
from benchmarks.workflows.hardware import CARDS, cost
from lab.simulator.workflows.order import DueOrder, StepOrder, first_come, most_urgent
from lab.simulator.workflows.queue import StepQueue
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.state import EngineLoad, Member, Request
from relserve.policies.dispatch.variants import make
from relserve.policies.workflows.types import QueuedStep

NUM_ENGINES, NUM_QUEUED = 64, 10_000
DISPATCHERS = {
    "round robin": "round_robin", "weighted RR": "weighted", "least requests": "least_loaded",
    "workload balanced": "hexgen", "predicted finish": "finish",
}  # fmt: skip
ORDERS: dict[str, StepOrder] = {"first come": first_come, "urgency": most_urgent, "due": DueOrder()}


def busy_members(rng: random.Random) -> MemberTable:
    """Engines in the middle of their work."""
    cards, members = sorted(CARDS), MemberTable()
    for number in range(NUM_ENGINES):
        its, name = cost(cards[number % len(cards)]), f"I{number}"
        members.join(Member(name, its, 512, 1e6, 1.0 / its.prefill_per_token_s))
        load = EngineLoad(
            512, rng.randint(0, 300), rng.randint(1, 200),
            rng.uniform(0, 1e6), rng.uniform(0, 1e5), rng.uniform(0, 1e4),
        )  # fmt: skip
        members.know(number, load, 0.0)
    return members


def queued_step(rng: random.Random, now_s: float) -> QueuedStep:
    """A step that comes now, of a workflow with little time or much."""
    arrival_s, work_s = now_s - rng.uniform(0, 50), rng.uniform(0.1, 30)
    deadline_s = arrival_s + rng.choice([60.0, 150.0, 500.0])
    return QueuedStep("w", "stage", now_s, arrival_s, deadline_s, work_s, work_s + rng.uniform(0, 60))


def dispatch_us(policy: DispatchPolicy, num_decisions: int) -> float:
    """Microseconds of a choice, mean; what the engines hold of the prompt is known."""
    rng = random.Random(1)
    members = busy_members(rng)
    cached = {name: rng.uniform(0, 5000) for name in members.names}
    requests = [
        Request(rng.uniform(300, 12000), rng.uniform(5, 700), cached_tokens=cached)
        for _ in range(num_decisions)
    ]
    started = time.thread_time()
    for request in requests:
        policy.choose(request, members, 0.0)
    return 1e6 * (time.thread_time() - started) / num_decisions


def queue_us(order: StepOrder, num_decisions: int) -> tuple[float, float]:
    """Microseconds to take the first step and put a new one into the queue: mean, and the slowest."""
    rng, queue = random.Random(2), StepQueue(order)
    for number in range(NUM_QUEUED):
        queue.add(queued_step(rng, number / 100), number / 100)
    queue.first(NUM_QUEUED / 100)  # an engine asks all the time, so keys are as old as its latest step
    taken = []
    for number in range(num_decisions):
        now_s = (NUM_QUEUED + number) / 100
        new = queued_step(rng, now_s)
        started = time.thread_time()
        queue.withdraw(queue.first(now_s)[0])
        queue.add(new, now_s)
        taken.append(time.thread_time() - started)
    return 1e6 * statistics.fmean(taken), 1e6 * max(taken)


def decisions(num_decisions: int) -> list[list[Any]]:
    """Print and give what decisions take."""
    rows: list[list[Any]] = [
        [label, "dispatch", dispatch_us(make(name), num_decisions), None]
        for label, name in DISPATCHERS.items()
    ]
    rows += [[name, "queue", *queue_us(order, num_decisions)] for name, order in ORDERS.items()]
    print(f"Processor time of a decision, us: {NUM_ENGINES} engines, {NUM_QUEUED:,} steps in a queue")
    print(table(["", "of", "mean", "slowest"], rows) + "\n")
    return rows
