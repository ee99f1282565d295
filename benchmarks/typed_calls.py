"""A call of every type of answer over the shipped reviews, and what its answers may be."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.beer import quoted
from relserve.api import Connection, connect
from relserve.call.answer_types import Grammar
from relserve.cli import demo
from relserve.engines.scripted import ScriptedEngine

THREE = ("positive", "negative", "neutral")
THIRTY = tuple(
    f"{size} {thing}"
    for size in ("small", "large", "broken", "late", "kind", "odd")
    for thing in ("parcel", "kitchen tool", "book", "café", "garden")
)
MOODS = ("good", "bad")


class TypedCall(NamedTuple):
    """A call for each row, or for groups of ten.

    Attributes:
        function: with the template.
        options: the text behind the column.
        fits: whether a value that is not NULL is of the call's type.
        max_tokens: as a user would set it; None where the type bounds the answer.
    """

    function: str
    options: str
    fits: Callable[[Any], bool]
    max_tokens: int | None = None

    @property
    def sql(self) -> str:
        cap = f", max_tokens := {self.max_tokens}" if self.max_tokens else ""
        return f"{self.function}('Tell: {{}}', review{self.options}{cap})"

    @property
    def is_aggregate(self) -> bool:
        return self.function == "llm_agg"


def _of(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


def _fields(**fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        value.keys() == fits.keys()
        and all(value[name] is None or fit(value[name]) for name, fit in fits.items())
    )


def _all(fit: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda values: isinstance(values, (list, tuple)) and all(map(fit, values))


def _choices(choices: tuple[str, ...]) -> str:
    return f", choices := [{', '.join(map(quoted, choices))}]"


CALLS: dict[str, TypedCall] = {
    "llm": TypedCall("llm", "", _of(str), max_tokens=32),
    "llm_filter": TypedCall("llm_filter", "", _of(bool)),
    "llm_classify, 3": TypedCall("llm_classify", _choices(THREE), THREE.__contains__),
    "llm_classify, 30": TypedCall("llm_classify", _choices(THIRTY), THIRTY.__contains__),
    "llm_score": TypedCall(
        "llm_score", ", lo := 1, hi := 5", lambda value: type(value) is float and value in range(1, 6)
    ),
    "llm_int": TypedCall("llm_int", "", _of(int)),
    "llm_double": TypedCall("llm_double", "", _of(float)),
    "llm_date": TypedCall("llm_date", "", _of(datetime.date)),
    "llm_extract, text": TypedCall(
        "llm_extract", """, schema := '{"name": "VARCHAR", "n": "INTEGER"}'""",
        _fields(name=_of(str), n=_of(int)),
    ),
    "llm_extract, list": TypedCall(
        "llm_extract", """, schema := '{"tags": ["VARCHAR"]}'""", _fields(tags=_all(_of(str)))
    ),
    "llm_extract, enum": TypedCall(
        "llm_extract", """, schema := $${"mood": "ENUM('good', 'bad')"}$$""", _fields(mood=MOODS.__contains__)
    ),
    "llm_agg": TypedCall("llm_agg", "", _of(str), max_tokens=32),
}  # fmt: skip


# What llm_extract's limits and max_tokens say where a model goes in circles and ends neither text nor list.
_ENDLESS = re.compile(r"longer than \d+ characters|more than \d+ items|max_tokens ended it")


class TypedCallOutcome(NamedTuple):
    """What a call gave: rows asked, lost, of a wrong type, and NULL because the model said so.

    Attributes:
        endless: of the lost ones, those of which the model did not come to an end.
    """

    rows: int
    lost: int
    endless: int
    wrong_type: int
    said_null: int
    seconds: float
    failures: list[str]


def prepare(con: Connection, num_rows: int) -> None:
    """A table of that many rows, no text of which is there twice."""
    demo.prepare(con)
    con.raw.execute(
        "CREATE TEMP TABLE texts AS SELECT row_number() OVER () AS i, review FROM "
        f"(SELECT DISTINCT review FROM reviews WHERE review <> '' ORDER BY review LIMIT {num_rows})"
    )


def outcome(con: Connection, call: TypedCall) -> TypedCallOutcome:
    """Make a call and look at its answers and at the record of them."""
    group = " GROUP BY (i - 1) // 10" if call.is_aggregate else ""
    values = [value for (value,) in con.execute(f"SELECT {call.sql} FROM texts{group}").fetchall()]
    failed, seconds = con.execute(
        "SELECT failed_rows, seconds FROM llm_queries() ORDER BY statement DESC LIMIT 1"
    ).fetchone()  # type: ignore[misc]
    failures = con.execute(
        "SELECT message, rows FROM llm_errors() WHERE statement = (SELECT max(statement) FROM llm_queries())"
    ).fetchall()
    endless = sum(rows for message, rows in failures if _ENDLESS.search(message))
    nulls = sum(value is None for value in values)
    wrong = sum(value is not None and not call.fits(value) for value in values)
    said = [message for message, _ in failures]
    return TypedCallOutcome(len(values), failed, endless, wrong, nulls - failed, seconds, said)


def grammar_of(call: TypedCall) -> Grammar | None:
    """What an engine is asked to hold the call's answers to."""
    engine = ScriptedEngine()
    with connect(engine=engine, progress=False) as con:
        prepare(con, 1)
        outcome(con, call)
    return engine.submissions[-1].sampling.grammar
