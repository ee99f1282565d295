"""5 rows, 2 s after a query that takes 20 s, on real engines that nobody knows, beside vLLM's own order.

Models of 5 million parameters (the embedded one), 60 and 135 (made up), each on an engine that has just
started: no calibration, no step times and no lengths learnt, no query before. Stock and ours take turns, with
other rows of the beer table each time. Of how many rows the large query is, a run of stock before tells: it
was of 150 rows where this was seen first, on a slower machine.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.beer import create_beer_table
from benchmarks.claims import Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.made_up_llama import folder_of
from relserve.api import Connection, connect
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.policies.scheduling.variants import DEFAULT
from relserve.tiny import MODEL_DIR

ROOMS = (
    "relserve/engines/local", "relserve/vllm_plugin", "relserve/policies/scheduling",
    "relserve/policies/model",
)  # fmt: skip
HEADLINE = {
    "worst_small_over_stock": Lower(0.5), "worst_big_over_stock": Lower(0.15),
    "small_over_stock": Untold("of each model"), "big_over_stock": Untold("of each model"),
}  # fmt: skip

TRIED_ROWS = {5: 2500, 60: 300, 135: 150}  # by millions of parameters
BIG_S, SMALL_ROWS, LATER_S, NUM_REVIEWS = 20, 5, 2.0, 10_000
ENGINES = {"stock": "stock", "ours": DEFAULT}


def rows_of(model: Path, tried: int) -> int:
    """Rows that stock vLLM answers in `BIG_S`, as far as a query of fewer tells; all reviews at most."""
    return min(round(tried * BIG_S / latencies(model, "stock", tried, 0)["big"]), NUM_REVIEWS)


def latencies(model: Path, variant: str, num_big: int, seed: int) -> dict[str, float]:
    """Seconds of both queries on a fresh engine.

    Raises:
        RuntimeError: the large query was done before the small one came.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RELSERVE_CACHE_DIR"] = folder  # in which nothing is kept of an engine before
        return _latencies(model, variant, num_big, seed)


def _latencies(model: Path, variant: str, num_big: int, seed: int) -> dict[str, float]:
    settings = {"relserve": {"variant": variant}}
    engine = LocalEngine("made-up", str(model), engine_args={"additional_config": settings})
    big, small = (connect(engine=engine, progress=False) for _ in range(2))
    for con in (big, small):
        create_beer_table(con)
    spawn(engine.start()).result()
    found: dict[str, float] = {}

    def ask_big() -> None:
        found["big"] = seconds_of(big, num_big, seed)

    thread = threading.Thread(target=ask_big)
    thread.start()
    time.sleep(LATER_S)
    if not thread.is_alive():
        raise RuntimeError("the large query was done before the small one came; give it more rows")
    found["small"] = seconds_of(small, SMALL_ROWS, seed + 1000)
    thread.join()
    big.close()
    small.close()
    spawn(engine.close()).result()
    return found


def seconds_of(con: Connection, num_rows: int, seed: int) -> float:
    """Seconds that it takes to classify some reviews, others for each seed."""
    call = "llm_classify('Mood: {text}', text, choices := ['good', 'bad', 'mixed'])"
    rows = f"SELECT left(review, 250) AS text FROM beer ORDER BY hash(id + 7919 * {seed}) LIMIT {num_rows}"
    began_s = time.perf_counter()
    con.execute(f"SELECT count(a) FROM (SELECT {call} AS a FROM ({rows}))").fetchall()
    return time.perf_counter() - began_s


def main() -> None:
    """Run, print and save."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    # An engine takes as many threads as cores were idle lately: the one before would decide for the next.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    found: list[dict[str, Any]] = []
    for millions in [5] if args.quick else TRIED_ROWS:
        model = MODEL_DIR if millions == 5 else folder_of(millions)
        num_big = TRIED_ROWS[5] if args.quick else rows_of(model, TRIED_ROWS[millions])
        for seed in range(1 if args.quick else args.seeds):
            by = {name: latencies(model, v, num_big, seed) for name, v in ENGINES.items()}
            ratios = {rel: by["ours"][rel] / by["stock"][rel] for rel in ("small", "big")}
            found.append({"millions": millions, "rows": num_big, "seed": seed, **ratios, **by})
            print(found[-1], flush=True)
    sizes = list(dict.fromkeys(each["millions"] for each in found))
    medians = {
        size: {
            rel: statistics.median(r[rel] for r in found if r["millions"] == size) for rel in ("small", "big")
        }
        for size in sizes
    }
    print(table(("million parameters", "small over vLLM", "big"), [(s, *medians[s].values()) for s in sizes]))
    finish(
        "first_contact_engines",
        {
            "worst_small_over_stock": round(max(r["small"] for r in found), 3),
            "worst_big_over_stock": round(max(r["big"] for r in found), 3),
            "small_over_stock": {str(size): round(m["small"], 3) for size, m in medians.items()},
            "big_over_stock": {str(size): round(m["big"], 3) for size, m in medians.items()},
        },
        found,
        args.quick,
    )


if __name__ == "__main__":
    main()
