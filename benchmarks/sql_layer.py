"""The SQL layer alone: a million rows, 100,000 distinct prompts, an engine that answers at once.

Shows what relserve costs beside the model: rows a second and peak memory, in a process of its own.
"""

from __future__ import annotations

import resource
import statistics
import time

from benchmarks.claims import Exact, Higher, Lower, Untold
from benchmarks.common import arguments, finish, table
from relserve.api import connect
from relserve.engines.scripted import ScriptedEngine

ROOMS = ("duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call")
HEADLINE = {
    "rows": Untold("a size"), "asked": Untold("a size"), "relqueries": Exact(1),
    "seconds_median": Untold("of rows_per_s"), "seconds_max": Untold("of rows_per_s"),
    "rows_per_s": Higher(0.35, timed=True), "peak_gb": Lower(0.2),
}  # fmt: skip

QUERY = "SELECT llm('Rate {review} from 1 to 5', review) AS answer FROM reviews"


def run(num_rows: int, num_distinct: int) -> tuple[float, int, int]:
    """Seconds, prompts asked and relQueries of one run."""
    engine = ScriptedEngine()
    con = connect(engine=engine, progress=False)
    con.execute(
        f"CREATE TABLE reviews AS SELECT 'review number ' || (i * 7919 % {num_distinct}) AS review "
        f"FROM range({num_rows}) t(i)"
    )
    started = time.perf_counter()
    answers = con.sql(QUERY).to_arrow_table()
    seconds = time.perf_counter() - started
    assert answers.num_rows == num_rows
    assert answers["answer"].null_count == 0
    con.close()
    return seconds, engine.num_prompts, len(engine.submissions)


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows, num_distinct, repeats = (100_000, 10_000, 3) if args.quick else (1_000_000, 100_000, 5)
    runs = [run(num_rows, num_distinct) for _ in range(repeats)]
    seconds = [r[0] for r in runs]
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    median = statistics.median(seconds)
    asked, relqueries = runs[0][1:]
    headline = {
        "rows": num_rows, "asked": asked, "relqueries": relqueries, "seconds_median": round(median, 2),
        "seconds_max": round(max(seconds), 2), "rows_per_s": int(num_rows / median),
        "peak_gb": round(peak_gb, 2),
    }  # fmt: skip
    print(table(list(headline), [list(headline.values())]))
    finish("sql_layer", headline, {"seconds": seconds}, args.quick)


if __name__ == "__main__":
    main()
