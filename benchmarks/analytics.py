"""Sixteen analytical queries over the three real tables, against a plain per-row UDF and a batch call.

The same engine answers all sides in one invocation, its prefix cache emptied before each query, and the rows
must be equal. "row by row" is a UDF that asks one row after the other; "batch" sends all rows of a call at
once, as LOTUS does: after the cheap predicates, in the order of the text, without folding duplicates. Then
ours with one technique off at a time shows what each brings. The answer cache is off throughout.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow as pa
from relserve_duckdb import Connection, attach
from relserve_duckdb.udf.macros import Functions
from relserve_duckdb.udf.site import ARROW_TYPES, read_chunk, sql_type_of

from benchmarks.common import arguments, data_folder, finish, table
from relserve.api import find_engine
from relserve.call.answer_types import Answer
from relserve.call.relquery import RelQuery, Result, Sampling, Submission
from relserve.call.values import to_arrow
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.session.history import QueryRecord
from relserve.session.session import Session

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


@dataclass
class Side:
    """One way to answer: a connection, the session behind it, and how its queries are run."""

    con: Any
    session: Session
    how: Callable[[], AbstractContextManager[None]] = nullcontext

    @property
    def num_prompts(self) -> int:
        """Prompts asked so far."""
        return sum(record.num_done for record in self.session.history.queries())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self.how():
            return list(self.con.execute(sql).fetchall())


class RowByRow:
    """Stands where a connection's scope does: every row is asked alone, and waited for."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def call(self, function: str, columns: Sequence[Any]) -> pa.Array:
        """The UDF."""
        chunk = read_chunk(function, columns)
        kind = ARROW_TYPES[sql_type_of(function)]
        if chunk is None:
            return pa.nulls(len(columns[0]), kind)
        rows = [chunk.site.relquery([chunk.row(i)], [1]) for i in range(len(chunk.prompts))]
        return to_arrow([self.session.run(row).values[0] for row in rows], kind)


class Unfolded(Session):
    """A session that folds nothing: every row of a relQuery is a prompt, all sent together."""

    def run(self, relquery: RelQuery, *args: Any, **kwargs: Any) -> Result:
        """See `Session.run`."""
        weights = relquery.multiplicity or [1] * len(relquery.rows)
        prompts = [
            p for p, w in zip(relquery.prompts(), weights, strict=True) for _ in range(w) if p is not None
        ]
        kind, options = relquery.answer_type, relquery.options
        sampling = Sampling(options.max_tokens or kind.default_max_tokens, grammar=kind.grammar)
        record = QueryRecord(relquery.rel_id, relquery.function, "", "", len(prompts), num_done=len(prompts))
        self.history.begin(record)
        submission = Submission(relquery.rel_id, prompts, sampling, options.system)
        texts: dict[str, str | None] = {}

        async def collect() -> None:
            async for replies in self.find_engine(options.model).answer(submission):
                texts.update((prompts[reply.index], reply.text) for reply in replies)

        spawn(collect()).result()
        return Result([Answer(None) if p is None else kind.parse(texts[p] or "") for p in relquery.prompts()])


def attached(session: Session, prefetch: bool = True) -> Connection:
    """Ours on a database with the tables."""
    return attach(_database(), session, progress=False, prefetch=prefetch)


def plain(session: Session) -> duckdb.DuckDBPyConnection:
    """DuckDB with the row-by-row functions."""
    raw = _database()
    functions = Functions(RowByRow(session))  # type: ignore[arg-type]
    functions.register(raw)
    functions.create_macros(raw)
    return raw


def _database() -> duckdb.DuckDBPyConnection:
    raw = duckdb.connect()
    raw.execute(VIEWS.format(folder=data_folder() / "tables", rows=NUM_ROWS))
    return raw


@contextmanager
def as_written() -> Iterator[None]:
    """Filters are asked in the order of the text, all rows of each, whatever the LIMIT."""
    with (
        patch("relserve_duckdb.rehearse.prefetch._begin_sparing", lambda *_: None),
        patch("relserve_duckdb.rehearse.prefetch.stops_early", lambda *_: False),
    ):
        yield


def sides(find: Callable[[str | None], Engine]) -> dict[str, Side]:
    """All that are compared, by name."""
    session = partial(Session, find)
    return {
        "row by row": Side(plain(each := session()), each),
        "batch": Side(attached(each := Unfolded(find)), each, as_written),
        "ours": Side(attached(each := session()), each),
        "without folding": Side(attached(each := Unfolded(find)), each),
        "without prefetch": Side(attached(each := session(), prefetch=False), each),
        "filters as written": Side(attached(each := session()), each, as_written),
        "rows as they come": Side(attached(each := session(sorts=False)), each),
    }


def main() -> None:
    """Print the tables and the headline."""
    args = arguments(__doc__ or "").parse_args()
    asked = queries()[:4] if args.quick else queries()
    engine: Any = find_engine("tiny")
    compared = sides(lambda _: engine)
    compared["ours"].rows("SELECT llm_filter('{}', name) FROM products")  # start the engine
    seconds: dict[str, list[float]] = {name: [] for name in compared}
    prompts = {name: [0] * len(asked) for name in compared}
    different = []
    for number, sql in enumerate(asked):
        found = {}
        for name, side in compared.items():
            spawn(engine.reset_prefix_cache()).result()
            before, started = side.num_prompts, time.perf_counter()
            found[name] = side.rows(sql)
            seconds[name].append(time.perf_counter() - started)
            prompts[name][number] = side.num_prompts - before
        different += [(number + 1, name) for name, rows in found.items() if rows != found["row by row"]]
        shown = "  ".join(f"{name} {seconds[name][-1]:.2f}" for name in compared)
        print(f"{number + 1:2}  {shown}", flush=True)
    total = {name: sum(each) for name, each in seconds.items()}
    ours = total["ours"]
    rows = [[name, sum(prompts[name]), total[name], total[name] / ours] for name in compared]
    columns = ["side", "prompts", "seconds", "times ours"]
    print(table(columns, rows))
    print("rows that differ:", different or "none")
    headline = {
        "queries": len(asked), "different": len(different),
        "row_by_row_over_ours": round(total["row by row"] / ours, 2),
        "batch_over_ours": round(total["batch"] / ours, 2),
        "share_of": {name: round(total[name] / ours, 2) for name in list(compared)[3:]},
    }  # fmt: skip
    details = {
        "columns": columns,
        "rows": rows,
        "seconds": seconds,
        "prompts": prompts,
        "different": different,
    }
    finish("analytics", headline, details | {"different": different}, args.quick)


if __name__ == "__main__":
    main()
