"""Each llm function asked once, as a statement that a user could write."""

from __future__ import annotations

import time
from collections.abc import Iterator

import duckdb

from relserve.api import Connection
from relserve.checkup.page import FunctionSample
from relserve.errors import RowError

TEXT = (
    "I bought this kettle for 19.90 dollars on 2026-03-14. It was broken after 2 days. Please refund me, "
    "it is a terrible product."
)
CALLS = {
    "llm": "'Sum up in one sentence: {}', text, max_tokens := 48",
    "llm_filter": "'Is the customer asking for a refund? {}', text",
    "llm_classify": "'What is the sentiment of this review? {}', text, choices := ['positive', 'negative']",
    "llm_score": "'How many stars does this reviewer give? {}', text, lo := 1, hi := 5",
    "llm_int": "'After how many days was it broken? {}', text",
    "llm_double": "'What was the price? {}', text",
    "llm_bool": "'Is the product broken? {}', text",
    "llm_date": "'When was it bought? {}', text",
    "llm_extract": '\'{}\', text, schema := \'{"product": "VARCHAR", "days": "BIGINT"}\'',
    "llm_agg": "'Sum up in one sentence: {}', text, max_tokens := 48",
}


def ask_all(con: Connection) -> Iterator[FunctionSample]:
    """The sample of each function, one after the other.

    Raises:
        EngineError, ModelError, Cancelled: the engine, not the answer, is what is wrong.
    """
    con.execute("CREATE TEMP TABLE kettles AS SELECT unnest([?]) AS text", [TEXT])
    for function, rest in CALLS.items():
        yield _ask(con, function, f"SELECT {function}({rest}, on_error := 'raise') FROM kettles")


def _ask(con: Connection, function: str, sql: str) -> FunctionSample:
    history, started = con.session.history, time.monotonic()
    num_known = len(history.errors())
    answer, problem = None, None
    try:
        row = con.execute(sql).fetchone()
        answer = None if row is None or row[0] is None else str(row[0])
    except (RowError, duckdb.Error) as error:
        recorded = history.errors()[num_known:]
        problem = recorded[0].failure.message if recorded else str(error).partition("\n")[0]
    return FunctionSample(function, sql, answer, problem, time.monotonic() - started)
