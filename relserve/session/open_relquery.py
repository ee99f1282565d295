"""A relQuery that is asked in rounds: one identity, one record, however many rounds it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Unpack, cast

from relserve.cache.cache import AnswerCache
from relserve.cache.kept_pace import PaceFile
from relserve.call.answer_types import Answer
from relserve.call.decisions import Decision
from relserve.call.frame import frame_of
from relserve.call.rel_tag import WorkflowStep
from relserve.call.relquery import CallSite, Submission
from relserve.engines.protocol import Engine, Estimable
from relserve.errors import Failure
from relserve.machine import traces
from relserve.machine.hardware import machine_key
from relserve.machine.kept_calibrations import KeptCalibration
from relserve.session.cached_answers import CachedAnswers
from relserve.session.calibrated_calls import calibrations_of_call, calibrator_for
from relserve.session.capped_engine import CappedEngine
from relserve.session.estimate import pace_of
from relserve.session.folding import FoldedRows, Key
from relserve.session.foreign_tables import ForeignTables
from relserve.session.habits import habit_of
from relserve.session.history import History, QueryRecord
from relserve.session.in_rounds import HowAsked, RelQueryInRounds
from relserve.session.prior import EmptyPrior
from relserve.session.recorder import Recorder
from relserve.session.reply_reader import Correction
from relserve.session.round import Round, Watch, failed_row
from relserve.session.spending import Spending
from relserve.session.sureness import Sureness


class OpenRelQuery(RelQueryInRounds):
    """One relQuery from its first round to its last; made by `Session.open`, safe for several threads.

    To the engine's scheduler all rounds are one relQuery, of as many rows as are announced. In the history
    it is one record: rows, prompts and tokens of all rounds, and the seconds in which a round was under way.
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
        shows_others: bool = True,
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
        self.caps = [] if spending is None else spending.caps(site.options, engine.model, statement)
        self._prior = EmptyPrior(site, self._recorder, cancel, self._capped)
        self._kept_calibrations: Mapping[str, KeptCalibration] | None = None
        self._shows_others = shows_others

    def ask_folded(
        self, folded: FoldedRows, inputs: Sequence[Sequence[Any]], **how: Unpack[HowAsked]
    ) -> list[Answer]:
        if self._foreign_tables is not None:
            self._foreign_tables.look(self.site, inputs, self.record.statement)
        watch = Watch(self._cancel, how.get("progress"), how.get("enough"))
        with self._recorder.asking(), self._span() as span:
            return self._answers(folded, watch, how.get("announced"), how.get("num_new_rows"), span)

    def leave(self, folded: FoldedRows, failure: Failure) -> None:
        self._recorder.add_rows(sum(folded.num_rows_of), 0, len(folded.prompts))
        for prompt, num_rows in zip(folded.prompts, folded.num_rows_of, strict=True):
            self._recorder.fail(prompt, num_rows, failure)
            if self.site.options.on_error == "raise":
                raise failed_row(self.site, prompt, failure)

    def close(self, error: BaseException | None = None) -> None:
        self._recorder.close(error)
        paces, self._paces = self._paces, None
        if paces is not None and (pace := pace_of(self.record)) is not None:
            paces.add(self._pace_key, pace)

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
            calibrator_for(self._calibrations(), self.site, engine, self._cancel, ends_s, self._shows_others),
        )
        one = Round(
            self.site,
            engine,
            folded,
            self._known,
            cached,
            self._recorder,
            watch,
            self._is_whole,
            correction,
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
        """The engine, which sends what the caps on spending allow.

        A user's tokens are claimed first, as at a server's engine: else a row that waits for tokens and has
        room below a cap, and one that waits for room and has the tokens, wait for each other.
        """
        if not self.caps:
            return engine
        capped = partial(CappedEngine, caps=self.caps, price=self.record.price)
        around = None if getattr(engine, "asks_before_sending", False) else getattr(engine, "around", None)
        return capped(engine) if around is None else around(capped)

    def _calibrations(self) -> Mapping[str, KeptCalibration]:
        """The call's, read once: whoever fits another one meanwhile changes no row of this relQuery."""
        with self._lock:
            if self._kept_calibrations is None:
                self._kept_calibrations = calibrations_of_call(self.site, self._shows_others)
            return self._kept_calibrations

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


def cached_answers(
    cache: AnswerCache | None,
    engine: Engine,
    submission: Submission,
    site: CallSite,
    ends_s: float | None = None,
) -> CachedAnswers:
    """What the cache has of a submission; nothing where the call wants to know how sure the model is."""
    return CachedAnswers(cache if site.options.min_confidence is None else None, engine, submission, ends_s)
