"""The shipped tables and the example queries over them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from relserve.examples import TABLES

if TYPE_CHECKING:
    from relserve.api import Connection

STATS = """
SELECT function, rows, distinct_prompts - cached_answers AS asked,
       cached_answers AS from_cache, failed_rows AS failed, prompt_tokens AS tokens_in,
       cached_tokens AS cached, output_tokens AS tokens_out, round(waiting_s, 2) AS waiting_s,
       round(core_s, 2) AS core_s, round(tail_s, 2) AS tail_s
FROM llm_queries()
"""


class Query(NamedTuple):
    """An example: what it shows, and its SQL."""

    title: str
    sql: str


def prepare(con: Connection) -> list[Query]:
    """Create the shipped tables as TEMP tables on a connection; gives the demo's queries."""
    for name, path in TABLES.items():
        source = f"read_csv('{path}', header = true, nullstr = '', allow_quoted_nulls = false)"
        con.raw.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name} AS FROM {source}")
    return list(queries((files("relserve.examples") / "demo.sql").read_text(encoding="utf-8")))


def queries(text: str) -> Iterator[Query]:
    """The statements of a .sql file in which each begins with a `-- title` line."""
    for part in re.split(r"(?m)^(?=-- )", text):
        title, _, sql = part.partition("\n")
        if sql.strip():
            yield Query(title.removeprefix("-- ").strip(), sql.strip().removesuffix(";"))
