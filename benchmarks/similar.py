"""How long a search for the ten most similar of 1,000,000 vectors takes.

Vectors of 256 numbers in a column of FLOAT[256], as llm_embed makes them, searched by `FROM llm_similar(..)`.
The text that is searched for is embedded anew each time. `array` is the same search in DuckDB's own words.
Seconds are the least of five searches, and `CPU` the seconds of all threads together.
"""

from __future__ import annotations

import time

import relserve
from benchmarks.claims import Lower
from benchmarks.common import arguments, finish, table
from relserve.engines.scripted import ScriptedEngine

ROOMS = ("duckdb_ext/relserve_duckdb/udf",)
HEADLINE = {"search_s": Lower(spread=0.3, timed=True)}

NUM_ROWS = 1_000_000
TEXT = "'my parcel has not arrived'"
SEARCHES = {
    "llm_similar": f"SELECT id FROM llm_similar('vectors', v, {TEXT}, k := 10)",
    "array": "SELECT id FROM vectors ORDER BY array_cosine_similarity(v, "
    f"llm_embed({TEXT})::FLOAT[256]) DESC LIMIT 10",
}


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
    headline = {"search_s": rows[0][2]}
    finish("similar", headline, [dict(zip(columns, row, strict=True)) for row in rows], args.quick)


if __name__ == "__main__":
    main()
