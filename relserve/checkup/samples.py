"""Each llm function asked once, as a statement that a user could write."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

import duckdb

from relserve.api import Connection
from relserve.checkup.page import FunctionSample
from relserve.errors import RowError

TEXT = (
    "I bought this kettle for 19.90 dollars on 2026-03-14. It was broken after 2 days. Please refund me, "
    "it is a terrible product."
)


class SampleCall(NamedTuple):
    """A call about the text.

    Attributes:
        arguments: as SQL writes them.
        right: the answers that are right, of the types that DuckDB gives; none for free text.
        rows: what it is asked of.
    """

    arguments: str
    right: tuple[Any, ...] = ()
    rows: str = "kettles"


CALLS = {
    "llm": SampleCall("'Sum up in one sentence: {}', text, max_tokens := 48"),
    "llm_filter": SampleCall("'Is the customer asking for a refund? {}', text", (True,)),
    "llm_classify": SampleCall(
        "'What is the sentiment of this review? {}', text, choices := ['positive', 'negative']",
        ("negative",),
    ),
    "llm_score": SampleCall("'How many stars does this reviewer give? {}', text, lo := 1, hi := 5", (1, 2)),
    "llm_int": SampleCall("'After how many days was it broken? {}', text", (2,)),
    "llm_double": SampleCall("'What was the price? {}', text", (19.9,)),
    "llm_bool": SampleCall("'Is the product broken? {}', text", (True,)),
    "llm_date": SampleCall("'When was it bought? {}', text", (date(2026, 3, 14),)),
    "llm_prob": SampleCall("'Is the customer asking for a refund? {}', text"),
    "llm_probs": SampleCall("'Who should answer? {}', text, choices := ['sales', 'support']"),
    "llm_tags": SampleCall("'What is this message about? {}', text, choices := ['refund', 'praise']"),
    "llm_decide": SampleCall(
        'text, \'{"refund": {"type": "noul", "instructions": "Is it about a refund?"}}\''
    ),
    "llm_quote": SampleCall("'What did it cost? {}', text", ("19.90", "19.90 dollars", "for 19.90 dollars")),
    "llm_extract": SampleCall(
        '\'{}\', text, schema := \'{"product": "VARCHAR", "days": "BIGINT"}\'',
        ({"product": "kettle", "days": 2},),
    ),
    "llm_agg": SampleCall("'Sum up in one sentence: {}', text, max_tokens := 48"),
    "llm_rank": SampleCall(
        "'Which text is longer? {}', text", rows="(SELECT unnest([text, 'No.']) AS text FROM kettles)"
    ),
}


def ask_all(con: Connection) -> Iterator[FunctionSample]:
    """The sample of each function, one after the other.

    Raises:
        EngineError, ModelError, Cancelled: the engine, not the answer, is what is wrong.
    """
    con.execute("CREATE TEMP TABLE kettles AS SELECT unnest([?]) AS text", [TEXT])
    for function, call in CALLS.items():
        sql = f"SELECT {function}({call.arguments}, on_error := 'raise') FROM {call.rows}"
        yield _ask(con, function, sql, call.right)


def _ask(con: Connection, function: str, sql: str, right: tuple[Any, ...]) -> FunctionSample:
    history, started = con.session.history, time.monotonic()
    num_known = len(history.errors())
    value, problem = None, None
    try:
        row = con.execute(sql).fetchone()
        value = None if row is None else row[0]
    except (RowError, duckdb.Error) as error:
        recorded = history.errors()[num_known:]
        problem = recorded[0].failure.message if recorded else str(error).partition("\n")[0]
    seconds = time.monotonic() - started
    answer = None if value is None else str(value)
    expected = " or ".join(map(str, right)) or None
    is_right = _bare(value) in map(_bare, right) if right else None
    return FunctionSample(function, sql, answer, problem, seconds, expected, is_right)


def _bare(value: Any) -> Any:
    """A value as it is compared: texts without regard to case and the space around them."""
    if isinstance(value, dict):
        return {name: _bare(each) for name, each in value.items()}
    return value.strip().casefold() if isinstance(value, str) else value
