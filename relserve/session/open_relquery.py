"""A relQuery that is asked in rounds: one identity, one record, however many rounds it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self, cast

from relserve.cache.cache import AnswerCache
from relserve.cache.kept_pace import PaceFile
from relserve.call.answer_types import Answer
from relserve.call.decisions import Decision
from relserve.call.frame import frame_of
from relserve.call.rel_tag import WorkflowStep
from relserve.call.relquery import CallSite, Submission
from relserve.engines.protocol import Engine, Estimable
from relserve.errors import OptionError
from relserve.machine import traces
from relserve.machine.hardware import machine_key
from relserve.machine.kept_calibrations import KeptCalibration
from relserve.session.cached_answers import CachedAnswers
from relserve.session.calibrated_calls import calibration_of_call, calibrator_for
from relserve.session.capped_engine import CappedEngine
from relserve.session.caps import SpendingCap
from relserve.session.estimate import pace_of
from relserve.session.folding import FoldedRows, Grammars, Key, fold_rows
from relserve.session.foreign_tables import ForeignTables
from relserve.session.habits import habit_of
from relserve.session.history import History, QueryRecord
from relserve.session.prior import EmptyPrior
from relserve.session.progress import Progress
from relserve.session.recorder import Recorder
from relserve.session.reply_reader import Correction
from relserve.session.round import Enough, Round, Watch
from relserve.session.spending import Spending
from relserve.session.sureness import Sureness

NULL = Answer(None)  # of a row without a prompt


class OpenRelQuery:
    """One relQuery from its first round to its last; made by `Session.open`, safe for several threads.

    To the engine's scheduler all rounds are one relQuery, of as many rows as are announced. In the history
    it is one record: rows, prompts and tokens of all rounds, and the seconds in which a round was under way.
    Use it in a `with` statement, or `close` it.

    Attributes:
        record: as `llm_queries()` shows it.
    """

    def __init__(
        self,
        site: CallSite,
        find_engine: Callable[[], Engine],
        history: History,
        cache: AnswerCache | None,
        *,
        sorts: bool,
        cancel: threading.Event,
        statement: int,
        rel_id: str,
        remembers: bool,
        step: WorkflowStep | None = None,
        foreign_tables: ForeignTables | None = None,
        is_whole: Callable[[str], bool] | None = None,
        cache_salt: str | None = None,
        paces: PaceFile | None = None,
        shows_fitted: bool = True,
        spending: Spending | None = None,
    ) -> None:
        self.site, self._find_engine, self._cache = site, find_engine, cache
        engine = find_engine()
        self._first_engine: Engine | None = engine  # for the first round
        self._paces = None if engine.model == "scripted" else paces  # whose answers are made up at once
        self._pace_key = pace_key(engine) if self._paces is not None else ""
        self._step, self._is_whole, self._cache_salt = step, is_whole, cache_salt
        self._sorts, self._cancel, self._foreign_tables = sorts, cancel, foreign_tables
        self._known: dict[Key, Answer] | None = {} if remembers else None
        self._num_sent = 0  # prompts of all rounds that reached the engine
        self._lock = threading.Lock()
        self.record = QueryRecord(
            rel_id, site.function, site.binding.template.text, engine.model, 0, statement=statement,
            habit=habit_of(site, engine.model),
            price=None if spending is None else spending.prices.find(engine.model),
            sureness=Sureness() if isinstance(site.answer_type, Decision) else None,
        )  # fmt: skip
        self._recorder = Recorder(history, self.record, site.kind)
        self._caps = [] if spending is None else spending.caps(site.options, engine.model, statement)
        self._prior = EmptyPrior(site, self._recorder, cancel, self._capped)
        self._kept_calibration: KeptCalibration | None = None
        self._shows_fitted = shows_fitted

    def ask(
        self,
        rows: Sequence[Sequence[Any]],
        multiplicity: Sequence[int] | None = None,
        *,
        enough: Enough | None = None,
        announced: int | None = None,
        progress: Progress | None = None,
        may_split: Sequence[bool] | None = None,
        num_new_rows: int | None = None,
        grammars: Grammars | None = None,
    ) -> list[Answer]:
        """Answer one round of rows: render them, fold equal prompts, and ask these.

        Where the relQuery remembers, a prompt that an earlier round answered, or failed, is not asked again.

        Args:
            rows: one sequence of values a row.
            multiplicity: how many table rows each of `rows` stands for; None: one each.
            enough, announced, progress: see `ask_folded`.
            may_split: which rows the caller asks in parts if they are over the context: such a failure is
                then neither on record nor raised; None: no row.
            num_new_rows: table rows that this round adds to the record; None: those of `multiplicity`.
            grammars: what each row's answer must match, where its text has a grammar of its own; None: of no
                row. Two rows of one prompt with two grammars are two questions.

        Returns:
            Answers in the order of `rows`; a NULL input gives Answer(None).

        Raises:
            OptionError: there are grammars, and the call's answers have a type that has its own.
            EngineError, RowError, Cancelled: as of `ask_folded`.
        """
        if grammars is None:
            grammars = self.site.grammars(rows)
        else:
            _check_takes_grammars(self.site)
        folded = fold_rows(self.site.prompts(rows), multiplicity, may_split, grammars)
        answers = self.ask_folded(
            folded, rows, enough=enough, announced=announced, progress=progress, num_new_rows=num_new_rows
        )
        return folded.spread(answers, NULL)

    def ask_folded(
        self,
        folded: FoldedRows,
        inputs: Sequence[Sequence[Any]],
        *,
        enough: Enough | None = None,
        announced: int | None = None,
        progress: Progress | None = None,
        num_new_rows: int | None = None,
    ) -> list[Answer]:
        """Answer one round of rows that are rendered and folded already.

        Args:
            folded: their user messages.
            inputs: values of the first few rows, by which one sees what the call is about.
            enough: called with the answers of the distinct prompts of these rows after every batch; when it
                says so the rest is aborted in the engine, and those answers are UNASKED.
            announced: distinct prompts that the relQuery is expected to have in all; None: no more than
                were asked so far and in this round.
            progress: called with the record after every batch of replies.
            num_new_rows: table rows that this round adds to the record; None: those of `folded`.

        Returns:
            The answer of each distinct prompt.

        Raises:
            EngineError: the engine is not to be had, or tells no probabilities for min_confidence.
            OptionError: see `calibration_of_call` and `calibrator_for`.
            RowError: a row failed and on_error is 'raise'.
            Cancelled: the relQuery's cancel event was set.
        """
        if self._foreign_tables is not None:
            self._foreign_tables.look(self.site, inputs, self.record.statement)
        watch = Watch(self._cancel, progress, enough)
        with self._recorder.asking(), self._span() as span:
            return self._answers(folded, watch, announced, num_new_rows, span)

    @property
    def caps(self) -> Sequence[SpendingCap]:
        """What limits its spending; another relQuery of the same call may `take_caps`."""
        return self._caps

    def take_caps(self, caps: Sequence[SpendingCap]) -> None:
        """Spend under these caps, together with whose they are."""
        self._caps = list(caps)

    def close(self, error: BaseException | None = None) -> None:
        """No round follows; `error`: what ended the relQuery between two rounds. Further calls do nothing."""
        self._recorder.close(error)
        paces, self._paces = self._paces, None
        if paces is not None and (pace := pace_of(self.record)) is not None:
            paces.add(self._pace_key, pace)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)

    def _span(self) -> AbstractContextManager[traces.Span]:
        """The span of a round."""
        record = self.record
        return traces.span("relserve.relquery", {
            "relserve.rel_id": record.rel_id, "relserve.function": record.function,
            "relserve.statement": record.statement, "gen_ai.request.model": record.model,
        })  # fmt: skip

    def _answers(
        self,
        folded: FoldedRows,
        watch: Watch,
        announced: int | None,
        num_new_rows: int | None,
        span: traces.Span,
    ) -> list[Answer]:
        """The answer of each distinct prompt."""
        submission = submission_of(self.site, self.record.rel_id, folded, self._cache_salt)
        step = self._step
        engine = self._take_engine()
        ends_s = None if step is None else step.ends_s
        cached = cached_answers(self._cache, engine, submission, self.site, ends_s)
        correction = Correction(
            self._prior.find(engine, self._cache, submission, step, self._rows_to_send),
            calibrator_for(self._calibration(), self.site, engine, self._cancel, ends_s, self._shows_fitted),
        )
        one = Round(
            self.site, engine, folded, self._known, cached, self._recorder, watch, self._is_whole, correction,
            self._capped,
        )
        num_rows = sum(folded.num_rows_of) + folded.num_null if num_new_rows is None else num_new_rows
        self._recorder.add_rows(num_rows, folded.num_null, len(one.todo))
        span.put({"relserve.rows": num_rows, "relserve.distinct_prompts": len(one.todo)})
        try:
            one.take_known()
            one.take_cached()
            if one.todo and not one.suffices():
                if self._sorts:
                    one.todo.sort(key=folded.prompts.__getitem__)
                part = submission.part(one.todo, self._rows_to_send(len(one.todo), announced))
                one.ask(part if step is None else part.as_step(step), ends_s)
                with self._lock:
                    self._num_sent -= one.num_over_context
        finally:
            span.put({"relserve.kept_answers": one.num_cached, "relserve.failed_rows": one.num_failed_rows})
        return cast(list[Answer], one.answers)  # all are there now

    def _capped(self, engine: Engine) -> Engine:
        """The engine, which sends what the caps on spending allow."""
        return CappedEngine(engine, self._caps, self.record.price) if self._caps else engine

    def _calibration(self) -> KeptCalibration | None:
        """The call's, read once: whoever fits another one meanwhile changes no row of this relQuery."""
        with self._lock:
            if self._kept_calibration is None:
                self._kept_calibration = calibration_of_call(self.site)
            return self._kept_calibration

    def _take_engine(self) -> Engine:
        """The engine of a round; one that was closed since the round before has a successor."""
        with self._lock:
            engine, self._first_engine = self._first_engine, None
        return engine or self._find_engine()

    def _rows_to_send(self, num_now: int, announced: int | None = None) -> int:
        """How many rows the engine will have been given when all that is announced has been asked.

        What the cache had is not sent; of prompts yet to come none is expected there.
        """
        with self._lock:
            self._num_sent += num_now
            return self._num_sent + max(0, (announced or 0) - self.record.num_distinct)


def pace_key(engine: Engine) -> str:
    """Whose pace it is: the model's, and this machine's where it runs here."""
    # isinstance would ask for the values of an Estimable's properties, for which a client of a shared engine
    # imports all that a local one is made of
    runs_here = hasattr(type(engine), Estimable.find_cost.__name__)
    return f"{engine.model} {machine_key()}" if runs_here else engine.model


def submission_of(
    site: CallSite, rel_id: str, folded: FoldedRows, cache_salt: str | None = None
) -> Submission:
    """Distinct prompts of a call as an engine gets them."""
    return Submission(
        rel_id, folded.prompts, site.sampling, site.options.system, kind=site.kind, grammars=folded.grammars,
        slo=site.options.slo, cache_salt=cache_salt, turns=site.turns, frame=frame_of(site.binding.template),
    )  # fmt: skip


def _check_takes_grammars(site: CallSite) -> None:
    if site.answer_type.grammar is not None:
        raise OptionError(
            f"{site.function}() has answers of a type, and rows with grammars of their own; take the "
            "grammars, or choices and the like, away, or ask with llm(), whose answers are texts"
        )


def cached_answers(
    cache: AnswerCache | None,
    engine: Engine,
    submission: Submission,
    site: CallSite,
    ends_s: float | None = None,
) -> CachedAnswers:
    """What the cache has of a submission; nothing where the call wants to know how sure the model is."""
    return CachedAnswers(cache if site.options.min_confidence is None else None, engine, submission, ends_s)
