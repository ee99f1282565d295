"""Sixteen analytical queries over the three real tables, against a plain per-row UDF and a batch call.

The same engine answers all sides in one invocation, its prefix cache emptied before each query; the side that
goes first changes from query to query, and the rows must be equal. "row by row" is a UDF that asks one row
after the other; "batch" sends all rows of a call at once, as LOTUS does: after the cheap predicates, in the
order of the text, without folding duplicates. Then ours with one technique off at a time shows what each
brings. The answer cache is off throughout.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.analytics_sides import sides
from benchmarks.claims import Exact, Higher, Untold
from benchmarks.common import arguments, data_folder, finish, table
from benchmarks.plots import bars
from relserve.api import find_engine
from relserve.engines.loop import spawn

ROOMS = (
    "duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call", "relserve/engines/local",
    "relserve/vllm_plugin", "relserve/policies/scheduling",
)  # fmt: skip
HEADLINE = {
    "queries": Untold("a size"), "different": Exact(0), "row_by_row_over_ours": Higher(0.4),
    "batch_over_ours": Higher(0.35), "share_of": Untold("two queries do not use every technique"),
}  # fmt: skip

NUM_ROWS = 300  # of each table
QUERIES = Path(__file__).with_suffix(".sql")
VIEWS = """
CREATE TABLE products AS
    SELECT row_number() OVER () AS id, left(product_name, 120) AS name, category,
           TRY_CAST(replace(replace(discounted_price, '₹', ''), ',', '') AS DOUBLE) AS price,
           TRY_CAST(rating AS DOUBLE) AS rating, left(review_title, 200) AS title,
           left(review_content, 400) AS review
    FROM read_csv('{folder}/amazon.csv', header = true, all_varchar = true, parallel = false) LIMIT {rows};
CREATE TABLE reviews AS
    SELECT row_number() OVER () AS id, movie_title AS film, left(movie_info, 400) AS about,
           left(review_content, 400) AS review
    FROM read_csv('{folder}/rotten.csv', header = true, all_varchar = true, parallel = false) LIMIT {rows};
CREATE TABLE beers AS
    SELECT row_number() OVER () AS id, "beer/name" AS name, "beer/style" AS style,
           TRY_CAST("beer/ABV" AS DOUBLE) AS abv,
           TRY_CAST(split_part("review/overall", '/', 1) AS DOUBLE) AS overall,
           left("review/text", 400) AS review
    FROM read_csv('{folder}/beer.csv', header = true, all_varchar = true, parallel = false) LIMIT {rows};
"""


def queries() -> list[str]:
    """The statements of the file beside this one."""
    parts = QUERIES.read_text(encoding="utf-8").split(";")
    return [part.strip() for part in parts if "SELECT" in part]


def real_tables() -> duckdb.DuckDBPyConnection:
    """A database with the three tables."""
    raw = duckdb.connect()
    raw.execute(VIEWS.format(folder=data_folder() / "tables", rows=NUM_ROWS))
    return raw


def in_turn(names: Sequence[str], number: int) -> list[str]:
    """The names in the order of a query, which begins one further on with each query."""
    first = number % len(names)
    return [*names[first:], *names[:first]]


def main() -> None:
    """Print the tables and the headline."""
    args = arguments(__doc__ or "").parse_args()
    asked = queries()[1:3] if args.quick else queries()
    engine: Any = find_engine("tiny")
    compared = sides(engine, real_tables)
    compared["ours"].rows("SELECT llm_filter('{}', name) FROM products")  # start the engine
    seconds: dict[str, list[float]] = {name: [] for name in compared}
    prompts = {name: [0] * len(asked) for name in compared}
    different = []
    for number, sql in enumerate(asked):
        found = {}
        for name in in_turn(list(compared), number):
            side = compared[name]
            spawn(engine.reset_prefix_cache()).result()
            before, started = side.num_prompts, time.perf_counter()
            found[name] = side.rows(sql)
            seconds[name].append(time.perf_counter() - started)
            prompts[name][number] = side.num_prompts - before
        different += [(number + 1, name) for name, rows in found.items() if rows != found["row by row"]]
        shown = "  ".join(f"{name} {seconds[name][-1]:.2f}" for name in compared)
        print(f"{number + 1:2}  {shown}", flush=True)
    total = {name: sum(each) for name, each in seconds.items()}
    times_ours = {name: each / total["ours"] for name, each in total.items()}
    rows = [[name, sum(prompts[name]), total[name], times_ours[name]] for name in compared]
    columns = ["side", "prompts", "seconds", "times ours"]
    print(table(columns, rows))
    print("rows that differ:", different or "none")
    headline = {
        "queries": len(asked), "different": len(different),
        "row_by_row_over_ours": round(times_ours["row by row"], 2),
        "batch_over_ours": round(times_ours["batch"], 2),
        "share_of": {name: round(times_ours[name], 2) for name in list(compared)[3:]},
    }  # fmt: skip
    details = {
        "columns": columns, "rows": rows, "seconds": seconds, "prompts": prompts, "different": different
    }  # fmt: skip
    finish("analytics", headline, details, args.quick, partial(bars, values=total, label="seconds"))


if __name__ == "__main__":
    main()
