"""Apache Superset on `relserve serve` as on a PostgreSQL 15 of the same tables: answers equal, Stop timed.

Superset 6.1 is asked by its REST API: it connects, lists tables with keys and comments, makes physical and
virtual datasets, and draws charts with every time grain, time ranges and filters. On relserve also charts
over llm functions, whose rows are compared with those that Python gets, and a dashboard, of which headless
Chromium takes the picture. Superset is installed into build/superset (`make superset`) at the first run;
PostgreSQL 15, psql and Chromium are the system's.
"""

from __future__ import annotations

from benchmarks.claims import Exact, Untold
from benchmarks.common import arguments, finish, table
from tests.clients.superset.asking import Measured, measured, missing

ROOMS = ("relserve/server", "duckdb_ext/relserve_duckdb")
HEADLINE = {
    "chart": Exact(True), "checks": Untold("a size"), "equal": Untold("chart says whether all are"),
    "stop_s": Untold("chart says whether it is quick"), "picture": Untold("needs Chromium"),
    "model": Untold("no figure"), "reviews": Untold("a size"),
}  # fmt: skip
NEEDS = {
    "build/superset/.installed": "make superset",
    "/usr/lib/postgresql/15/bin/postgres": "Debian's postgresql-15", "psql": "Debian's postgresql-client",
}  # fmt: skip

STOP_S = 2.0  # the aim


def show(found: Measured) -> None:
    """Print the tables, and each difference."""
    rows = [[*row[:3], "no" if row[3] else "yes"] for row in found.rows]
    print(table(["question", "PostgreSQL, s", "relserve, s", "equal"], rows), "\n")
    for name, _, _, wrong in found.rows:
        if wrong:
            print(f"{name}: {wrong}\n")
    stops = [[name, *each] for name, each in found.stopped.items()]
    print(table(["Stop", "answered, s", "idle, s", "Superset says"], stops))
    if found.no_picture:
        print(f"\n{found.no_picture}")


def main() -> None:
    """Print the tables and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--model", help="of the llm functions (default: tiny, and scripted with --quick)")
    args = parser.parse_args()
    if lacking := missing():
        print(lacking)
        finish("bi_superset", {"chart": False, "missing": lacking}, [], quick=True)
        return
    model = args.model or ("scripted" if args.quick else "tiny")
    found = measured(model, keeps=not args.quick)
    show(found)
    equal = sum(not row[3] for row in found.rows)
    idle_s = found.stopped["relserve, llm"].idle_s
    stopped = idle_s is not None and idle_s < STOP_S
    headline = {
        "chart": equal == len(found.rows) and stopped, "checks": len(found.rows), "equal": equal,
        "stop_s": None if idle_s is None else round(idle_s, 2), "picture": found.no_picture is None,
        "model": model, "reviews": found.num_reviews,
    }  # fmt: skip
    finish("bi_superset", headline, found._asdict(), args.quick)


if __name__ == "__main__":
    main()
