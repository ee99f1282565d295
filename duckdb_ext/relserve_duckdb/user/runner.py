"""A text's or relation's way: parse it, check its llm calls, plan the rehearsal, ask, hand it to DuckDB."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa

from relserve.errors import Cancelled, RelserveError, UsageError
from relserve.machine import traces
from relserve.text2sql.guard.limits import limits_in, without_words
from relserve.text2sql.guard.watchdog import Watchdog
from relserve_duckdb.explain.explainer import Explainer
from relserve_duckdb.explain.explanation import Explanation
from relserve_duckdb.fresh.calls import mentions_calls
from relserve_duckdb.fresh.refresh import FreshColumns
from relserve_duckdb.late.rewriter import LateCalls
from relserve_duckdb.questions.expander import Expander
from relserve_duckdb.rehearse.prefetch import prefetch
from relserve_duckdb.rehearse.reading import Reading
from relserve_duckdb.rehearse.rehearsal import CannotRehearse, Rehearsal
from relserve_duckdb.rehearse.rehearsal_builder import RehearsalBuilder
from relserve_duckdb.text.call_limits import TEXT2SQL_QUERY
from relserve_duckdb.text.index_calls import REFUSED, indexes_calls
from relserve_duckdb.text.indirect_calls import IndirectCalls
from relserve_duckdb.text.question_calls import TEXT2SQL
from relserve_duckdb.text.statements import Statement, read_select, split
from relserve_duckdb.udf.client import Variables
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.plan_only import plan_only
from relserve_duckdb.udf.statement_parser import parse
from relserve_duckdb.user.error_mapping import behind
from relserve_duckdb.user.watched_results import watched_batches, watched_rows

log = logging.getLogger(__name__)


@dataclass
class Runner:
    """Runs texts and relations on one connection.

    Attributes:
        prefetches: whether to rehearse at all.
        only_reads: whether the last text has written nothing, so that the rest of its result may be left.
        held_by: what ends the statement at the limits of SQL in it; None: there are none.
    """

    raw: duckdb.DuckDBPyConnection
    state: ConnectionState
    indirect_calls: IndirectCalls
    rehearsals: RehearsalBuilder
    explainer: Explainer
    expander: Expander
    late_calls: LateCalls
    prefetches: bool
    only_reads: bool = False
    held_by: Watchdog | None = None

    @property
    def fresh_columns(self) -> FreshColumns:
        return FreshColumns(self.raw, self.state, self.indirect_calls)

    def execute(self, variables: Variables, query: Any, parameters: Any) -> None:
        """Run every statement of a text; parameters belong to the last one.

        Raises:
            UsageError: a call is wrong; nothing of the text has run then.
            RelserveError: the engine failed, or a row failed under on_error := 'raise'.
        """
        statements = parse(self.raw, self.state, query, parameters)
        self.only_reads = all(statement.reads for statement in statements)
        if not statements:  # nothing but a comment
            return
        *first, last = statements
        if first:
            with suppress(duckdb.Error):
                self.raw.abort()  # an unread result, beside which no relation is made
        kept = self._run_first(variables, first, is_wanted=not last.gives_rows)
        with self._traced(last.text, bool(last.questions)):
            last, parameters = self._refreshed(variables, last, parameters)
            statement, values = self.expander.expanded(last, parameters)
            statement = self.late_calls.rewritten(variables, statement, values, ends_result=True)
            self._run(variables, statement, values, partial(self.raw.execute, parameters=values))
        if self.explainer.has_own_rows(statement):
            self.raw.fetchall()  # DuckDB's own form of the plan; the statement is right
            self.raw.execute(*self.explainer.rows(variables, statement, values))
        if kept is not None:
            self._give_rows_of(kept)

    def sql(self, variables: Variables, query: Any, kwargs: dict[str, Any]) -> tuple[Any, Reading]:
        """As `DuckDBPyConnection.sql`: the relation of a text's last statement, and how to read it."""
        statements = parse(self.raw, self.state, query, kwargs.get("params"))
        if not statements:  # nothing but a comment
            return variables.call(self.raw.sql, query, **kwargs), Reading.PREFETCH
        *first, last = statements
        kept = self._run_first(variables, first, is_wanted=not last.gives_rows)
        with self._traced(last.text, bool(last.questions)):
            last, parameters = self._refreshed(variables, last, kwargs.get("params"))
            last, parameters = self.expander.expanded(last, parameters)
            last = self.late_calls.rewritten(variables, last, parameters)
        if "params" in kwargs:
            kwargs = {**kwargs, "params": parameters}
        if not last.reads:
            self.raw.sql("SELECT 1").fetchall()  # raises, as DuckDB does, while an unread result is open
            run = partial(self.raw.sql, **kwargs)
            with self._traced(last.text):
                result = self._run(variables, last, parameters, run)
            return (result, Reading.PREFETCH) if kept is None else (kept, Reading.ONCE)
        relation = plan_only(self.state, partial(variables.call, self.raw.sql, last.runnable, **kwargs))
        if self.explainer.has_own_rows(last):
            relation.fetchall()
            text, values = self.explainer.rows(variables, last, parameters)
            relation = self.raw.sql(text, **{**kwargs, "params": values})
        return relation, Reading.PLAN if last.plans_only else self.reading_of(variables, last.text)

    def _run_first(self, variables: Variables, statements: Sequence[Statement], is_wanted: bool) -> Any:
        """Run the statements before a text's last one, each to its end.

        Args:
            is_wanted: whether the last statement gives no rows, so that those of one before are the text's.

        Returns:
            The rows of the last one here that gives any, as a relation over them; None: they are not wanted.
        """
        kept = None
        for each in statements:
            with self._traced(each.text, bool(each.questions)):
                each, _ = self._refreshed(variables, each, None)
                statement, _ = self.expander.expanded(each, None)
                statement = self.late_calls.rewritten(variables, statement, None)
                rows = self._run(variables, statement, None, self.raw.sql, _at_once)
            kept = rows if is_wanted and each.gives_rows else kept
        return kept

    def explain(self, variables: Variables, query: Any, parameters: Any, sample: int) -> Explanation:
        """See `Explainer.explain`; of a column that is made or refreshed, what that would ask."""
        for statement in parse(self.raw, self.state, query, parameters) if mentions_calls(str(query)) else ():
            if (asking := self.fresh_columns.asking(statement, parameters)) is not None:
                query, parameters = asking, None
        return self.explainer.explain(variables, query, parameters, sample)

    def _refreshed(
        self, variables: Variables, statement: Statement, parameters: Any
    ) -> tuple[Statement, Any]:
        """What runs instead of a statement that makes or refreshes a column, which is done; else itself."""

        def ask(text: str) -> None:
            self._run(variables, split(self.raw, text)[0], None, self.raw.execute)

        explain = partial(self.explainer.explain, variables, parameters=None)
        instead = self.fresh_columns.expanded(statement, parameters, ask, explain)
        return (statement, parameters) if instead is None else (split(self.raw, instead)[0], None)

    def _give_rows_of(self, kept: duckdb.DuckDBPyRelation) -> None:
        """Let the connection's result be rows that are in memory."""
        relserve_kept_rows = kept  # noqa: F841 (DuckDB finds it by name)
        with suppress(duckdb.CatalogException):  # variables are not looked at: python_enable_replacements
            self.raw.execute("FROM relserve_kept_rows")

    def runnable(self, query: Any) -> Any:
        """What to hand to DuckDB for a whole text, which is checked; raises as `parse_checked` does."""
        statements = [self.expander.expanded(each, None)[0] for each in parse(self.raw, self.state, query)]
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
            self.start(text)
            self._look(text)
            with self.watching():
                if reading is Reading.PLAN:
                    return plan_only(self.state, run)
                explain = partial(self.explainer.explain_relation, relation, reading)
                self._look_at_spending(read_select(text), explain)
                if self.prefetches and reading is Reading.PREFETCH:
                    self._prefetch_relation(relation)
                    self.state.run.check_cancel()
                return self.watched(run())

    def start(self, text: str) -> None:
        """A statement of this text starts; it is held to the limits of the SQL of questions in it."""
        self.state.start_statement()
        self.held_by = self.watchdog(text)
        self.state.run.watchdog = None if self.held_by is None else weakref.ref(self.held_by)

    def watchdog(self, text: str) -> Watchdog | None:
        """What holds a text to the limits of the SQL of questions in it; None: there is no such SQL."""
        limits = limits_in(self.indirect_calls.with_definitions(text))
        return None if limits is None else Watchdog(self.raw, limits, interrupt=self.interrupt)

    def watching(self) -> AbstractContextManager[None]:
        """DuckDB works for the statement inside; raises LimitError where that takes too much."""
        return nullcontext() if self.held_by is None else self.held_by.watching()

    def watched(self, result: Any) -> Any:
        """What DuckDB gave for the statement that runs; rows that come later are held to its limits, too."""
        if self.held_by is None:
            return result
        if isinstance(result, pa.RecordBatchReader):
            return pa.RecordBatchReader.from_batches(result.schema, watched_batches(result, self.held_by))
        return watched_rows(result, self.held_by) if isinstance(result, Generator) else result

    def interrupt(self) -> None:
        """Stop what runs, from another thread."""
        self.raw.interrupt()
        self.rehearsals.interrupt()

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
        self,
        variables: Variables,
        statement: Statement,
        parameters: Any,
        run: Callable[..., Any],
        ended: Callable[[Any], Any] = lambda result: result,
    ) -> Any:
        """Run one statement, what it will ask being asked first.

        Args:
            run: takes what is to run, and gives DuckDB's result.
            ended: brings that result to its end.
        """
        self.start(statement.text)
        self._look(statement.text)
        if indexes_calls(statement.text, partial(self.indirect_calls.calling_macros, self.raw)):
            raise UsageError(REFUSED)
        with self.watching():
            if statement.plans_only:
                result = plan_only(
                    self.state,
                    lambda: ended(variables.call(run, statement.runnable)),
                    kept=not statement.reads,
                )
            else:
                explain = partial(self.explainer.explain, variables, statement.text, parameters)
                self._look_at_spending(statement, explain)
                self._prefetch_text(variables, statement, parameters)
                self.state.run.check_cancel()
                with self.state.changing(statement.text):
                    result = ended(variables.call(run, statement.runnable))
        self.indirect_calls.learn(self.raw, statement.text)
        return result

    def _look_at_spending(self, statement: Statement, explain: Callable[[], Explanation]) -> None:
        """See that what a statement will likely ask is within the caps; raises as `Spending.check`."""
        spending = self.state.session.spending
        whole = f"{statement.text}\n{self.indirect_calls.calling_definitions(statement.text)}".lower()
        if not spending.looks_at(whole) or not self._may_ask(statement):
            return
        try:
            calls = explain().calls
        except (duckdb.InterruptException, RelserveError):
            raise
        except (duckdb.Error, pa.ArrowException) as error:  # running it will say so
            log.debug("not estimated: %s", error)
            return
        spending.check([call.foreseen for call in calls if call.foreseen is not None])

    def _look(self, text: str) -> None:
        """Where text2sql_query() is called, look what questions are about, while nothing runs yet."""
        if TEXT2SQL_QUERY in f"{text}\n{self.indirect_calls.calling_definitions(text)}".lower():
            self.expander.asker.look()

    def _may_ask(self, statement: Statement) -> bool:
        """Whether running a statement may ask; SQL that has taken a question's place asks nothing more."""
        definitions = self.indirect_calls.calling_definitions(statement.text)
        if statement.root is not None and not statement.calls and not definitions:
            return False  # the word stands in a name, a comment or a literal
        whole = without_words(f"{statement.text}\n{definitions}").lower()
        return "llm" in whole or TEXT2SQL in whole

    def _prefetch_text(self, variables: Variables, statement: Statement, parameters: Any) -> None:
        variables, statement, parameters = self.rehearsals.executed(variables, statement, parameters)
        if statement.rehearsal and self.prefetches and self._may_ask(statement):
            self._prefetch(partial(self.rehearsals.of_statement, variables, statement, parameters))

    def _prefetch_relation(self, relation: duckdb.DuckDBPyRelation) -> None:
        statement = read_select(relation.sql_query())
        if self._may_ask(statement):
            self._prefetch(partial(self.rehearsals.of_relation, relation, statement))

    def _prefetch(self, build: Callable[[], Rehearsal]) -> None:
        try:
            rehearsal = build()
        except CannotRehearse as reason:
            log.debug("no prefetch: %s", reason)
        else:
            prefetch(self.state, rehearsal)


def _at_once(result: Any) -> Any:
    """A relation with its rows, which are made now."""
    return result.materialize() if isinstance(result, duckdb.DuckDBPyRelation) else result
