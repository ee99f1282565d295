"""Against the plain way: the same engine behind a UDF that sends each chunk's rows together as they come.

2,000 beer reviews, 30 % of them duplicates, classified by the embedded model; the prefix cache is emptied
before each run, and both are timed in turn in one process. Two layouts: a table that DuckDB hands over as one
chunk, and a filter over all 10,000 reviews, where the chunks are what the filter leaves.
"""

from __future__ import annotations

import random
import statistics
import time
from typing import Any

import pyarrow as pa

from benchmarks.beer import CHOICES, classify_template, create_beer_table, quoted
from benchmarks.common import arguments, finish, table
from relserve.answers import Choice
from relserve.api import Connection, connect
from relserve.engines.loop import spawn
from relserve.engines.registry import find_engine
from relserve.relquery import Sampling, Submission

DUPLICATES = 0.3


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


def prepare(con: Connection, num_rows: int, seed: int) -> None:
    """Table `one_chunk` of num_rows reviews with duplicates, and `filtered`: 10,000 rows, num_rows marked."""
    rng = random.Random(seed)
    reviews = [
        r[0] for r in con.raw.execute("SELECT DISTINCT review FROM beer WHERE review <> ''").fetchall()
    ]
    rng.shuffle(reviews)
    num_distinct = round(num_rows * (1 - DUPLICATES))
    wanted = reviews[:num_distinct] + rng.choices(reviews[:num_distinct], k=num_rows - num_distinct)
    rng.shuffle(wanted)
    others = rng.choices(reviews[num_distinct:], k=10_000 - num_rows)
    marked = [(r, True) for r in wanted] + [(r, False) for r in others]
    rng.shuffle(marked)
    source = pa.table({"review": [r for r, _ in marked], "wanted": [w for _, w in marked]})
    con.raw.register("source", source)
    con.raw.execute("CREATE OR REPLACE TABLE filtered AS FROM source")
    con.raw.execute("CREATE OR REPLACE TABLE one_chunk AS SELECT review FROM source WHERE wanted")
    con.raw.unregister("source")


def time_of(con: Connection, engine: Any, call: str, source: str) -> tuple[float, list[tuple[str, str]]]:
    """Seconds and rows of one run from an empty prefix cache."""
    spawn(engine.reset_prefix_cache()).result()
    started = time.perf_counter()
    rows = con.execute(f"SELECT review, {call} FROM {source}").fetchall()
    return time.perf_counter() - started, sorted(rows)


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows, seeds = (200, [1]) if args.quick else (2_000, [1, 2, 3])
    con = connect(model="tiny", progress=False)
    create_beer_table(con)
    engine: Any = find_engine("tiny")
    plain = PlainWay(engine)
    con.raw.create_function("plain_classify", plain, ["VARCHAR"], "VARCHAR", type="arrow")
    ours = f"llm_classify({quoted(classify_template())}, review, choices := {list(CHOICES)})"
    con.execute(f"SELECT {ours} FROM beer LIMIT 50").fetchall()
    runs = []
    for seed in seeds:
        prepare(con, num_rows, seed)
        for layout, source in (("one chunk", "one_chunk"), ("filtered", "filtered WHERE wanted")):
            plain.calls = plain.rows = 0
            plain_s, expected = time_of(con, engine, "plain_classify(review)", source)
            ours_s, got = time_of(con, engine, ours, source)
            assert got == expected, "the two ways answer differently"
            runs.append([layout, seed, num_rows, plain.calls, plain_s, ours_s, plain_s / ours_s])
    print(table(["layout", "seed", "rows", "plain calls", "plain_s", "relserve_s", "ratio"], runs))
    ratios = {name: [r[-1] for r in runs if r[0] == name] for name in ("one chunk", "filtered")}
    headline = {f"ratio_{k.replace(' ', '_')}": round(statistics.median(v), 2) for k, v in ratios.items()}
    finish("end_to_end", {"rows": num_rows, "duplicates": DUPLICATES, **headline}, runs, args.quick)
    con.close()


if __name__ == "__main__":
    main()
