"""One llm call on a frame: checked, asked as one relQuery, answered as an Arrow column."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import duckdb
import pyarrow as pa
from relserve_duckdb.udf.site import ARROW_TYPES

from relserve.api import login_name, new_book, new_session
from relserve.call.answer_types import Answer
from relserve.call.decided import Decided
from relserve.call.options import FUNCTIONS, Options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.call.values import to_arrow
from relserve.call.verbatim import Quote
from relserve.engines.protocol import Engine
from relserve.errors import FailureKind, HabitWarning, RelserveWarning, RowsFailedWarning, UsageError
from relserve.frames.fold import Coded, Folded, encode, fold
from relserve.frames.picking import pick
from relserve.linking.schema import literal
from relserve.session.failures_text import failures_text
from relserve.session.history import History
from relserve.session.notices import habits
from relserve.session.progress import bar
from relserve.settings import Settings

HISTORY = History()  # of all dataframe calls of this process


class Source(Protocol):
    """A frame: columns by position, and a way to give a column back in its library's own form."""

    @property
    def names(self) -> Sequence[Any]:
        """The columns' names, of any type."""

    @property
    def num_rows(self) -> int:
        """How many rows it has."""

    def column(self, i: int) -> pa.Array | pa.ChunkedArray:
        """Column i in Arrow, with NULL for what the library takes as missing."""

    def wrap(self, answers: pa.Array, name: str) -> Any:
        """A column of answers, one a row."""


class Answered(NamedTuple):
    """A result, and what to warn of."""

    value: Any
    warnings: Sequence[RelserveWarning]


class AskedRows(NamedTuple):
    """The distinct rows of a frame with their answers, and the number under which they are on record."""

    folded: Folded
    answers: list[Answer]
    statement: int


@dataclass(frozen=True)
class Call:
    """What a user asked for, its options checked.

    Attributes:
        function: a name of `FUNCTIONS`.
        data: what the user gave: a frame, a series, a relation.
        columns: names of columns to use in order, None for those of the template.
        given: the options as given, those that were set.
        settings: as they were when it was made.
        engine, progress, cache: as in `relserve.connect`.
    """

    function: str
    data: Any
    template: str
    columns: Iterable[Any] | None
    name: str
    given: Mapping[str, Any]
    options: Options
    settings: Settings
    engine: Engine | None = None
    progress: bool | None = None
    cache: bool = True

    @cached_property
    def kind(self) -> pa.DataType:
        """The Arrow type of the answers."""
        return self.column_of([]).type

    def column_of(self, values: list[Any]) -> pa.Array:
        """Answers as a column of their type; of a function with a schema they are JSON until here."""
        spec = FUNCTIONS[self.function]
        kind = spec.answer_type(self.options)
        column = to_arrow(values, ARROW_TYPES[kind.sql_type])
        schema = kind.schema if isinstance(kind, (Decided, Quote)) else self.options.schema or spec.schema
        return typed(column, schema) if schema else column

    def picked(self, names: Sequence[Any]) -> list[int]:
        """The positions of the columns that the template uses, see `pick`."""
        return pick(Template.parse(self.template), names, self.columns)

    def ask(self, source: Source, cancel: threading.Event | None = None) -> Answered:
        """Answer every row of a frame.

        Raises:
            UsageError: the template does not fit the frame.
            EngineError, RowError, Cancelled: see `Session.run`.
        """
        asked = self.ask_rows(source, cancel)
        column = source.wrap(self.column_of_rows(asked), self.name)
        return Answered(column, self.warnings_of(asked, source.num_rows))

    def ask_rows(self, source: Source, cancel: threading.Event | None = None) -> AskedRows:
        """Answer every distinct row of a frame; raises as `ask`."""
        folded = fold([_encoded(source, i) for i in self.picked(source.names)])
        statement = HISTORY.new_statement()
        answers = self._answers(folded, source.num_rows, statement, cancel) if folded.rows else []
        return AskedRows(folded, answers, statement)

    def column_of_rows(self, asked: AskedRows) -> pa.Array:
        """The answers to all rows of the frame."""
        return asked.folded.spread(self.column_of([answer.value for answer in asked.answers]))

    def warnings_of(self, asked: AskedRows, num_rows: int) -> list[RelserveWarning]:
        """What to warn of, of so many rows."""
        failed = _failed(asked.answers, asked.folded.counts)
        text = failures_text(num_rows, failed, "relserve.llm_errors()")
        same = [HabitWarning(line) for line in habits(HISTORY, asked.statement)]
        return [*same, *([RowsFailedWarning(text)] if text else [])]

    def _answers(
        self, folded: Folded, num_rows: int, statement: int, cancel: threading.Event | None
    ) -> list[Answer]:
        template = Template.parse(self.template)
        rows, counts = folded.rows, folded.counts
        if nulls := num_rows - sum(counts):  # for the record: they are asked nothing
            rows, counts = [*rows, (None,) * template.num_inputs], [*counts, nulls]
        relquery = RelQuery(self.function, template.bind(template.num_inputs), rows, self.options, counts)
        HISTORY.keep_usage(new_book(self.settings), login_name())
        session = new_session(
            self.settings, model=self.options.model, engine=self.engine, history=HISTORY, cache=self.cache
        )
        shown = self.settings.progress if self.progress is None else self.progress
        with bar(shown) as progress:
            answers = session.run(relquery, cancel, progress, statement=statement).answers
        return answers[: len(folded.rows)]


def _failed(answers: Sequence[Answer], counts: Sequence[int]) -> Counter[FailureKind]:
    """Rows of the frame that failed, by why."""
    failed: Counter[FailureKind] = Counter()
    for answer, count in zip(answers, counts, strict=False):
        if answer.failure is not None:
            failed[answer.failure.kind] += count
    return failed


def warn(told: Sequence[RelserveWarning], stacklevel: int) -> None:
    """Issue warnings; `stacklevel` as for warnings.warn in the caller."""
    for each in told:
        warnings.warn(each, stacklevel=stacklevel + 1)


def _encoded(source: Source, i: int) -> Coded:
    try:
        return encode(source.column(i))
    except UnicodeEncodeError as error:
        what = f"column {source.names[i]!r} holds half a surrogate pair"
        raise UsageError(f"{what}, which UTF-8 cannot hold: {error.object[:80]!r}") from error
    except UsageError as error:
        raise UsageError(f"column {source.names[i]!r}: {error}") from error


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
