"""What tools show: dataclasses, from which the SDK makes their schemas, and values of DuckDB as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from relserve.errors import UsageError
from relserve.session.history import QueryRecord

LONGEST = 4_000  # characters of a text, list or structure that is shown whole


@dataclass
class ShownColumn:
    """A column of a result or table, with DuckDB's name of its type."""

    name: str
    type: str


@dataclass
class AskedSum:
    """What a call asked a model: rows, of them those answered from the cache, tokens, US dollars (null:
    unknown)."""

    rows: int = 0
    cached_rows: int = 0
    failed_rows: int = 0
    tokens: int = 0
    dollars: float | None = 0.0


@dataclass
class QueryAnswer:
    """Rows of a query; `more_rows`: there are more than are shown. `notes`: what failed, and warnings."""

    columns: list[ShownColumn]
    rows: list[list[Any]]
    more_rows: bool
    asked: AskedSum
    notes: list[str] = field(default_factory=list)


@dataclass
class QuestionAnswer(QueryAnswer):
    """The same, with the SQL that answers the question."""

    sql: str = ""


@dataclass
class TableEntry:
    """A table or view; `rows` is about how many a table has, null of a view."""

    name: str
    kind: str
    rows: int | None
    comment: str | None


@dataclass
class ColumnEntry:
    """A column of a table, with some of its values."""

    name: str
    type: str
    comment: str | None
    references: str | None
    examples: list[str]


@dataclass
class TableDescription:
    """A table with its columns; `name` as SQL takes it."""

    name: str
    rows: int | None
    comment: str | None
    key: list[str]
    columns: list[ColumnEntry]


@dataclass
class CallCost:
    """What one llm call of a statement would ask."""

    function: str
    template: str
    model: str | None
    rows: int | None
    distinct_prompts: int | None
    cached_answers: int | None
    prompt_tokens: int | None
    max_output_tokens: int | None
    seconds: float | None
    dollars: float | None
    at_most: bool


@dataclass
class CostEstimate:
    """What a statement would ask; nothing was asked. `summary` says it in one line."""

    summary: str
    calls: list[CallCost]
    notes: list[str]


@dataclass
class Classification:
    """How many rows have each label (null: a row that failed), and the labelled values."""

    labels: list[LabelCount]
    values: list[list[Any]]
    asked: AskedSum
    notes: list[str] = field(default_factory=list)


@dataclass
class LabelCount:
    """A label and how many of the rows that were looked at have it."""

    label: str | None
    rows: int


def rows_of(table: pa.Table) -> list[list[Any]]:
    """Rows as JSON has them: dates, decimals, bytes and numbers that are not finite as texts, long texts cut.

    Raises:
        UsageError: a date or time is none of Python's, as infinity is.
    """
    try:
        columns = [[_value(each) for each in _whole(column).to_pylist()] for column in table.columns]
    except (ValueError, OverflowError) as error:
        raise UsageError(f"a value cannot be shown as it is: {error}; cast it to VARCHAR") from error
    return [list(row) for row in zip(*columns, strict=True)]


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """DuckDB's HUGEINT, which sums of integers have, comes as a decimal."""
    fits = pa.types.is_decimal(column.type) and column.type.scale == 0
    try:
        return column.cast(pa.int64()) if fits else column
    except pa.ArrowInvalid:
        return column


def asked_of(records: Sequence[QueryRecord]) -> AskedSum:
    """The sum of what was asked."""
    costs = [each.cost for each in records]
    known = [cost for cost in costs if cost is not None]
    return AskedSum(
        sum(each.num_rows for each in records), sum(each.num_cached for each in records),
        sum(each.num_failed for each in records),
        sum(each.usage.prompt_tokens + each.usage.output_tokens for each in records),
        sum(known) if len(known) == len(costs) else None,
    )  # fmt: skip


def _value(value: Any) -> Any:
    shown = _finite(msgspec.to_builtins(value, str_keys=True, enc_hook=str))
    is_nested = isinstance(shown, list | dict)
    text = msgspec.json.encode(shown).decode() if is_nested else str(shown)
    return f"{text[:LONGEST]}.. ({len(text):,} characters)" if len(text) > LONGEST else shown


def _finite(value: Any) -> Any:
    """The value with NaN and infinities, which JSON has not, as the words that DuckDB's to_json writes."""
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
