"""What was asked so far: one record a relQuery, one a failed row. Feeds llm_queries() and llm_errors()."""

from __future__ import annotations

import itertools
import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, NamedTuple

import pyarrow as pa

from relserve.cache.kept_usage import UsageBook, UsageCounts, UsageKey, today
from relserve.call.option_values import Options
from relserve.call.phases import Phases
from relserve.call.relquery import Usage
from relserve.call.standing import Standing
from relserve.errors import Failure, FailureKind
from relserve.prices.price import HourPrice, Price
from relserve.session.habits import Habit
from relserve.session.sureness import BANDS, QUANTILES, Sureness
from relserve.session.workflows import Workflows

MAX_QUERIES, MAX_ERRORS = 10_000, 100_000


class Cascaded(NamedTuple):
    """A cascade's options, and the prompts of all rounds that it decided about."""

    options: Options
    num_prompts: int


@dataclass
class QueryRecord:
    """One relQuery, from submission on; the session fills it in."""

    rel_id: str
    function: str
    template: str
    model: str
    num_rows: int
    num_distinct: int = 0
    num_null: int = 0
    num_done: int = 0
    num_cached: int = 0  # of those done, without the engine
    num_failed: int = 0
    failed: Counter[FailureKind] = field(default_factory=Counter)  # the same, by why
    state: str = "running"  # then 'done', 'failed' or 'cancelled'
    started: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    seconds: float | None = None
    phases: Phases | None = None
    usage: Usage = Usage()
    error: str | None = None
    statement: int = 0
    num_rows_done: int = 0  # table rows whose prompt has its reply; NULL rows need none
    standing: Standing | None = None  # of those that wait to be admitted; None: nobody does
    habit: Habit | None = None  # None: its answers show none
    cascade: str | None = None  # what its cascade did; None: it is of none
    join_plan: str | None = None  # how the pairs of a join were asked; None: it has no such option
    cascaded: Cascaded | None = None  # of the large model of a cascade
    sureness: Sureness | None = None  # None: it is no decision
    price: Price | None = None  # None: unknown
    token_cost: float = 0.0  # US dollars, by a price of tokens

    @property
    def cost(self) -> float | None:
        """US dollars so far; None where nobody knows the price."""
        if isinstance(self.price, HourPrice):
            asked = self.num_done > self.num_cached
            return self.price.cost(engine_seconds(self)) if asked else 0.0
        return None if self.price is None else self.token_cost


@dataclass(frozen=True)
class ErrorRecord:
    """One prompt without an answer, and how many table rows are NULL for it."""

    rel_id: str
    function: str
    failure: Failure
    prompt: str
    num_rows: int
    statement: int = 0
    at: datetime = field(default_factory=lambda: datetime.now(timezone.utc))


QUERY_SCHEMA = pa.schema(
    [
        ("rel_id", pa.string()), ("function", pa.string()), ("template", pa.string()),
        ("model", pa.string()), ("state", pa.string()), ("started", pa.timestamp("us", "UTC")),
        ("rows", pa.int64()), ("distinct_prompts", pa.int64()), ("null_rows", pa.int64()),
        ("answered", pa.int64()), ("cached_answers", pa.int64()), ("failed_rows", pa.int64()),
        ("prompt_tokens", pa.int64()), ("cached_tokens", pa.int64()), ("output_tokens", pa.int64()),
        ("thought_tokens", pa.int64()), ("seconds", pa.float64()), ("waiting_s", pa.float64()),
        ("core_s", pa.float64()), ("tail_s", pa.float64()), ("error", pa.string()), ("statement", pa.int64()),
        ("waiting_rows", pa.int64()), ("estimate_s", pa.float64()), ("cost", pa.float64()),
        ("cascade", pa.string()), ("join_plan", pa.string()), *((band, pa.int64()) for band in BANDS),
        *((name, pa.float64()) for name in QUANTILES),
    ]
)  # fmt: skip

USAGE_SCHEMA = pa.schema(
    [
        ("day", pa.string()), ("user", pa.string()), ("model", pa.string()), ("function", pa.string()),
        ("requests", pa.int64()), ("prompt_tokens", pa.int64()), ("cached_tokens", pa.int64()),
        ("output_tokens", pa.int64()), ("cost", pa.float64()), ("unpriced_requests", pa.int64()),
    ]
)  # fmt: skip

ERROR_SCHEMA = pa.schema(
    [
        ("rel_id", pa.string()), ("function", pa.string()), ("kind", pa.string()),
        ("message", pa.string()), ("prompt", pa.string()), ("rows", pa.int64()),
        ("statement", pa.int64()), ("failed_at", pa.timestamp("us", "UTC")),
    ]
)  # fmt: skip


class History:
    """The latest relQueries and failed rows, oldest dropped first; safe for several threads.

    Args:
        usage: where tokens and money are added up by day; None: in memory.
        user: who asks.

    Attributes:
        workflows: the latest workflows that relQueries were a part of.
    """

    def __init__(self, usage: UsageBook | None = None, user: str = "") -> None:
        self.usage, self.user = usage or UsageBook(), user
        self.workflows = Workflows()
        self._lock = threading.Lock()
        self._queries: deque[QueryRecord] = deque(maxlen=MAX_QUERIES)
        self._errors: deque[ErrorRecord] = deque(maxlen=MAX_ERRORS)
        self._statements = itertools.count(1)
        self._told: set[str] = set()

    def keep_usage(self, usage: UsageBook | None, user: str) -> None:
        """Add up from now on in this book, as this user; None: as before."""
        if usage is not None:
            self.usage, self.user = usage, user

    def new_statement(self) -> int:
        """The number of a statement that asks something, 1 for the first."""
        return next(self._statements)

    def is_first(self, notice: str) -> bool:
        """Whether a notice has not been given yet; from now on it has."""
        with self._lock:
            is_first = notice not in self._told
            self._told.add(notice)
            return is_first

    def begin(self, record: QueryRecord) -> None:
        """Put a relQuery on record as running."""
        with self._lock:
            self._queries.append(record)

    def fail(self, error: ErrorRecord) -> None:
        """Put a failed row on record."""
        with self._lock:
            self._errors.append(error)

    def spend(self, record: QueryRecord, kind: str, counts: UsageCounts) -> None:
        """Add up what a relQuery used; see `UsageBook`."""
        self.usage.add(UsageKey(today(), self.user, record.model, record.function, kind), counts)

    def queries(self) -> list[QueryRecord]:
        """The relQueries on record, oldest first."""
        with self._lock:
            return list(self._queries)

    def errors(self) -> list[ErrorRecord]:
        """The failed rows on record, oldest first."""
        with self._lock:
            return list(self._errors)

    def query_rows(self) -> list[dict[str, Any]]:
        """One row a relQuery, columns of `QUERY_SCHEMA`."""
        return [_query_row(q) for q in self.queries()]

    def error_rows(self) -> list[dict[str, Any]]:
        """One row a failed prompt, columns of `ERROR_SCHEMA`."""
        return [
            dict(rel_id=e.rel_id, function=e.function, kind=str(e.failure.kind),
                 message=e.failure.message, prompt=e.prompt, rows=e.num_rows,
                 statement=e.statement, failed_at=e.at)
            for e in self.errors()
        ]  # fmt: skip

    def queries_table(self) -> pa.Table:
        """llm_queries(): see `query_rows`."""
        return pa.Table.from_pylist(self.query_rows(), QUERY_SCHEMA)

    def usage_rows(self) -> list[tuple[UsageKey, UsageCounts]]:
        """What the user asked, by day, model and function."""
        return [(key, counts) for key, counts in self.usage.by_day() if key.user == self.user]

    def usage_table(self) -> pa.Table:
        """llm_usage(): one row a day, user, model and function, columns of `USAGE_SCHEMA`."""
        return pa.Table.from_pylist([_usage_row(*each) for each in self.usage_rows()], USAGE_SCHEMA)

    def errors_table(self) -> pa.Table:
        """llm_errors(): see `error_rows`."""
        return pa.Table.from_pylist(self.error_rows(), ERROR_SCHEMA)


def _query_row(q: QueryRecord) -> dict[str, Any]:
    phases, standing = q.phases, q.standing
    return dict(
        rel_id=q.rel_id, function=q.function, template=q.template, model=q.model, state=q.state,
        started=q.started, rows=q.num_rows, distinct_prompts=q.num_distinct, null_rows=q.num_null,
        answered=q.num_done, cached_answers=q.num_cached, failed_rows=q.num_failed,
        prompt_tokens=q.usage.prompt_tokens,
        cached_tokens=q.usage.cached_tokens, output_tokens=q.usage.output_tokens,
        thought_tokens=q.usage.thought_tokens, seconds=q.seconds,
        waiting_s=phases.waiting_s if phases else None, core_s=phases.core_s if phases else None,
        tail_s=phases.tail_s if phases else None, error=q.error, statement=q.statement,
        waiting_rows=standing.num_waiting if standing else 0,
        estimate_s=standing.estimate_s if standing else None, cost=q.cost, cascade=q.cascade,
        join_plan=q.join_plan,
        **(q.sureness.by_band() if q.sureness else dict.fromkeys(BANDS)),
        **(q.sureness.quantiles() if q.sureness else dict.fromkeys(QUANTILES)),
    )  # fmt: skip


def _usage_row(key: UsageKey, counts: UsageCounts) -> dict[str, Any]:
    is_known = counts.unpriced < counts.requests or not counts.requests
    return dict(
        day=key.day, user=key.user, model=key.model, function=key.function, requests=counts.requests,
        prompt_tokens=counts.prompt_tokens, cached_tokens=counts.cached_tokens,
        output_tokens=counts.output_tokens, cost=counts.cost if is_known else None,
        unpriced_requests=counts.unpriced,
    )  # fmt: skip


def engine_seconds(q: QueryRecord) -> float:
    """How long it took, without the start of the engine where its own clock tells."""
    return sum(q.phases) if q.phases is not None else q.seconds or 0.0
