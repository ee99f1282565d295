"""Sixteen analytical queries over the three real tables, against a plain per-row UDF and a batch call.

The same engine answers all sides in one invocation, its prefix cache emptied before each query, and the rows
must be equal. "row by row" is a UDF that asks one row after the other; "batch" sends all rows of a call at
once, as LOTUS does: after the cheap predicates, in the order of the text, without folding duplicates. Then
ours with one technique off at a time shows what each brings. The answer cache is off throughout, but in the
last line: all queries again, from the cache.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from relserve_duckdb import Connection, attach
from relserve_duckdb.macros import Functions
from relserve_duckdb.site import ARROW_TYPES, read_chunk, sql_type_of
from relserve_duckdb.values import to_arrow

from benchmarks.common import arguments, data_folder, finish, table
from relserve.engines.loop import spawn
from relserve.engines.registry import find_engine
from relserve.relquery import RelQuery, Result
from relserve.session import Session

NUM_ROWS = 300  # of each table
QUERIES = Path(__file__).with_suffix(".sql")
VIEWS = """
CREATE TABLE products AS
    SELECT row_number() OVER () AS id, left(product_name, 120) AS name, category,
           TRY_CAST(replace(replace(discounted_price, '₹', ''), ',', '') AS DOUBLE) AS price,
           TRY_CAST(rating AS DOUBLE) AS rating, left(review_title, 200) AS title, left(review_content, 400) AS review
    FROM read_csv('{folder}/amazon.csv', header = true, all_varchar = true, parallel = false) LIMIT {rows};
CREATE TABLE reviews AS
    SELECT row_number() OVER () AS id, movie_title AS film, left(movie_info, 400) AS about,
           left(review_content, 400) AS review
    FROM read_csv('{folder}/rotten.csv', header = true, all_varchar = true, parallel = false) LIMIT {rows};
CREATE TABLE beers AS
    SELECT row_number() OVER () AS id, "beer/name" AS name, "beer/style" AS style, TRY_CAST("beer/ABV" AS DOUBLE) AS abv,
           TRY_CAST(split_part("review/overall", '/', 1) AS DOUBLE) AS overall, left("review/text", 400) AS review
    FROM read_csv('{folder}/beer.csv', header = true, all_varchar = true, parallel = false) LIMIT {rows};
"""


def queries() -> list[str]:
    """The statements of the file beside this one."""
    parts = QUERIES.read_text(encoding="utf-8").split(";")
    return [part.strip() for part in parts if "SELECT" in part]


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
        prompts = [p for p, w in zip(relquery.prompts(), weights, strict=True) for _ in range(w) if p is not None]
        kind, options = relquery.answer_type, relquery.options
        sampling = Sampling(options.max_tokens or kind.default_max_tokens, grammar=kind.grammar)
        submission = Submission(relquery.rel_id, prompts, sampling, options.system)
        texts: dict[str, str | None] = {}

        async def collect() -> None:
            async for replies in self.find_engine(options.model).answer(submission):
                texts.update((prompts[reply.index], reply.text) for reply in replies)

        spawn(collect()).result()
        return Result(
            [Answer(None) if p is None else kind.parse(texts[p] or "") for p in relquery.prompts()]
        )
