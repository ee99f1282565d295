"""A query of 5 rows, 2 s after one of 150, on an engine of which nothing is known: beside vLLM's own order.

Unknown are step times and lengths of answers; nobody calibrated it. Simulated: small models by step times
measured on this kind of machine, Llama3-8B on an A100 and an H100 by published figures, five seeds of prompts
and outputs. The scheduler begins with the first guess that ships, and with one that is wrong by 100 times
either way. The large query is long enough to be at work when the small one comes.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.claims import Lower, Untold
from benchmarks.common import arguments, finish, table
from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, RowSpec
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import DEFAULT, make
from relserve.vllm_plugin.settings import FIRST_GUESS, SchedulerSettings

ROOMS = ("relserve/policies/model", "relserve/policies/scheduling", "lab/simulator")
HEADLINE = {
    "worst_small_over_stock": Lower(0.05), "worst_big_over_stock": Lower(0.02),
    "small_over_stock": Untold("of each engine"), "big_over_stock": Untold("of each engine"),
}  # fmt: skip

BIG_ROWS, SMALL_ROWS, LATER_S, ROW_OUTPUT = 150, 5, 2.0, 12
KV_TOKENS = 60_000
# A prompt token, a step with prompts, a decoding row, a step of decodes, a mixed step: seconds.
ENGINES = {
    "5 M, a CPU core": CostModel(2.3e-5, 4.8e-3, 1.2e-4, 1.5e-3, 2.6e-3),
    "60 M, a CPU core": CostModel(5.5e-4, 1.5e-2, 2.2e-3, 1.0e-2, 1.5e-2),
    "135 M, a CPU core": CostModel(1.52e-3, 3.0e-2, 6.0e-3, 2.5e-2, 3.0e-2),
    "8 B, an A100": CostModel(8.6e-5, 8e-3, 5e-5, 1.25e-2, 1.3e-2),
    "8 B, an H100": CostModel(2.9e-5, 6e-3, 3e-5, 7.5e-3, 8e-3),
}
GUESSES = {"as it ships": 1.0, "100 times too short": 0.01, "100 times too long": 100.0}


def trace(cost: CostModel, seed: int) -> list[RelSpec]:
    """The large query and, 2 s later, the small one.

    Where the engine would be done with 150 rows by then, the prompts are longer: the large one takes 8 s.
    """
    rng = random.Random(f"first contact {seed}")
    tokens = max(90.0, 8.0 / (BIG_ROWS * cost.prefill_per_token_s))

    def rows(count: int, tokens: float) -> tuple[RowSpec, ...]:
        return tuple(
            RowSpec(
                tuple(rng.randrange(10**6) for _ in range(int(tokens * rng.uniform(0.6, 1.4)))),
                rng.randint(ROW_OUTPUT // 2, 3 * ROW_OUTPUT // 2),
            )
            for _ in range(count)
        )

    return [
        RelSpec("big", 0.0, rows(BIG_ROWS, tokens), 256, kind="big"),
        RelSpec("small", LATER_S, rows(SMALL_ROWS, tokens), 256, kind="small"),
    ]


def latencies(cost: CostModel, relqueries: Sequence[RelSpec], guess: CostModel | None) -> dict[str, float]:
    """Seconds of each query; without a guess in vLLM's own order."""
    limits = EngineLimits(
        256, 2048, max(KV_TOKENS, 2 * sum(len(row.prompt) + 32 for row in relqueries[0].rows))
    )
    spec = RelQueryEngineSpec(cost, limits, guess=guess)
    policy = make("fcfs") if guess is None else make(DEFAULT, patience=SchedulerSettings().patience)
    return {each.rel_id: each.latency_s for each in simulate(relqueries, spec, policy).latencies}


def measured(seeds: int) -> list[dict[str, Any]]:
    """A row for each engine, guess and seed."""
    found = []
    for name, cost in ENGINES.items():
        for seed in range(seeds):
            relqueries = trace(cost, seed)
            stock = latencies(cost, relqueries, None)
            for guess, factor in GUESSES.items():
                ours = latencies(cost, relqueries, FIRST_GUESS.scaled(factor))
                ratios = {rel: ours[rel] / stock[rel] for rel in stock}
                found.append({"engine": name, "guess": guess, "seed": seed, **ratios, "stock_s": stock})
    return found


def main() -> None:
    """Run, print and save."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    found = measured(1 if args.quick else args.seeds)
    cells = [(engine, guess) for engine in ENGINES for guess in GUESSES]
    medians = {
        cell: {
            rel: statistics.median(r[rel] for r in found if (r["engine"], r["guess"]) == cell)
            for rel in ("small", "big")
        }
        for cell in cells
    }
    print(table(("engine", "guess", "small over vLLM", "big"), [(*c, *medians[c].values()) for c in cells]))
    finish(
        "first_contact",
        {
            "worst_small_over_stock": round(max(r["small"] for r in found), 3),
            "worst_big_over_stock": round(max(r["big"] for r in found), 3),
            "small_over_stock": {" / ".join(c): round(m["small"], 3) for c, m in medians.items()},
            "big_over_stock": {" / ".join(c): round(m["big"], 3) for c, m in medians.items()},
        },
        found,
        args.quick,
    )


if __name__ == "__main__":
    main()
