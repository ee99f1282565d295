"""`relserve.evaluate`: how often an llm call is right on labelled rows, by model and by wording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.types as kinds

from relserve.api import find_engine
from relserve.call.answer_types import Answer
from relserve.call.options import FUNCTIONS, ROW_FUNCTIONS
from relserve.call.relquery import Usage
from relserve.call.template import text_of
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine, Startable
from relserve.errors import RelserveWarning, UsageError
from relserve.evaluation.graded import GradedRow
from relserve.frames.call import HISTORY, AskedRows, Call, Source, warn
from relserve.frames.evaluation_result import EvaluatedRun, Evaluation
from relserve.frames.functions import call_of
from relserve.frames.labelled_sample import LabelledSample, label_column, sample_of, whole
from relserve.frames.labels import LabelReader, fitting_function, label_reader
from relserve.session.history import QueryRecord
from relserve.session.progress import DELAY_S
from relserve.session.waiting_line import waiting_line

_NULL = Answer(None)  # to a row with a NULL in it


def evaluate(
    data: Any,
    template: str | Sequence[str],
    *,
    label: Any,
    function: str | None = None,
    model: str | Sequence[str] | None = None,
    columns: Iterable[Any] | None = None,
    field: str | None = None,
    rows: int | None = None,
    seed: int = 0,
    engine: Engine | None = None,
    progress: bool | None = None,
    cache: bool = False,
    **options: Any,
) -> Evaluation:
    """Ask an llm function about rows whose right answers are known, and count how often it is right.

    Rows without a label are left out. A NULL answer counts as wrong. Each model is started before its first
    row is timed.

    Args:
        data: pandas or polars frame, pyarrow table, DuckDB relation.
        template: what to ask, as of `relserve.llm_filter`; several are compared.
        label: the column of right answers, by its name, or as values, one a row.
        function: 'llm_filter' and so on; None: by the label's type (BOOLEAN llm_filter, whole numbers
            llm_int, numbers llm_double, dates llm_date, at most 20 different texts llm_classify).
        model: a model's name, or several to compare; None: the default model.
        columns: as of `relserve.llm_filter`.
        field: of llm_extract's answers, the one that is compared with the label.
        rows: how many labelled rows to ask, drawn at random by `seed`; None: all.
        engine: an engine object to use instead of looking a model up.
        progress: show a progress bar; None shows it on terminals and in notebooks.
        cache: use kept answers, and keep new ones; they take no time and no tokens.
        options: of the function. With min_confidence=0 the model tells how sure it is of each answer.

    Raises:
        UsageError: the call is wrong, or a label is nothing that the function can answer.
        ModelError, EngineError, RowError: as of `relserve.llm_filter`.
    """
    source = whole(data)
    column = label_column(source, label)
    asked = {name: value for name, value in options.items() if value is not None}
    if function is None:
        function, asked = fitting_function(column, asked)
    elif function not in ROW_FUNCTIONS:
        raise UsageError(f"no function {function!r} can be evaluated; there are: {', '.join(ROW_FUNCTIONS)}")
    own = {"columns": columns, "engine": engine, "progress": progress, "cache": cache}
    calls = _calls(function, data, template, model, {**asked, **own})
    told: list[RelserveWarning] = []
    for call in calls:  # a template that does not fit is told before anything is asked
        told += shown_labels(call, source, column)
    comparing = _Comparing.of(calls[0], field)
    sample = sample_of(source, comparing.reader.read_all(column.to_pylist()), rows, seed)
    runs: list[EvaluatedRun] = []
    for call, used in zip(calls, _engines(calls), strict=True):
        _start(call, used)
        done, said = _run(len(runs) + 1, call, sample, comparing)
        runs.append(done)
        told += said
    warn(told, stacklevel=2)
    return Evaluation(function, asked, len(column) - sample.num_labelled, tuple(runs))


def _calls(function: str, data: Any, template: Any, model: Any, given: Mapping[str, Any]) -> list[Call]:
    """Each wording with each model.

    Raises:
        UsageError: there is none; or as of `call_of`.
    """
    models, templates = _several("model", model), _several("template", template)
    return [call_of(function, data, each, {**given, "model": name}) for name in models for each in templates]


def shown_labels(call: Call, source: Source, labels: pa.Array | pa.ChunkedArray) -> list[RelserveWarning]:
    """A warning for each column of the template that holds the labels themselves."""
    texts = labels.to_pylist()
    return [
        RelserveWarning(
            f"the question {call.template!r} shows the model the right answers in {{{source.names[i]}}}: "
            "how often it is right then says nothing; leave that column out of the question"
        )
        for i in call.picked(source.names)
        if source.column(i).type == labels.type and source.column(i).to_pylist() == texts
    ]


def _several(name: str, given: Any) -> list[Any]:
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    if not found:
        raise UsageError(f"{name}= is an empty list, so there is nothing to evaluate")
    return found


def _engines(calls: Iterable[Call]) -> list[Engine]:
    """The engine of each call; a name that leads to no model is told before any is asked."""
    return list(map(engine_of, calls))


def engine_of(call: Call) -> Engine:
    """What answers a call."""
    return call.engine or find_engine(call.options.model)


def _start(call: Call, engine: Engine) -> None:
    """Start what can be started, so that it is not timed with the rows."""
    if not isinstance(engine, Startable):
        return
    is_quiet = (call.settings.progress if call.progress is None else call.progress) is False
    with nullcontext() if is_quiet else waiting_line("waiting for the engine", DELAY_S):
        spawn(engine.start()).result()


class _Comparing(NamedTuple):
    """What of the answers is compared with labels, and how.

    Attributes:
        field: of answers that are a STRUCT; None: the whole answer.
    """

    reader: LabelReader
    field: str | None

    @classmethod
    def of(cls, call: Call, field: str | None) -> _Comparing:
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


def _run(
    number: int, call: Call, sample: LabelledSample, comparing: _Comparing
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
