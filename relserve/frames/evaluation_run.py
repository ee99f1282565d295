"""One call asked about a sample of labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.types as kinds

from relserve.call.answer_types import Answer
from relserve.call.options import FUNCTIONS
from relserve.call.relquery import Usage
from relserve.call.template import text_of
from relserve.errors import RelserveWarning, UsageError
from relserve.evaluation.graded import GradedRow
from relserve.frames.call import HISTORY, AskedRows, Call
from relserve.frames.evaluation_result import EvaluatedRun
from relserve.frames.labelled_sample import LabelledSample
from relserve.frames.labels import LabelReader, label_reader
from relserve.session.history import QueryRecord

_NULL = Answer(None)  # to a row with a NULL in it


class Comparing(NamedTuple):
    """What of the answers is compared with labels, and how.

    Attributes:
        field: of answers that are a STRUCT; None: the whole answer.
    """

    reader: LabelReader
    field: str | None

    @classmethod
    def of(cls, call: Call, field: str | None) -> Comparing:
        """For the answers to a call.

        Raises:
            UsageError: they have no such field, or several and none is named.
        """
        kind = call.kind
        if field is not None:
            names = [kind.field(i).name for i in range(kind.num_fields)] if kinds.is_struct(kind) else []
            if field not in names:
                raise UsageError(
                    f"the answers of {call.function}() have no field {field!r}; they have: {names}"
                )
            kind = kind.field(field).type
        elif kinds.is_struct(kind) and kind.num_fields == 1:
            kind, field = kind.field(0).type, kind.field(0).name
        return cls(label_reader(kind, FUNCTIONS[call.function].answer_type(call.options)), field)

    def values(self, answers: pa.Array) -> list[Any]:
        """A column of answers as they are compared."""
        found = answers.to_pylist()
        if self.field is not None:
            found = [None if value is None else value[self.field] for value in found]
        return [None if value is None else self.reader.read(value) for value in found]


def run(
    number: int, call: Call, sample: LabelledSample, comparing: Comparing
) -> tuple[EvaluatedRun, list[RelserveWarning]]:
    """Ask the rows of the sample; gives what to warn of, too.

    Raises:
        EngineError, RowError, Cancelled: see `Call.ask`.
    """
    asked = call.ask_rows(sample)
    rows = _graded(sample, asked, comparing.values(call.column_of_rows(asked)))
    record = next((each for each in HISTORY.queries() if each.statement == asked.statement), None)
    done = EvaluatedRun(
        number, call.template, comparing.reader.measure, comparing.reader.classes, tuple(rows),
        tuple(_inputs(call, sample, asked)), *_cost(call, record),
    )  # fmt: skip
    return done, call.warnings_of(asked, sample.num_rows)


def _graded(sample: LabelledSample, asked: AskedRows, values: Sequence[Any]) -> list[GradedRow]:
    answers = [asked.answers[at] if at >= 0 else _NULL for at in asked.folded.places.tolist()]
    return [
        GradedRow(place, label, value, answer.confidence, answer.failure and answer.failure.message)
        for place, label, value, answer in zip(sample.places, sample.labels, values, answers, strict=True)
    ]


def _inputs(call: Call, sample: LabelledSample, asked: AskedRows) -> list[str | None]:
    """What stood in the placeholders of each row; None where a NULL did."""
    names = [str(sample.names[i]) for i in call.picked(sample.names)]
    texts = []
    for row in asked.folded.rows:
        parts = [text_of(value) for value in row]
        named = (f"{name}: {part}" for name, part in zip(names, parts, strict=True))
        texts.append(parts[0] if len(parts) == 1 else "; ".join(named))
    return [texts[at] if at >= 0 else None for at in asked.folded.places.tolist()]


def _cost(call: Call, record: QueryRecord | None) -> tuple[str, int, Usage, float]:
    """The model, prompts, tokens and seconds of a run; nothing was asked where no record is."""
    if record is None:
        return call.options.model or "", 0, Usage(), 0.0
    return record.model, record.num_distinct, record.usage, record.seconds or 0.0
