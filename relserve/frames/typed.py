"""Answers that come as JSON text (llm_extract and its siblings), as a column of their own types."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from relserve.linking.schema import literal


def typed(texts: pa.Array, schema: str) -> pa.Array:
    """What from_json makes of the texts, as in SQL.

    Args:
        texts: JSON, NULL where there is no answer.
        schema: as from_json takes it, e.g. '{"brand": "VARCHAR"}' or '"BIGINT"'.
    """
    with duckdb.connect(config={"threads": 1}) as con:
        con.register("answers", pa.table({"v": texts}))
        found = con.sql(f"SELECT system.main.from_json(v, {literal(schema)}) FROM answers").to_arrow_table()
    return found.column(0).combine_chunks()
