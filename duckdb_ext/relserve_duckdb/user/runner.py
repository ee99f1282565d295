"""A text's or relation's way: parse it, check its llm calls, plan the rehearsal, ask, hand it to DuckDB."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb

from relserve.errors import Cancelled
from relserve.machine import traces
from relserve_duckdb.explain.explainer import Explainer
from relserve_duckdb.questions.expander import Expander
from relserve_duckdb.rehearse.prefetch import prefetch
from relserve_duckdb.rehearse.reading import Reading
from relserve_duckdb.rehearse.rehearsal import CannotRehearse, Rehearsal
from relserve_duckdb.rehearse.rehearsal_builder import RehearsalBuilder
from relserve_duckdb.text.call_limits import TEXT2SQL_QUERY
from relserve_duckdb.text.indirect_calls import IndirectCalls
from relserve_duckdb.text.statements import Statement, read_select
from relserve_duckdb.udf.client import Variables
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.plan_only import plan_only
from relserve_duckdb.user.error_mapping import behind

log = logging.getLogger(__name__)


@dataclass
class Runner:
    """Runs texts and relations on one connection.

    Attributes:
        prefetches: whether to rehearse at all.
        only_reads: whether the last text has written nothing, so that the rest of its result may be left.
    """

    raw: duckdb.DuckDBPyConnection
    state: ConnectionState
    indirect_calls: IndirectCalls
    rehearsals: RehearsalBuilder
    explainer: Explainer
    expander: Expander
    prefetches: bool
    only_reads: bool = False

    def execute(self, variables: Variables, query: Any, parameters: Any) -> None:
        """Run every statement of a text; parameters belong to the last one.

        Raises:
            UsageError: a call is wrong; nothing of the text has run then.
            RelserveError: the engine failed, or a row failed under on_error := 'raise'.
        """
        statements = self.parse(query, parameters)
        self.only_reads = all(statement.reads for statement in statements)
        for each in statements:
            given = parameters if each is statements[-1] else None
            with self._traced(each.text, bool(each.questions)):
                statement, values = self.expander.expanded(each, given)
                self._run(variables, statement, values, partial(self.raw.execute, parameters=values))
            if each is statements[-1] and self.explainer.has_own_rows(statement):
                self.raw.fetchall()  # DuckDB's own form of the plan; the statement is right
                self.raw.execute(*self.explainer.rows(variables, statement, values))

    def sql(self, variables: Variables, query: Any, kwargs: dict[str, Any]) -> tuple[Any, Reading]:
        """As `DuckDBPyConnection.sql`: the relation of a text's last statement, and how to read it."""
        statements = self.parse(query, kwargs.get("params"))
        if not statements:  # nothing but a comment
            return variables.call(self.raw.sql, query, **kwargs), Reading.PREFETCH
        *first, last = statements
        for each in first:
            with self._traced(each.text, bool(each.questions)):
                statement, _ = self.expander.expanded(each, None)
                self._run(variables, statement, None, self.raw.execute)
        with self._traced(last.text, bool(last.questions)):
            last, parameters = self.expander.expanded(last, kwargs.get("params"))
        if last.stand_in is not None and "params" in kwargs:
            kwargs = {**kwargs, "params": parameters}
        if not last.reads:
            self.raw.sql("SELECT 1").fetchall()  # raises, as DuckDB does, while an unread result is open
            run = partial(self.raw.sql, **kwargs)
            with self._traced(last.text):
                return self._run(variables, last, parameters, run), Reading.PREFETCH
        relation = plan_only(self.state, partial(variables.call, self.raw.sql, last.runnable, **kwargs))
        if self.explainer.has_own_rows(last):
            relation.fetchall()
            text, values = self.explainer.rows(variables, last, parameters)
            relation = self.raw.sql(text, **{**kwargs, "params": values})
        return relation, Reading.PLAN if last.plans_only else self.reading_of(variables, last.text)

    def parse(self, query: Any, parameters: Any = None) -> list[Statement]:
        """The statements of a text, their calls checked; raises as `parse_checked` does."""
        return self.explainer.parse(query, parameters)

    def runnable(self, query: Any) -> Any:
        """What to hand to DuckDB for a whole text, which is checked; raises as `parse_checked` does."""
        statements = [self.expander.expanded(each, None)[0] for each in self.parse(query)]
        if all(statement.stand_in is None for statement in statements):
            return query
        return "".join(statement.text for statement in statements)

    def reading_of(self, variables: Variables, text: str) -> Reading:
        """How to read a relation over this text."""
        return Reading.ONCE if self.rehearsals.one_shot_in(variables, text) else Reading.PREFETCH

    def perform(self, relation: duckdb.DuckDBPyRelation, reading: Reading, run: Callable[[], Any]) -> Any:
        """Prefetch what a relation will ask, then run what reads it."""
        text = relation.sql_query()
        self.state.session.model_hosts.note(text)
        with self._traced(text):
            self.state.start_statement()
            self._look(text)
            if reading is Reading.PLAN:
                return plan_only(self.state, run)
            if self.prefetches and reading is Reading.PREFETCH:
                self._prefetch_relation(relation)
                self.state.run.check_cancel()
            return run()

    @contextmanager
    def _traced(self, text: str, asks: bool = False) -> Iterator[None]:
        """A statement's span, which is dropped where the statement neither asks nor fails.

        What a result asks that is still read comes below it as well, after its end.

        Args:
            asks: it has questions, which are asked before it runs.
        """
        if not (traces.is_on() and self.indirect_calls.mentions(text)):
            yield
            return
        before = self.state.run
        with traces.span("relserve.statement", {"db.system.name": "duckdb"}, self._interrupted) as span:
            try:
                yield
            finally:
                num_calls = 0 if self.state.run is before else self.state.run.num_calls
                span.put({"relserve.llm_calls": num_calls})
            if not (num_calls or asks):
                span.drop()
        if span.is_dropped and self.state.run is not before:
            self.state.run.trace = traces.carried()  # nobody would see what is below a dropped one

    def _interrupted(self, error: Exception) -> bool:
        interrupts = (Cancelled, duckdb.InterruptException)
        return isinstance(error, interrupts) or isinstance(behind(error, self.state), interrupts)

    def _run(
        self, variables: Variables, statement: Statement, parameters: Any, run: Callable[..., Any]
    ) -> Any:
        self.state.start_statement()
        self._look(statement.text)
        if statement.plans_only:
            only = partial(variables.call, run, statement.runnable)
            result = plan_only(self.state, only, kept=not statement.reads)
        else:
            self._prefetch_text(variables, statement, parameters)
            self.state.run.check_cancel()
            with self.state.changing(statement.text):
                result = variables.call(run, statement.runnable)
        if self.indirect_calls.is_changed_by(statement.text):
            self.indirect_calls.learn(self.raw, statement.text)
        return result

    def _look(self, text: str) -> None:
        """Where text2sql_query() is called, look what questions are about, while nothing runs yet."""
        if TEXT2SQL_QUERY in f"{text}\n{self.indirect_calls.calling_definitions(text)}".lower():
            self.expander.asker.look()

    def _prefetch_text(self, variables: Variables, statement: Statement, parameters: Any) -> None:
        text = statement.rehearsal
        if text and self.prefetches and self.indirect_calls.mentions(text):
            self._prefetch(partial(self.rehearsals.of_statement, variables, statement, parameters))

    def _prefetch_relation(self, relation: duckdb.DuckDBPyRelation) -> None:
        text = relation.sql_query()
        if self.indirect_calls.mentions(text):
            self._prefetch(partial(self.rehearsals.of_relation, relation, read_select(text)))

    def _prefetch(self, build: Callable[[], Rehearsal]) -> None:
        try:
            rehearsal = build()
        except CannotRehearse as reason:
            log.debug("no prefetch: %s", reason)
        else:
            prefetch(self.state, rehearsal)
