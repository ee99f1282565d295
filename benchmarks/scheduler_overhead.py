"""What a policy costs a step: vLLM's own scheduler without a model, 10,000 rows waiting in 200 relQueries.

The rows have prompts of 150 tokens, a third of them shared, and up to 256 of them run at once.
"""

from __future__ import annotations

import random
import statistics
import time
from typing import Any

from benchmarks.common import arguments, finish, table
from relserve.policies.scheduling.variants import DEFAULT
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.settings import SchedulerSettings
from relserve.vllm_plugin.testing import Arrival, Ran, Worker, config_of, deliver, scheduler_of

VARIANTS = ("stock", "dpu+aba", "dpu+mixed", DEFAULT)


def arrivals(num_rels: int, num_rows: int) -> list[Arrival]:
    """All relQueries at once."""
    rng = random.Random(0)
    found = []
    for number in range(num_rels):
        lead = [rng.randrange(1000) for _ in range(50)]
        cap = rng.choice([5, 10, 50, 100])
        identity = {"rel_id": f"q{number}", "rel_rows": num_rows, "rel_ol": cap}
        for row in range(num_rows):
            prompt = lead + [rng.randrange(1000) for _ in range(100)]
            found.append(Arrival(0, f"q{number}-{row}", prompt, rng.randint(1, cap), identity))
    return found


def measure(variant: str, num_rels: int, num_rows: int, num_steps: int) -> list[Any]:
    """Milliseconds of a step: the policy's share, its largest, and vLLM's schedule() as a whole."""
    config = config_of(str(MODEL_DIR))
    config.scheduler_config.max_num_seqs = 256
    config.scheduler_config.max_num_batched_tokens = 2048
    scheduler = scheduler_of(str(MODEL_DIR), variant, False, 4000, patience=SchedulerSettings().patience)
    for arrival in arrivals(num_rels, num_rows):
        scheduler.add_request(arrival.request())
    worker, ran = Worker(), Ran()
    policy, whole = [], []
    for _ in range(num_steps):
        before = scheduler.steering.policy_s if scheduler.steering else 0.0
        began = time.perf_counter()
        output = scheduler.schedule()
        whole.append(1e3 * (time.perf_counter() - began))
        policy.append(1e3 * (scheduler.steering.policy_s - before) if scheduler.steering else 0.0)
        deliver(scheduler, output, worker.execute(output), ran)
    waiting = len(scheduler.waiting)
    return [
        variant, statistics.mean(policy), statistics.quantiles(policy, n=100)[98], max(policy),
        statistics.mean(whole), waiting,
    ]  # fmt: skip


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rels, num_rows, num_steps = (40, 50, 100) if args.quick else (200, 50, 500)
    rows = [measure(v, num_rels, num_rows, num_steps) for v in VARIANTS]
    columns = ["variant", "policy_ms", "policy_p99_ms", "policy_max_ms", "schedule_ms", "still waiting"]
    print(table(columns, rows))
    headline = {"waiting": num_rels * num_rows, "relqueries": num_rels}
    headline |= {f"{row[0]}_policy_ms": round(row[1], 3) for row in rows[1:]}
    finish("scheduler_overhead", headline, {"columns": columns, "rows": rows}, args.quick)


if __name__ == "__main__":
    main()
