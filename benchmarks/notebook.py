"""A process with a connection of its own, as a notebook is: each line of its input is SQL."""

from __future__ import annotations

import json
import os
import sys
import time

from benchmarks.beer import create_beer_table
from relserve.api import connect


def main() -> None:
    """Answer each line with the seconds that its statement took, its rows, and its relQuery's phases."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    con = connect(progress=False)
    create_beer_table(con)
    for line in sys.stdin:
        started = time.perf_counter()
        rows = con.execute(line).fetchall()
        seconds = time.perf_counter() - started
        phases = con.execute(
            "SELECT waiting_s, core_s, tail_s FROM llm_queries() ORDER BY started DESC LIMIT 1"
        ).fetchall()
        out.write(json.dumps({"seconds": seconds, "rows": sorted(rows), "phases": phases[0]}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
