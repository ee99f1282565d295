"""Running a user's text or relation: check its llm calls, rehearse and ask, hand it to DuckDB."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import duckdb

from relserve.session.notices import warn_of_constant
from relserve_duckdb.explain.explain import has_calls_row, with_calls_row
from relserve_duckdb.rehearse.filter_shape import FilterShape, find_filter_shape
from relserve_duckdb.rehearse.prefetch import Rehearsal, prefetch
from relserve_duckdb.text.calls import are_independent, are_tangled, by_name, check_call, has_no_column
from relserve_duckdb.text.indirect_calls import IndirectCalls, is_word
from relserve_duckdb.text.statements import Statement, read_select, split
from relserve_duckdb.udf.macros import Functions
from relserve_duckdb.udf.scope import PlanningOnly, Scope
from relserve_duckdb.user.relation import Reading
from relserve_duckdb.user.variables import Variables

log = logging.getLogger(__name__)

# what gives other rows, or has an effect, each time it is read; a rehearsal would read it once more
_ONCE = re.compile(
    r"(?i)\b(random|uuid|uuidv4|uuidv7|gen_random_uuid|nextval|setval|setseed|currval|sleep_ms|write_log)\s*\("
    r"|\b(tablesample|using\s+sample)\b|/dev/(stdin|fd)"
)


@dataclass
class Runner:
    """Runs texts and relations on one connection.

    Attributes:
        prefetches: whether to rehearse at all.
        one_shot: names of registered things that can be read only once.
    """

    raw: duckdb.DuckDBPyConnection
    scope: Scope
    functions: Functions
    indirect_calls: IndirectCalls
    prefetches: bool
    one_shot: set[str] = field(default_factory=set)
    _helper: duckdb.DuckDBPyConnection | None = None

    def execute(self, variables: Variables, query: Any, parameters: Any) -> None:
        """Run every statement of a text; parameters belong to the last one.

        Raises:
            UsageError: a call is wrong; nothing of the text has run then.
            RelserveError: the engine failed, or a row failed under on_error := 'raise'.
        """
        statements = self.check(query, parameters)
        for statement in statements:
            values = parameters if statement is statements[-1] else None
            self._run(variables, statement, values, partial(self.raw.execute, parameters=values))
        if statements and has_calls_row(self, statements[-1]):
            rows = self.raw.fetchall()
            self.raw.execute(*with_calls_row(self, variables, statements[-1], parameters, rows))

    def sql(self, variables: Variables, query: Any, kwargs: dict[str, Any]) -> tuple[Any, Reading]:
        """As `DuckDBPyConnection.sql`: the relation of a text's last statement, and how to read it."""
        statements = self.check(query, kwargs.get("params"))
        if not statements:  # nothing but a comment
            return variables.call(self.raw.sql, query, **kwargs), Reading.PREFETCH
        *first, last = statements
        for statement in first:
            self._run(variables, statement, None, self.raw.execute)
        if not last.reads:
            self.raw.sql("SELECT 1").fetchall()  # raises, as DuckDB does, while an unread result is open
            run = partial(self.raw.sql, **kwargs)
            return self._run(variables, last, kwargs.get("params"), run), Reading.PREFETCH
        relation = self._plan(partial(variables.call, self.raw.sql, last.runnable, **kwargs), kept=False)
        if has_calls_row(self, last):
            rows = relation.fetchall()
            text, values = with_calls_row(self, variables, last, kwargs.get("params"), rows)
            relation = self.raw.sql(text, **{**kwargs, "params": values})
        return relation, Reading.PLAN if last.plans_only else self.reading_of(variables, last.text)

    def reading_of(self, variables: Variables, text: str) -> Reading:
        """How to read a relation over this text."""
        return Reading.ONCE if self._used_up(variables, text) else Reading.PREFETCH

    def perform(self, relation: duckdb.DuckDBPyRelation, reading: Reading, run: Callable[[], Any]) -> Any:
        """Prefetch what a relation will ask, then run what reads it."""
        self.scope.forget()
        if reading is Reading.PLAN:
            return self._plan(run, kept=False)
        if self.prefetches and reading is Reading.PREFETCH:
            self._prefetch_relation(relation)
            self.scope.check_cancel()
        return run()

    def check(self, query: Any, parameters: Any = None) -> list[Statement]:
        """The statements of a text, their calls checked.

        Raises:
            UsageError: a call is wrong.
        """
        statements = split(self.raw, query)
        for statement in statements:
            for call in statement.calls:
                check_call(call, by_name(parameters) if statement is statements[-1] else {})
                if has_no_column(call):
                    warn_of_constant(call.function)
        return statements

    def close(self) -> None:
        if self._helper is not None:
            self._helper.close()

    def _run(
        self, variables: Variables, statement: Statement, parameters: Any, run: Callable[..., Any]
    ) -> Any:
        self.scope.forget()
        if statement.plans_only:
            only = partial(variables.call, run, statement.runnable)
            result = self._plan(only, kept=not statement.reads)
        else:
            self._prefetch_text(variables, statement, parameters)
            self.scope.check_cancel()
            with self.scope.changes.by(id(self.scope), statement.text):
                result = variables.call(run, statement.runnable)
        if self.indirect_calls.is_changed_by(statement.text):
            self.indirect_calls.learn(self.raw, statement.text)
        return result

    def _plan(self, run: Callable[[], Any], kept: bool) -> Any:
        """Run what plans only.

        Of some constant calls (in CASE WHEN) DuckDB insists to know the value: it is asked where the plan is
        kept, as by PREPARE, and NULL where it is only shown.
        """
        try:
            with self.scope.planning():
                return run()
        except duckdb.Error as error:
            if PlanningOnly.__name__ not in str(error):
                raise
        if kept:
            return run()
        with self.scope.collecting():
            return run()

    def build_rehearsal(self, variables: Variables, statement: Statement, parameters: Any) -> Rehearsal | str:
        """How to rehearse a statement, or why it cannot be, in words."""
        text = statement.rehearsal
        if reason := self._why_not(statement):
            return reason
        if names := self._used_up(variables, statement.text):
            return f"{', '.join(names)} can be read only once"
        con = self._stage()
        shape = self._shape(statement, parameters) if con is self.raw and statement.is_verbatim else None
        try:
            used = con.extract_statements(text)[0].named_parameters
            values = _some_of(parameters, statement, used)
        except (duckdb.Error, LookupError) as error:
            return str(error)

        def plan() -> str:
            rows = variables.call(con.execute, f"EXPLAIN (FORMAT JSON) {text}", values).fetchall()
            return str(rows[0][1])

        def batches() -> Iterable[Any]:
            relation = variables.call(con.sql, text, params=values)
            return relation.to_arrow_reader() if relation is not None else ()

        def evaluate(query: str, values: list[Any]) -> list[tuple[Any, ...]]:
            return list(con.execute(query, [values]).fetchall())

        return Rehearsal(plan, batches, self._is_independent(statement), shape, evaluate)

    def build_relation_rehearsal(
        self, relation: duckdb.DuckDBPyRelation, statement: Statement
    ) -> Rehearsal | str:
        """How to rehearse a relation, whose text is `statement`, or why it cannot be, in words."""
        if reason := self._why_not(statement):
            return reason
        if in_transaction(self.raw.sql):
            return "an error while it is read would end the open transaction"
        plan = partial(relation.explain, format="json")
        shape = self._shape(statement, None)
        independent = self._is_independent(statement)
        return Rehearsal(plan, relation.to_arrow_reader, independent, shape, self._evaluate)

    def _prefetch_text(self, variables: Variables, statement: Statement, parameters: Any) -> None:
        text = statement.rehearsal
        if text and self.prefetches and self.indirect_calls.mentions(text):
            self._prefetch(self.build_rehearsal(variables, statement, parameters))

    def _prefetch_relation(self, relation: duckdb.DuckDBPyRelation) -> None:
        text = relation.sql_query()
        if self.indirect_calls.mentions(text):
            self._prefetch(self.build_relation_rehearsal(relation, read_select(text)))

    def _prefetch(self, rehearsal: Rehearsal | str) -> None:
        if isinstance(rehearsal, str):
            log.debug("no prefetch: %s", rehearsal)
        else:
            prefetch(self.scope, rehearsal)

    def _evaluate(self, query: str, values: list[Any]) -> list[tuple[Any, ...]]:
        # unlike execute it leaves an unread result alone
        return list(self.raw.sql(query, params=[values]).fetchall())

    def _shape(self, statement: Statement, parameters: Any) -> FilterShape | None:
        if self.indirect_calls.hidden(statement.text):
            return None
        return find_filter_shape(statement.root, statement.calls, by_name(parameters))

    def _is_independent(self, statement: Statement) -> bool:
        if statement.root is None or not statement.calls or self.indirect_calls.hidden(statement.text):
            return False
        return are_independent(statement.calls, statement.root)

    def _why_not(self, statement: Statement) -> str:
        """Why a statement must not be read twice, "" where it may."""
        text = statement.text
        if found := _ONCE.search(self.indirect_calls.behind(text)):
            return f"{found[0].rstrip('(')} may give other rows when read again"
        if are_tangled(statement.calls):
            return "a guard decides between calls that look alike"
        return ""

    def _used_up(self, variables: Variables, text: str) -> list[str]:
        """What the text reads that can be read only once."""
        lower = self.indirect_calls.behind(text).lower()
        return [name for name in (*variables.one_shot(), *self.one_shot) if is_word(name.lower(), lower)]

    def _stage(self) -> duckdb.DuckDBPyConnection:
        """Where to rehearse a text: on a connection aside while the user's transaction is open.

        Any error aborts an open transaction; a rehearsal that fails must not do that to the user. Aside it
        may miss rows that the transaction has not committed; those are asked while the statement runs.
        """
        if not in_transaction(self.raw.execute):
            return self.raw
        if self._helper is None:
            self._helper = self.raw.cursor()
            self.functions.create_macros(self._helper)
        return self._helper


def in_transaction(run: Callable[[str], Any]) -> bool:
    """Whether a connection is inside BEGIN .. COMMIT: only then two statements share a transaction.

    Args:
        run: the connection's `execute`, which ends an unread result, or its `sql`, which refuses to.
    """
    one, other = (run("SELECT txid_current()").fetchall() for _ in range(2))
    return bool(one == other)


def _some_of(parameters: Any, statement: Statement, names: set[str]) -> Any:
    """The parameters that the rehearsal uses.

    Raises:
        LookupError: `?` parameters of which it uses only some.
    """
    if not parameters or names == statement.parameter_names:
        return parameters
    if "?" in statement.rehearsal:
        raise LookupError("the rehearsal uses some of the ? parameters")
    named = by_name(parameters)
    return {name: named[name] for name in names}
