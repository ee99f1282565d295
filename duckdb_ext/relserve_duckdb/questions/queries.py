"""The questions of one text2sql_query() call: asked together, with failed ones on record."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from relserve.call.relquery import Usage, new_rel_id
from relserve.errors import EngineError, Failure, FailureKind, UsageError
from relserve.session.history import QueryRecord
from relserve.session.recorder import Recorder
from relserve_duckdb.questions.asker import Asker
from relserve_duckdb.udf.question_site import AskedQuestions

if TYPE_CHECKING:  # the pipeline is imported by the first question
    from relserve.text2sql.pipeline import QuestionOutcome


class Queries:
    """`Answers` for one connection.

    Args:
        asker: held by the connection alone: who answers is held by the functions in DuckDB's catalog, which
            would hold DuckDB's connection by it.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = weakref.ref(asker)

    def queries(
        self, asked: AskedQuestions, cancel: threading.Event, statement: int, runs: bool
    ) -> list[str | None]:
        """See `Answers.queries`.

        Raises:
            Text2SqlError: a question became no SQL, under on_error := 'raise'; or the engine failed.
            ModelError, UsageError, Cancelled: see `relserve.text2sql.pipeline.run`.
        """
        asker = self._asker()
        if asker is None:
            raise UsageError(f"{asked.site.function}() is answered by relserve's connection, which is gone")
        options, num_rows = asked.site.options, sum(asked.multiplicity)
        record = QueryRecord(
            new_rel_id(), asked.site.function, "{}", options.model or "", 0, statement=statement
        )
        recorder = Recorder(asker.session.history, record)
        try:
            with recorder.asking():
                recorder.add_rows(num_rows + asked.num_null, asked.num_null, len(asked.texts))
                outcomes = asker.ask(asked.texts, options, cancel, asked.evidence, runs)
                recorder.add_replies(len(asked.texts), 0, num_rows, Usage())
                for outcome, count in zip(outcomes, asked.multiplicity, strict=True):
                    _put_on_record(recorder, outcome, count, asked.site.on_error == "raise")
        finally:
            recorder.close()
        return [outcome.sql for outcome in outcomes]


def _put_on_record(recorder: Recorder, outcome: QuestionOutcome, num_rows: int, raises: bool) -> None:
    failure = outcome.failure
    if failure is None:
        return
    if raises or isinstance(failure.__cause__, EngineError):
        problem = f"{failure.problem} (question: {outcome.question!r})"
        raise failure.retold(problem) from failure.__cause__
    is_late = isinstance(failure.__cause__, TimeoutError)
    kind = FailureKind.DEADLINE if is_late else FailureKind.NO_SQL
    recorder.fail(outcome.question, num_rows, Failure(kind, str(failure)))
