"""What a policy costs a step: vLLM's own scheduler without a model, thousands of rows waiting.

First 10,000 rows in 200 relQueries, with prompts of 150 tokens, a third of them shared. Then 10,000 and
100,000 relQueries of one row each, and one more with every step: what all of our code takes around vLLM's
own. Up to 256 rows run at once. Last what a decision's order takes, without vLLM, where relQueries have
deadlines, plain ones or steps of workflows, and where none has. All times are CPU time of the scheduler's
thread.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.claims import Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.deadlines.ordering import order_rows
from lab.made_up_worker import MadeUpArrival, MadeUpWorker, WorkerRun, config_of, deliver, scheduler_of
from relserve.policies.scheduling.variants import DEFAULT
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.host import Scheduler
from relserve.vllm_plugin.queue import RelQueue
from relserve.vllm_plugin.settings import SchedulerSettings

ROOMS = ("relserve/vllm_plugin", "relserve/policies/scheduling")
HEADLINE = {
    "waiting": Untold("a size"), "relqueries": Untold("a size"), "dpu+aba_policy_ms": Untold("the paper's"),
    "dpu+mixed_policy_ms": Untold("its variant is gone"), "dpu+marginal_policy_ms": Lower(0.5, timed=True),
    "one_row_10k_ms": Lower(0.5, timed=True), "one_row_100k_ms": Lower(0.5, timed=True),
    "deadlines_64_none_place_ms": Lower(0.5, by=0.05, timed=True),
    "deadlines_64_plain_place_ms": Lower(0.5, by=0.05, timed=True),
    "deadlines_64_workflow_place_ms": Lower(0.5, by=0.05, timed=True),
    "deadlines_10000_none_place_ms": Lower(0.5, by=0.05, timed=True),
    "deadlines_10000_plain_place_ms": Lower(0.5, by=0.05, timed=True),
    "deadlines_10000_workflow_place_ms": Lower(0.5, by=0.05, timed=True),
}  # fmt: skip

VARIANTS = ("stock", "dpu+aba", DEFAULT)
ONE_ROW = {"10k": 10_000, "100k": 100_000}  # relQueries of one row each
VLLM_METHODS = ("add_request", "schedule", "update_from_output")
QUEUE_METHODS = ("peek_request", "pop_request", "prepend_request", "prepend_requests", "__bool__")


def arrivals(num_rels: int, num_rows: int) -> list[MadeUpArrival]:
    """All relQueries at once."""
    rng = random.Random(0)
    found = []
    for number in range(num_rels):
        lead = [rng.randrange(1000) for _ in range(50)]
        cap = rng.choice([5, 10, 50, 100])
        identity = {"rel_id": f"q{number}", "rel_rows": num_rows, "rel_ol": cap}
        for row in range(num_rows):
            prompt = lead + [rng.randrange(1000) for _ in range(100)]
            found.append(MadeUpArrival(0, f"q{number}-{row}", prompt, rng.randint(1, cap), identity))
    return found


def one_row_arrivals(count: int) -> Iterator[MadeUpArrival]:
    """relQueries of one row each, made as they are taken."""
    rng = random.Random(1)
    lead = [rng.randrange(1000) for _ in range(32)]
    for number in range(count):
        cap = rng.choice([5, 10, 50, 100])
        prompt = lead + rng.choices(range(1000), k=rng.choice([5, 20, 60]))
        yield MadeUpArrival(
            0, f"q{number}", prompt, rng.randint(1, cap), {"rel_id": f"q{number}", "rel_ol": cap}
        )


def build(variant: str) -> Any:
    """A scheduler of the size of a GPU's."""
    config = config_of(str(MODEL_DIR))
    config.scheduler_config.max_num_seqs = 256
    config.scheduler_config.max_num_batched_tokens = 2048
    return scheduler_of(str(MODEL_DIR), variant, False, 4000, patience=SchedulerSettings().patience)


def measure(variant: str, num_rels: int, num_rows: int, num_steps: int) -> list[Any]:
    """Milliseconds of a step: the policy's share, its largest, and vLLM's schedule() as a whole."""
    scheduler, share = build(variant), OurShare()
    if scheduler.steering:
        scheduler.steering.plan = share.timed(scheduler.steering.plan, True)
    for arrival in arrivals(num_rels, num_rows):
        scheduler.add_request(arrival.request())
    worker, ran = MadeUpWorker(), WorkerRun()
    policy, whole = [], []
    for _ in range(num_steps):
        before, began_s = share.seconds, time.thread_time()
        output = scheduler.schedule()
        whole.append(1e3 * (time.thread_time() - began_s))
        policy.append(1e3 * (share.seconds - before))
        deliver(scheduler, output, worker.execute(output), ran)
    waiting = len(scheduler.waiting)
    return [
        variant, statistics.mean(policy), statistics.quantiles(policy, n=100)[98], max(policy),
        statistics.mean(whole), waiting,
    ]  # fmt: skip


class OurShare:
    """The thread's CPU seconds in our code and not in vLLM's, where each calls the other."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._is_ours, self._since_s = False, time.thread_time()

    def timed(self, method: Callable[..., Any], is_ours: bool) -> Callable[..., Any]:
        """The method, whose time is ours or not."""

        def call(*args: Any, **kwargs: Any) -> Any:
            before = self._switch(is_ours)
            try:
                return method(*args, **kwargs)
            finally:
                self._switch(before)

        return call

    def _switch(self, is_ours: bool) -> bool:
        now_s = time.thread_time()
        before = self._is_ours
        self.seconds += now_s - self._since_s if before else 0.0
        self._is_ours, self._since_s = is_ours, now_s
        return before

    @contextmanager
    def told_apart(self) -> Iterator[None]:
        """Have vLLM's scheduler and our queue, which it calls, say whose time it is."""
        methods = [(Scheduler, name, False) for name in VLLM_METHODS]
        methods += [(RelQueue, name, True) for name in QUEUE_METHODS]
        patches = [
            patch.object(cls, name, self.timed(getattr(cls, name), ours)) for cls, name, ours in methods
        ]
        for one in patches:
            one.start()
        try:
            yield
        finally:
            for one in patches:
                one.stop()


def measure_one_row(name: str, count: int, num_steps: int) -> list[Any]:
    """Milliseconds of our code in a step with an arrival: the median, the 99th percentile, the most."""
    scheduler, share = build(DEFAULT), OurShare()
    waiting = one_row_arrivals(count + num_steps)
    for _ in range(count):
        scheduler.add_request(next(waiting).request())
    worker, ran, taken = MadeUpWorker(), WorkerRun(), []
    with share.told_apart():
        add = share.timed(scheduler.add_request, True)
        schedule = share.timed(scheduler.schedule, True)
        scheduler.update_from_output = share.timed(scheduler.update_from_output, True)
        for arrival in waiting:
            request, before = arrival.request(), share.seconds
            add(request)
            output = schedule()
            deliver(scheduler, output, worker.execute(output), ran)
            taken.append(1e3 * (share.seconds - before))
    taken = taken[1:]  # the first step sees all of them come
    return [name, statistics.median(taken), statistics.quantiles(taken, n=100)[98], max(taken)]


def main() -> None:
    """Print the tables and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rels, num_rows, num_steps = (40, 50, 100) if args.quick else (200, 50, 500)
    rows = [measure(v, num_rels, num_rows, num_steps) for v in VARIANTS]
    columns = ["variant", "policy_ms", "policy_p99_ms", "policy_max_ms", "schedule_ms", "still waiting"]
    print(table(columns, rows))
    num_steps = 150 if args.quick else 500  # some of them after a refit of the cost model, every 64 steps
    one_row = [measure_one_row(name, count, num_steps) for name, count in ONE_ROW.items()]
    one_row_columns = ["one-row relQueries", "ours_ms", "ours_p99_ms", "ours_max_ms"]
    print(table(one_row_columns, one_row))
    ordering = order_rows(num_steps)
    order_columns = ["relQueries", "deadlines", "order_ms", "order_p99_ms", "place_ms", "place_p99_ms"]
    print(table(order_columns, ordering))
    headline = {"waiting": num_rels * num_rows, "relqueries": num_rels}
    headline |= {f"{row[0]}_policy_ms": round(row[1], 3) for row in rows[1:]}
    headline |= {f"one_row_{row[0]}_ms": round(row[1], 3) for row in one_row}
    headline |= {f"deadlines_{row[0]}_{row[1]}_place_ms": round(row[4], 3) for row in ordering}
    result = {"columns": columns, "rows": rows, "one_row_columns": one_row_columns, "one_row": one_row}
    result |= {"order_columns": order_columns, "order": ordering}
    finish("scheduler_overhead", headline, result, args.quick)


if __name__ == "__main__":
    main()
