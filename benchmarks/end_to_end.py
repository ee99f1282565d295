"""Against the plain way: the same engine behind a UDF that sends each chunk's rows together as they come.

2,000 beer reviews, 30 % of them duplicates, classified by the embedded model; the prefix cache is emptied
before each run. Both ways are timed in one process, and the one that goes first changes from run to run.
Three layouts of the same rows: a table that DuckDB hands over as one chunk; a filter over 10,000 reviews, and
one over 100,000, where the chunks are what the filter leaves. A ratio is of one run: plain seconds over
relserve's.
"""

from __future__ import annotations

import itertools
import random
import statistics
import time
from typing import Any

import pyarrow as pa

from benchmarks.beer import CHOICES, classify_call, classify_template, create_beer_table
from benchmarks.claims import Higher, Untold
from benchmarks.common import arguments, finish, table
from relserve.api import Connection, connect, find_engine
from relserve.call.answer_types import ChoiceAnswer
from relserve.call.relquery import Sampling, Submission
from relserve.engines.loop import spawn

ROOMS = (
    "duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call", "relserve/engines/local",
    "relserve/vllm_plugin", "relserve/policies/scheduling",
)  # fmt: skip
HEADLINE = {
    "rows": Untold("a size"), "duplicates": Untold("a size"), "ratio_one_chunk": Higher(0.35),
    "ratio_1_in_5": Higher(0.35), "ratio_1_in_50": Higher(0.35),
}  # fmt: skip

DUPLICATES = 0.3
LAYOUTS = {"one chunk": 0, "1 in 5": 10_000, "1 in 50": 100_000}  # rows of the table filtered; 0: no filter
COLUMNS = ("layout", "runs", "plain calls", "plain_s", "relserve_s", "ratio", "least ratio", "greatest ratio")


class PlainWay:
    """An arrow UDF without anything of relserve but the engine: no folding, no prefetch, no memo."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.calls = engine, 0
        kind = ChoiceAnswer(CHOICES)
        self.lead = kind.instruction + "\n" + classify_template()
        self.sampling = Sampling(kind.default_max_tokens, grammar=kind.grammar)

    def __call__(self, reviews: pa.ChunkedArray) -> pa.Array:
        prompts = [self.lead.replace("{review}", r) for r in reviews.to_pylist()]
        self.calls += 1
        replies: list[str | None] = [None] * len(prompts)

        async def collect() -> None:
            async for batch in self.engine.answer(Submission(f"plain-{self.calls}", prompts, self.sampling)):
                for reply in batch:
                    replies[reply.index] = reply.text

        spawn(collect()).result()
        return pa.array(replies, pa.string())


def prepare(con: Connection, num_rows: int, table_rows: int, seed: int) -> None:
    """Table `source` with num_rows wanted reviews, some of them duplicates, scattered over table_rows."""
    rng = random.Random(seed)
    reviews = [
        r[0]
        for r in con.raw.execute("SELECT DISTINCT review FROM beer WHERE review <> '' ORDER BY 1").fetchall()
    ]
    rng.shuffle(reviews)
    num_distinct = round(num_rows * (1 - DUPLICATES))
    chosen, others = reviews[:num_distinct], reviews[num_distinct:]
    wanted = chosen + rng.choices(chosen, k=num_rows - num_distinct)
    rows = [(r, True) for r in wanted]
    rows += [(r, False) for r in rng.choices(others, k=max(0, table_rows - num_rows))]
    rng.shuffle(rows)
    made = pa.table({"review": [r for r, _ in rows], "wanted": [w for _, w in rows]})
    con.raw.register("made", made)
    con.raw.execute("CREATE OR REPLACE TABLE source AS FROM made")
    con.raw.unregister("made")


def time_of(con: Connection, engine: Any, call: str) -> tuple[float, list[tuple[str, str]]]:
    """Seconds and rows of one run from an empty prefix cache."""
    spawn(engine.reset_prefix_cache()).result()
    started = time.perf_counter()
    rows = con.execute(f"SELECT review, {call} FROM source WHERE wanted").fetchall()
    return time.perf_counter() - started, sorted(rows)


def compare(con: Connection, engine: Any, calls: dict[str, str], first: str) -> dict[str, float]:
    """Seconds of each way on the table `source`, the way named `first` first.

    Raises:
        AssertionError: the ways answer differently.
    """
    runs = {way: time_of(con, engine, calls[way]) for way in sorted(calls, key=lambda way: way != first)}
    assert len({str(rows) for _, rows in runs.values()}) == 1, "the two ways answer differently"
    return {way: seconds for way, (seconds, _) in runs.items()}


def summary(layout: str, runs: list[dict[str, Any]]) -> list[Any]:
    """The table's line of one layout: medians over its runs, and the least and the greatest ratio."""
    mine = [run for run in runs if run["layout"] == layout]
    names = ("plain_calls", "plain_s", "relserve_s", "ratio")
    ratios = [run["ratio"] for run in mine]
    medians = (statistics.median(run[name] for run in mine) for name in names)
    return [layout, len(mine), *medians, min(ratios), max(ratios)]


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows, seeds = (200, [1]) if args.quick else (2_000, [1, 2, 3])
    con = connect(model="tiny", progress=False)
    create_beer_table(con)
    engine: Any = find_engine("tiny")
    plain = PlainWay(engine)
    con.raw.create_function("plain_classify", plain, ["VARCHAR"], "VARCHAR", type="arrow")
    calls = {"plain_s": "plain_classify(review)", "relserve_s": classify_call()}
    for call in calls.values():
        con.execute(f"SELECT {call} FROM (FROM beer WHERE review <> '' LIMIT 50)").fetchall()
    runs: list[dict[str, Any]] = []
    for (layout, table_rows), seed in itertools.product(LAYOUTS.items(), seeds):
        prepare(con, num_rows, table_rows, seed)
        for first in calls:
            plain.calls = 0
            run = {"layout": layout, "seed": seed, "first": first, **compare(con, engine, calls, first)}
            ratio = run["plain_s"] / run["relserve_s"]
            runs.append(run | {"plain_calls": plain.calls, "ratio": ratio})
    lines = [summary(layout, runs) for layout in LAYOUTS]
    print(table(COLUMNS, lines))
    headline = {f"ratio_{line[0].replace(' ', '_')}": round(line[5], 2) for line in lines}
    finish("end_to_end", {"rows": num_rows, "duplicates": DUPLICATES, **headline}, runs, args.quick)
    con.close()


if __name__ == "__main__":
    main()
