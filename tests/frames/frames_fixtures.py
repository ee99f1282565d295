"""The tables of the dataframe tests, and what SQL says on them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import relserve
from relserve.engines.scripted import ScriptedEngine, echo

ODD_TEXTS = (
    "", " ", "it's", 'a "quoted" word', "{x}", "{}", "}}{{", "😀 né", "tab\tnew\nline", "%s %d \\n", "null",
    "NaN", "a\0b", "e\u0301", "\u202eright to left", "\ufeffmark", "𝔘𝔫𝔦", "x" * 5000,
)  # fmt: skip


def odd_table(num_rows: int) -> pa.Table:
    """Text with NULLs, duplicates and odd characters, and a column of each plain type."""
    ids = range(num_rows)
    review = [None if i % 13 == 0 else f"{ODD_TEXTS[i % 17]} {i % 900}" for i in ids]
    stars = [None if i % 31 == 0 else i % 6 for i in ids]
    price = [None if i % 29 == 0 else (i % 40) / 8 for i in ids]
    return pa.table(
        {
            "review": pa.array(review, pa.string()), "stars": pa.array(stars, pa.int64()),
            "price": pa.array(price, pa.float64()), "id": pa.array(ids, pa.int64()),
        }
    )  # fmt: skip


def echoing(**engine: Any) -> ScriptedEngine:
    """An engine that answers with the prompt, so that an answer shows how a value reads."""
    return ScriptedEngine(echo, **engine)


def connected(engine: ScriptedEngine | None = None) -> relserve.Connection:
    """A connection that reads frames in their order and whole."""
    con = relserve.connect(engine=engine or echoing(), progress=False)
    con.execute("SET preserve_insertion_order = true; SET TimeZone = 'UTC'")
    con.raw.execute("SET pandas_analyze_sample = 1000000")
    return con


def in_sql(con: relserve.Connection, data: Any, call: str) -> list[Any]:
    """What a call says in SQL over the same data, in its order."""
    con.register("data", data)
    return [answer for (answer,) in con.execute(f"SELECT {call} FROM data").fetchall()]


def listed(column: Any) -> list[Any]:
    """A column of any library as Python values, None for NULL."""
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    if hasattr(column, "to_list") and not hasattr(column, "isna"):
        return list(column.to_list())
    return [None if gone else value for value, gone in zip(column, column.isna(), strict=True)]
