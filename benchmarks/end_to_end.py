"""Against the plain way: the same engine behind a UDF that sends each chunk's rows together as they come.

2,000 beer reviews, 30 % of them duplicates, classified by the embedded model; the prefix cache is emptied
before each run, and both are timed in turn in one process. Three layouts of the same rows: a table that
DuckDB hands over as one chunk; a filter over 10,000 reviews, and one over 100,000, where the chunks are what
the filter leaves.
"""

from __future__ import annotations

import itertools
import random
import statistics
import time
from typing import Any

import pyarrow as pa

from benchmarks.beer import CHOICES, classify_template, create_beer_table, quoted
from benchmarks.common import arguments, finish, table
from relserve.api import Connection, connect, find_engine
from relserve.call.answer_types import Choice
from relserve.call.relquery import Sampling, Submission
from relserve.engines.loop import spawn

DUPLICATES = 0.3
LAYOUTS = {"one chunk": 0, "1 in 5": 10_000, "1 in 50": 100_000}  # rows of the table filtered; 0: no filter


class PlainWay:
    """An arrow UDF without anything of relserve but the engine: no folding, no prefetch, no memo."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.calls, self.rows = engine, 0, 0
        kind = Choice(CHOICES)
        self.lead = kind.instruction + "\n" + classify_template()
        self.sampling = Sampling(kind.default_max_tokens, grammar=kind.grammar)

    def __call__(self, reviews: pa.ChunkedArray) -> pa.Array:
        prompts = [self.lead.replace("{review}", r) for r in reviews.to_pylist()]
        self.calls += 1
        self.rows += len(prompts)
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


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows, seeds = (200, [1]) if args.quick else (2_000, [1, 2, 3])
    con = connect(model="tiny", progress=False)
    create_beer_table(con)
    con.raw.execute(
        "CREATE VIEW distinct_reviews AS SELECT DISTINCT review FROM beer WHERE review <> '' ORDER BY 1"
    )
    engine: Any = find_engine("tiny")
    plain = PlainWay(engine)
    con.raw.create_function("plain_classify", plain, ["VARCHAR"], "VARCHAR", type="arrow")
    ours = f"llm_classify({quoted(classify_template())}, review, choices := {list(CHOICES)})"
    con.execute(f"SELECT {ours} FROM beer LIMIT 50").fetchall()
    runs = []
    for (layout, table_rows), seed in itertools.product(LAYOUTS.items(), seeds):
        prepare(con, num_rows, table_rows, seed)
        plain.calls = plain.rows = 0
        plain_s, expected = time_of(con, engine, "plain_classify(review)")
        ours_s, got = time_of(con, engine, ours)
        assert got == expected, "the two ways answer differently"
        runs.append([layout, seed, num_rows, plain.calls, plain_s, ours_s, plain_s / ours_s])
    print(table(["layout", "seed", "rows", "plain calls", "plain_s", "relserve_s", "ratio"], runs))
    ratios = {name: [r[-1] for r in runs if r[0] == name] for name in LAYOUTS}
    headline = {f"ratio_{k.replace(' ', '_')}": round(statistics.median(v), 2) for k, v in ratios.items()}
    finish("end_to_end", {"rows": num_rows, "duplicates": DUPLICATES, **headline}, runs, args.quick)
    con.close()


if __name__ == "__main__":
    main()
