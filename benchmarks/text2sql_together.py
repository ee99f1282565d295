"""A table of 100 questions in one statement, against one question after another, on one engine.

The questions are plain ones over the shipped tables; the model is `tiny-sql`. Both ways are taken in turns,
which goes first alternates, answers are not kept from one turn to the next, and the prefix cache is emptied
before each.
"""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Any

from benchmarks.claims import Exact, Higher, Untold
from benchmarks.common import arguments, finish, table
from relserve.api import Connection, connect
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.examples import TABLES, scan_of
from relserve.tiny_sql import MODEL_DIR

ROOMS = (
    "duckdb_ext/relserve_duckdb/questions", "relserve/text2sql", "relserve/session", "relserve/engines/local",
)  # fmt: skip
HEADLINE = {
    "questions": Untold("a size"), "times_faster": Higher(0.5), "relqueries": Exact(1),
    "same_sql": Exact(True),
}  # fmt: skip

FRAMES = {
    "beers": (
        "How many beers are from {city}?", "What is the average abv of beers with style {style}?",
        "List the names of beers by {brewery}", "Which beer from {city} has the highest abv?",
    ),
    "films": ("How many films were directed by {director}?", "List the titles of films in the genre {genre}"),
    "products": ("What is the average price of products with brand {brand}?", "Show products in {category}"),
}  # fmt: skip


def questions(con: Connection, number: int) -> list[str]:
    """So many different questions, each about a value that its table has."""
    made: list[list[str]] = []
    for name, frames in FRAMES.items():
        for frame in frames:
            column = frame.partition("{")[2].partition("}")[0]
            values = con.raw.execute(f"SELECT DISTINCT {column} FROM {name} ORDER BY 1").fetchall()
            made.append([frame.format(**{column: value}) for (value,) in values])
    mixed = [each for group in itertools.zip_longest(*made) for each in group if each]
    if len(mixed) < number:
        raise RuntimeError(f"the shipped tables give {len(mixed)} questions, not {number}")
    return mixed[:number]


def together(con: Connection, asked: list[str]) -> list[Any]:
    """The SQL of all questions by one statement."""
    con.raw.execute("CREATE OR REPLACE TABLE asked AS SELECT * FROM (SELECT unnest(?) AS q)", [asked])
    return [sql for (sql,) in con.execute("SELECT text2sql_query(q) FROM asked").fetchall()]


def one_by_one(con: Connection, asked: list[str]) -> list[Any]:
    """The same by a statement each."""
    return [con.execute("SELECT text2sql_query(?)", [each]).fetchall()[0][0] for each in asked]


def relqueries(con: Connection) -> int:
    """RelQueries that the last statement's stages were."""
    return int(con.execute("SELECT count(*) FROM llm_steps()").fetchall()[0][0])


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    number, turns = (20, 1) if args.quick else (100, 3)
    engine = LocalEngine("tiny-sql", str(MODEL_DIR))
    con = connect(engine=engine, progress=False, cache=False)
    for name in TABLES:
        con.raw.execute(f"CREATE TABLE {name} AS FROM {scan_of(name)}")
    asked = questions(con, number)
    con.execute("SELECT text2sql_query('How many beers are there?')").fetchall()  # starts the engine
    ways = {"one statement": together, "one by one": one_by_one}
    took: dict[str, list[float]] = {name: [] for name in ways}
    sqls: dict[str, list[Any]] = {}
    steps: dict[str, int] = {}
    for turn in range(turns):
        for name in list(ways)[:: 1 if turn % 2 == 0 else -1]:
            spawn(engine.reset_prefix_cache()).result()
            before, began_s = relqueries(con), time.perf_counter()
            sqls[name] = ways[name](con, asked)
            took[name].append(time.perf_counter() - began_s)
            steps[name] = relqueries(con) - before
    rows = [
        [n, statistics.median(t), min(t), max(t), steps[n], sum(s is not None for s in sqls[n])]
        for n, t in took.items()
    ]
    print(table(["way", "median, s", "least", "most", "relQueries", "questions with SQL"], rows))
    ratios = [slow / quick for slow, quick in zip(took["one by one"], took["one statement"], strict=True)]
    headline = {
        "questions": number, "times_faster": round(statistics.median(ratios), 1),
        "relqueries": steps["one statement"], "same_sql": sqls["one statement"] == sqls["one by one"],
    }  # fmt: skip
    finish(
        "text2sql_together", headline, {"seconds": took, "ratios": ratios, "relqueries": steps}, args.quick
    )
    con.close()
    spawn(engine.close()).result()


if __name__ == "__main__":
    main()
