"""How long a search for the ten most similar of 1,000,000 vectors takes, and the look-up of kept vectors.

Vectors of 256 numbers in a column of FLOAT[256], as llm_embed makes them, searched by `FROM llm_similar(..)`.
The text that is searched for is embedded anew each time. `array` is the same search in DuckDB's own words.
Seconds are the least of five searches, and `CPU` the seconds of all threads together.

Then 100,000 texts are embedded and their vectors kept, and the same statement runs again: CPU microseconds a
row, with DuckDB's table, of texts that all differ and of 500 that are repeated.
"""

from __future__ import annotations

import os
import tempfile
import time

import relserve
from benchmarks.claims import Lower
from benchmarks.common import arguments, finish, table
from relserve.engines.scripted import ScriptedEngine

ROOMS = ("duckdb_ext/relserve_duckdb/udf", "relserve/session", "relserve/cache", "relserve/call")
HEADLINE = {"search_s": Lower(spread=0.3, timed=True), "kept_us_a_row": Lower(spread=0.3, timed=True)}

NUM_ROWS = 1_000_000
TEXT = "'my parcel has not arrived'"
SEARCHES = {
    "llm_similar": f"SELECT id FROM llm_similar('vectors', v, {TEXT}, k := 10)",
    "array": "SELECT id FROM vectors ORDER BY array_cosine_similarity(v, "
    f"llm_embed({TEXT})::FLOAT[256]) DESC LIMIT 10",
}
NUM_KEPT = 100_000
TEXTS = {
    "texts that differ": "'review ' || i || ' smells of hops, batch ' || i * 7 % 1000",
    "500 texts": "'review ' || i % 500 || ' smells of hops'",
}


def looked_up(num_rows: int) -> list[list[object]]:
    """For each kind of texts: rows, and wall and CPU microseconds a row of a look-up, the least of five."""
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        own = {"RELSERVE_CACHE_DIR": folder, "RELSERVE_ANSWER_CACHE_MB": "1024"}
        before = {name: os.environ.get(name, "") for name in own}
        os.environ.update(own)
        with relserve.connect(engine=ScriptedEngine(), progress=False) as con:
            for name, text in TEXTS.items():
                con.raw.execute(
                    f"CREATE OR REPLACE TABLE texts AS SELECT {text} AS x FROM range({num_rows}) t(i)"
                )
                seconds, cpu = [], []
                for _ in range(6):  # the first one embeds
                    started, used = time.perf_counter(), time.process_time()
                    con.execute("CREATE OR REPLACE TABLE embedded AS SELECT x, llm_embed(x) AS v FROM texts")
                    seconds.append(time.perf_counter() - started)
                    cpu.append(time.process_time() - used)
                least = [round(min(each[1:]) / num_rows * 1e6, 1) for each in (seconds, cpu)]
                rows.append([name, num_rows, *least])
            told = con.execute("SELECT distinct_prompts, cached_answers FROM llm_queries()").fetchall()
            assert sum(asked == kept for asked, kept in told) == 5 * len(TEXTS), "all but the first find all"
        os.environ.update(before)
    return rows


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    num_rows = NUM_ROWS // 10 if args.quick else NUM_ROWS
    rows, found = [], []
    with relserve.connect(engine=ScriptedEngine(), cache=False, progress=False) as con:
        con.raw.execute(
            "CREATE TABLE vectors AS SELECT i AS id, list_transform(range(256), lambda j: "
            f"(hash(i * 256 + j) % 1000)::FLOAT / 1000 - 0.5)::FLOAT[256] AS v FROM range({num_rows}) t(i)"
        )
        for name, sql in SEARCHES.items():
            seconds, cpu = [], []
            for _ in range(5):
                started, used = time.perf_counter(), time.process_time()
                found.append(con.execute(sql).fetchall())
                seconds.append(time.perf_counter() - started)
                cpu.append(time.process_time() - used)
            rows.append([name, num_rows, round(min(seconds), 3), round(min(cpu), 3)])
    assert all(each == found[0] for each in found), "both ways find the same rows"
    columns = ["search", "rows", "seconds", "CPU"]
    print(table(columns, rows))
    kept = looked_up(NUM_KEPT // 10 if args.quick else NUM_KEPT)
    kept_columns = ["looked up again", "rows", "wall us a row", "CPU us a row"]
    print(table(kept_columns, kept))
    headline = {"search_s": rows[0][2], "kept_us_a_row": kept[0][3]}
    details = [dict(zip(columns, row, strict=True)) for row in rows]
    details += [dict(zip(kept_columns, row, strict=True)) for row in kept]
    finish("similar", headline, details, args.quick)


if __name__ == "__main__":
    main()
