"""The sides that benchmarks.analytics compares: ways to answer, each without this or that technique."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import TracebackType
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow as pa
from relserve_duckdb import Connection, attach
from relserve_duckdb.udf.macros import Functions
from relserve_duckdb.udf.site import ARROW_TYPES, read_chunk, sql_type_of

from relserve.call.answer_types import Answer
from relserve.call.relquery import CallSite, RelQuery, Reply, Submission
from relserve.call.values import to_arrow
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.session.folding import FoldedRows
from relserve.session.open_relquery import OpenRelQuery
from relserve.session.session import Session


class CountingEngine:
    """An engine that several sides share, seen by one of them.

    Attributes:
        num_prompts: that this side has asked.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self.model = engine, engine.model
        self.num_prompts = 0

    async def fingerprint(self) -> str | None:
        return await self.engine.fingerprint()

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        self.num_prompts += len(submission.prompts)
        async for replies in self.engine.answer(submission):
            yield replies

    async def close(self) -> None:
        """Leave the engine to the other sides."""


class AnalyticsSide:
    """One way to answer: how its database is opened, on a session of its own, and how its queries are run."""

    def __init__(
        self,
        engine: Engine,
        database: duckdb.DuckDBPyConnection,
        opened: Callable[[duckdb.DuckDBPyConnection, Session], Any],
        session: Callable[[Callable[[str | None], Engine]], Session] = Session,
        how: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.engine, self.how = CountingEngine(engine), how
        self.con = opened(database, session(lambda _: self.engine))

    @property
    def num_prompts(self) -> int:
        """Prompts asked so far."""
        return self.engine.num_prompts

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self.how():
            return list(self.con.execute(sql).fetchall())


class RowByRow:
    """Stands where what answers a connection's UDFs does: every row is asked alone, and waited for."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def call(self, function: str, columns: Sequence[Any]) -> pa.Array:
        """The UDF."""
        chunk = read_chunk(function, columns)
        kind = ARROW_TYPES[sql_type_of(function)]
        if chunk is None:
            return pa.nulls(len(columns[0]), kind)
        site, rows = chunk.site, map(chunk.row, range(len(chunk.prompts)))
        each = [RelQuery(site.function, site.binding, [row], site.options) for row in rows]
        return to_arrow([self.session.run(relquery).values[0] for relquery in each], kind)


class Unfolded(Session):
    """A session that folds nothing: every row of a relQuery is a prompt, all of a round sent together."""

    def open(self, site: CallSite, *args: Any, **kwargs: Any) -> Any:
        """See `Session.open`."""
        return UnfoldedRelQuery(super().open(site, *args, **kwargs), self.find_engine(site.options.model))


class UnfoldedRelQuery(AbstractContextManager["UnfoldedRelQuery"]):
    """Stands where a session's open relQuery does."""

    def __init__(self, opened: OpenRelQuery, engine: Engine) -> None:
        self.opened, self.engine, self.record = opened, engine, opened.record

    def ask(
        self, rows: Sequence[Sequence[Any]], multiplicity: Sequence[int] | None = None, **_: Any
    ) -> list[Answer]:
        """See `OpenRelQuery.ask`."""
        return self._asked(self.opened.site.prompts(rows), multiplicity or [1] * len(rows))

    def ask_folded(self, folded: FoldedRows, *_: Any, **__: Any) -> list[Answer]:
        """See `OpenRelQuery.ask_folded`."""
        return self._asked(folded.prompts, folded.num_rows_of)

    def _asked(self, prompts: Sequence[str | None], weights: Sequence[int]) -> list[Answer]:
        site = self.opened.site
        sent = [p for p, w in zip(prompts, weights, strict=True) for _ in range(w) if p is not None]
        submission = Submission(self.record.rel_id, sent, site.sampling, site.options.system)
        texts: dict[str, str | None] = {}

        async def collect() -> None:
            async for replies in self.engine.answer(submission):
                texts.update((sent[reply.index], reply.text) for reply in replies)

        spawn(collect()).result()
        return [Answer(None) if p is None else site.answer_type.parse(texts[p] or "") for p in prompts]

    def close(self, error: BaseException | None = None) -> None:
        """See `OpenRelQuery.close`."""
        self.opened.close(error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)


def ours(raw: duckdb.DuckDBPyConnection, session: Session, prefetch: bool = True) -> Connection:
    """A database with relserve's functions."""
    return attach(raw, session, progress=False, prefetch=prefetch)


def row_by_row(raw: duckdb.DuckDBPyConnection, session: Session) -> duckdb.DuckDBPyConnection:
    """A database with the row-by-row functions."""
    Functions(raw, RowByRow(session))  # type: ignore[arg-type]
    return raw


@contextmanager
def as_written() -> Iterator[None]:
    """Filters are asked in the order of the text, all rows of each, whatever the LIMIT."""
    with (
        patch("relserve_duckdb.rehearse.prefetch._begin_filter_plan", lambda *_: None),
        patch("relserve_duckdb.rehearse.prefetch.stops_early", lambda *_: False),
    ):
        yield


def sides(engine: Engine, database: Callable[[], duckdb.DuckDBPyConnection]) -> dict[str, AnalyticsSide]:
    """All that are compared, by name, each on a database of its own."""
    side = partial(AnalyticsSide, engine)
    return {
        "row by row": side(database(), row_by_row),
        "batch": side(database(), ours, Unfolded, as_written),
        "ours": side(database(), ours),
        "without folding": side(database(), ours, Unfolded),
        "without prefetch": side(database(), partial(ours, prefetch=False)),
        "filters as written": side(database(), ours, Session, as_written),
        "rows as they come": side(database(), ours, partial(Session, sorts=False)),
    }
