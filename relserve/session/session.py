"""The session: asks an engine what a statement, a dataframe call or a workflow wants to know."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from relserve.cache.cache import AnswerCache
from relserve.cache.kept_pace import PaceFile
from relserve.call.hosts import BATCH
from relserve.call.rel_tag import WorkflowStep
from relserve.call.relquery import CallSite, RelQuery, Submission, new_rel_id
from relserve.call.slo import Slo
from relserve.engines.protocol import Engine, Estimable
from relserve.errors import EngineError, RelserveError
from relserve.policies.model.linear import CostModel
from relserve.session.batches import SentBatches
from relserve.session.cached_answers import ask_counted
from relserve.session.estimate import Estimate, LikelyAsked, estimate
from relserve.session.folding import FoldedRows, fold_rows
from relserve.session.foreign_tables import ForeignTables
from relserve.session.history import History, QueryRecord
from relserve.session.in_rounds import RelQueryInRounds
from relserve.session.likely_spending import SpendingBasis
from relserve.session.model_hosts import ModelHosts
from relserve.session.open_relquery import OpenRelQuery, cached_answers, pace_key, submission_of
from relserve.session.pending_replies import PendingReplies
from relserve.session.prior import of_empty
from relserve.session.progress import Progress
from relserve.session.result import Result
from relserve.session.round import Enough
from relserve.session.spending import Foreseen, Spending
from relserve.session.sureness import Sureness


@dataclass
class Session:
    """Runs relQueries on engines; safe for several threads.

    Attributes:
        find_engine: gives the engine of a model name (None: the default model).
        history: where relQueries and failed rows are recorded.
        cache: where answers are kept from one process to the next; None: nowhere.
        foreign_tables: looks at what calls that name no model are about; None: nobody does.
        sorts: send prompts in the order of their texts, so that those with a common beginning follow each
            other and the prefix cache serves it; off, in the order of the rows. Answers are the same.
        deadline_s: seconds after which rows without an answer fail, of calls and workflows that say nothing
            of a deadline; None: any time.
        slo: limits of the tokens of calls that give none; None: none.
        model_hosts: the servers that calls in SQL may name.
        cache_salt: see `Submission`.
        paces: where it is kept how long relQueries took, for EXPLAIN in other processes; None: nowhere.
        spending: what models cost, and the caps on that.
        batches: those that were sent.
        keeps_calibrations: whether its SQL may keep calibrations and fresh columns, which belong to whoever
            runs it.
    """

    find_engine: Callable[[str | None], Engine]
    history: History = field(default_factory=History)
    cache: AnswerCache | None = None
    foreign_tables: ForeignTables | None = None
    sorts: bool = True
    deadline_s: float | None = None
    slo: Slo | None = None
    model_hosts: ModelHosts = field(default_factory=ModelHosts)
    cache_salt: str | None = None
    paces: PaceFile | None = None
    keeps_calibrations: bool = True
    spending: Spending = field(default_factory=Spending)
    batches: SentBatches = field(default_factory=SentBatches)

    def batches_table(self) -> pa.Table:
        """llm_batches(): see `SentBatches.table`."""
        return self.batches.table(self.find_engine)

    def run(
        self,
        relquery: RelQuery,
        cancel: threading.Event | None = None,
        progress: Progress | None = None,
        enough: Enough | None = None,
        statement: int | None = None,
        step: WorkflowStep | None = None,
    ) -> Result:
        """Answer a relQuery in one round.

        Args:
            relquery: what to ask.
            cancel: when set, the requests are aborted in the engine and Cancelled is raised.
            progress, enough: see `OpenRelQuery.ask`.
            statement: number of the SQL statement that asks; None: a new one.
            step: of the workflow that it is a part of; at its deadline rows without an answer fail. The
                relQuery's own is counted from now; the sooner one holds.

        Returns:
            Answers in input order; a NULL input gives Answer(None).

        Raises:
            ModelError: its model is not to be had.
            EngineError, RowError, Cancelled: see `OpenRelQuery.ask`.
        """
        if self.spending.looks_ahead(relquery.options):
            self._look_ahead(relquery, cancel)
        with self.open(
            relquery.site, cancel, statement, relquery.rel_id, remembers=False, step=step
        ) as opened:
            answers = opened.ask(
                relquery.rows, relquery.multiplicity, enough=enough, progress=progress,
                grammars=relquery.grammars,
            )  # fmt: skip
        return Result(answers)

    def _look_ahead(self, relquery: RelQuery, cancel: threading.Event | None) -> None:
        """Refuse what would exceed a cap; raises as `Spending.check`."""
        site, grammars = relquery.site, relquery.grammars or relquery.site.grammars(relquery.rows)
        folded = fold_rows(relquery.prompts(), relquery.multiplicity, grammars=grammars)
        self.spending.check(self._foreseen(site, folded, cancel))

    def _foreseen(self, site: CallSite, folded: FoldedRows, cancel: threading.Event | None) -> list[Foreseen]:
        return [
            Foreseen(asked.function, asked.options, each.model, each.likely, asked.options.join != "pairs")
            for asked, each in self.estimates(site, folded, cancel)
        ]

    def open(
        self,
        site: CallSite,
        cancel: threading.Event | None = None,
        statement: int | None = None,
        rel_id: str | None = None,
        remembers: bool = True,
        step: WorkflowStep | None = None,
        is_whole: Callable[[str], bool] | None = None,
    ) -> RelQueryInRounds:
        """Begin a relQuery that is asked in rounds.

        Args:
            site: the call, without its rows.
            cancel: when set, the requests are aborted in the engine and a round ends with Cancelled.
            statement: number of the SQL statement that asks; None: a new one.
            rel_id: None: a new one.
            remembers: keep prompts and answers until the end, so that no later round asks them again; off
                where the caller sees to that.
            step: as of `run`.
            is_whole: whether a text that max_tokens ended says all that is wanted, or has failed; None: any
                does. It has nothing to say where a grammar tells.

        Raises:
            ModelError: its model is not to be had.
        """
        if site.options.slo is None and self.slo is not None:
            site = replace(site, options=replace(site.options, slo=self.slo))
        cancel = threading.Event() if cancel is None else cancel
        statement = self.history.new_statement() if statement is None else statement
        if site.options.join != "pairs":
            return self._open_join(site, cancel, statement, rel_id, remembers, self._in_time(site, step))
        shared: dict[str, Any] = dict(
            sorts=self.sorts, foreign_tables=self.foreign_tables, cancel=cancel, statement=statement,
            rel_id=new_rel_id() if rel_id is None else rel_id, remembers=remembers,
            step=self._in_time(site, step), is_whole=is_whole, cache_salt=self.cache_salt, paces=self.paces,
            shows_others=self.keeps_calibrations, spending=self.spending,
        )  # fmt: skip
        find_engine = partial(self.find_engine, site.options.model)
        if site.options.cascade is None:
            return OpenRelQuery(site, find_engine, self.history, self.cache, **shared)
        from relserve.session.cascaded import CascadedRelQuery, proxy_site  # and numpy

        proxy = self.open(proxy_site(site), cancel, statement, remembers=remembers, step=step)
        try:
            return CascadedRelQuery(site, proxy, find_engine, self.history, self.cache, **shared)
        except RelserveError as error:
            proxy.close(error)
            raise

    def _open_join(
        self,
        site: CallSite,
        cancel: threading.Event,
        statement: int,
        rel_id: str | None,
        remembers: bool,
        step: WorkflowStep | None,
    ) -> RelQueryInRounds:
        """Begin a relQuery of pairs that are not asked one by one; see `open`."""
        from relserve.session.joined import JoinedRelQuery, pairs_site  # and numpy

        pairs = self.open(pairs_site(site), cancel, statement, rel_id, remembers, step)
        return JoinedRelQuery(site, pairs, lambda other: self.open(other, cancel, statement, step=step))

    def _in_time(self, site: CallSite, step: WorkflowStep | None) -> WorkflowStep | None:
        """The step of a relQuery that begins now, with the sooner of its own deadline and the call's."""
        seconds = site.options.deadline
        if seconds is None and step is None:
            seconds = self.deadline_s
        if seconds is None:
            return step
        ends_s = time.monotonic() + seconds
        if step is None:
            return WorkflowStep(None, None, ends_s)
        return step._replace(ends_s=ends_s if step.ends_s is None else min(step.ends_s, ends_s))

    def submit(self, submission: Submission, model: str | None = None) -> PendingReplies:
        """Have given prompts answered, without folding, cache, answer types or record; returns at once.

        Args:
            submission: with the workflow and stage that it belongs to, and its deadline.
            model: None: the default model.

        Raises:
            ModelError: the model is not to be had.
            EngineError: this process was forked from one that used engines.
        """
        if submission.slo is None:
            submission = replace(submission, slo=self.slo)
        submission = replace(submission, cache_salt=self.cache_salt)
        return PendingReplies(self.find_engine(model), submission)

    def find_cost(self, model: str | None = None) -> CostModel | None:
        """The calibrated cost model of a model on this machine; None without one, or for a server's model.

        Raises:
            ModelError: the model is not to be had.
        """
        engine = self.find_engine(model)
        return engine.find_cost() if isinstance(engine, Estimable) else None

    def estimates(
        self, site: CallSite, folded: FoldedRows, cancel: threading.Event | None = None
    ) -> list[tuple[CallSite, Estimate]]:
        """What asking these rows of a call would likely cost; a cascade is two calls.

        Raises: as `estimate`.
        """
        if site.options.cascade is None:
            return [(site, self.estimate(site, folded, cancel))]
        from relserve.session.cascade_estimate import likely_asked  # and numpy
        from relserve.session.cascaded import plain_site, proxy_rows, proxy_site

        asked = likely_asked(site, len(folded.prompts), self.history)
        proxy, large = proxy_site(site), plain_site(site)
        return [
            (proxy, self.estimate(proxy, proxy_rows(site, folded), cancel)),
            (large, self.estimate(large, folded, cancel, asked)),
        ]

    def sample(
        self, calls: Sequence[tuple[CallSite, FoldedRows]], num: int, cancel: threading.Event | None = None
    ) -> list[Sureness | None]:
        """How sure the model is of each call's answers: asks so many of its prompts, evenly spread.

        None where the answers have no probabilities, or come from batches. Raises as `Spending.check` and
        `OpenRelQuery.ask`, but for rows that fail.
        """
        samples = [self._sample_of(site, folded, num) for site, folded in calls]
        asked = [each for each in samples if each is not None]
        self.spending.check([call for each in asked for call in self._foreseen(*each, cancel)])
        statement = self.history.new_statement()
        found: list[Sureness | None] = []
        for each in samples:
            if each is None:
                found.append(None)
                continue
            site, folded = each
            with self.open(site, cancel, statement, remembers=False) as opened:
                opened.ask_folded(folded, [])
                found.append(opened.record.sureness)
        return found

    def _sample_of(self, site: CallSite, folded: FoldedRows, num: int) -> tuple[CallSite, FoldedRows] | None:
        """The call that tells probabilities, and the rows that it is asked about; None: it is not sampled."""
        from relserve.session.cascaded import weighed_site  # and numpy

        weighed = weighed_site(site)
        if weighed is None or self.find_engine(weighed.options.model).model.startswith(BATCH):
            return None
        num_all = len(folded.prompts)
        num = min(num, num_all)
        part = folded.part([i * num_all // num for i in range(num)])
        return replace(weighed, options=replace(weighed.options, on_error="null")), part

    def estimate(
        self,
        site: CallSite,
        folded: FoldedRows,
        cancel: threading.Event | None = None,
        cascade: LikelyAsked | None = None,
    ) -> Estimate:
        """What asking these rows of a call would cost; asks nothing and starts no engine.

        Args:
            cascade: how many of the prompts one likely asks; kept answers are among these. None: all.

        Raises:
            ModelError: the call's model is not to be had.
            Cancelled: `cancel` was set while a server was asked which model it has.
        """
        engine, rel_id = self.find_engine(site.options.model), new_rel_id()
        submission = submission_of(site, rel_id, folded, self.cache_salt)
        if self.sorts:
            submission = submission.part(folded.order, None)
        record = QueryRecord(
            rel_id, site.function, site.binding.template.text, engine.model,
            sum(folded.num_rows_of) + folded.num_null, num_distinct=len(folded.prompts),
            num_null=folded.num_null,
        )  # fmt: skip
        empty = of_empty(submission, site)
        num_cached, num_empty, in_batches = None, 0, set[int]()
        with suppress(EngineError):  # a server that is not up does not tell which model it has
            cancel = cancel or threading.Event()
            cached = cached_answers(self.cache, engine, submission, site).known(cancel)
            num_cached = None if cached is None else len(cached)
            if empty.prompts:
                num_empty = len(cached_answers(self.cache, engine, empty, site).known(cancel) or ())
            in_batches = ask_counted(engine, submission, cancel) - (cached or set())
        if cascade is not None:
            some = [number * cascade.num_all // cascade.num for number in range(cascade.num)]
            submission = submission.part(some, None)
            record.num_rows = round(record.num_rows * cascade.num / max(1, cascade.num_all))
            record.num_distinct = cascade.num
            num_cached = None if num_cached is None else min(cascade.num, num_cached)
        num_known = min((num_cached or 0) + len(in_batches), len(submission.prompts))
        kept = self.paces.find(pace_key(engine)) if self.paces is not None else ()
        asked = replace(submission, prompts=[*submission.prompts, *empty.prompts])
        num_kept = None if num_cached is None and not in_batches else num_known + num_empty
        seen = self.history.usage.of_kind(engine.model, site.kind)
        num_sent = len(asked.prompts) - num_known - num_empty
        spending = SpendingBasis(asked, num_sent, seen, self.spending.prices.find(engine.model))
        found = estimate(engine, asked, record, self.history, num_kept, kept, spending)
        return replace(found, num_cached=num_cached, asked=cascade)
