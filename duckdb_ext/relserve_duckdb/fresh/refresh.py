"""Making a column and keeping it fresh: only inputs without an answer are asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb

from relserve.errors import ForbiddenError, UsageError
from relserve.linking.schema import literal, quoted
from relserve.session.cached_answers import ask_fingerprint
from relserve.session.history import QueryRecord
from relserve.text2sql.catalog.relations import in_transaction
from relserve_duckdb.explain.explanation import Explanation
from relserve_duckdb.fresh.calls import FreshCall, is_call, read_call
from relserve_duckdb.fresh.expression import ColumnExpression, read_expression
from relserve_duckdb.fresh.memory import (
    RememberedColumn,
    find_column,
    hash_of,
    make_memory,
    names_of,
    remember,
)
from relserve_duckdb.fresh.tables import OwnTable, find_table
from relserve_duckdb.text.calls import by_name
from relserve_duckdb.text.indirect_calls import USERS, IndirectCalls
from relserve_duckdb.text.statements import Statement
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.macros import NAMES
from relserve_duckdb.udf.plan_only import plan_only

_INPUTS, _NEW = "temp.main.relserve_new_inputs", "temp.main.relserve_new_answers"
_HASH = "relserve_inputs"
_MACROS = (
    "SELECT function_name, macro_definition FROM system.main.duckdb_functions() "
    f"WHERE macro_definition IS NOT NULL AND function_type = 'macro' AND {USERS}"
)
_VOLATILE = (
    "SELECT function_name FROM system.main.duckdb_functions() "
    "WHERE function_type = 'scalar' AND function_name <> 'error' GROUP BY ALL "
    "HAVING system.main.bool_and(stability <> 'CONSISTENT')"
)

Ask = Callable[[str], None]  # runs a statement, whose rows are asked first
Explain = Callable[[str], Explanation]


class ColumnWork(NamedTuple):
    """What a call is to do.

    Attributes:
        column: its name as the table spells it, if it is there.
        before: None: nothing is remembered.
        now: how the column is to be made.
        hash: SQL of a row's hash.
        asks_all: no answer of before is kept.
    """

    call: FreshCall
    table: OwnTable
    column: str
    expression: ColumnExpression
    before: RememberedColumn | None
    now: RememberedColumn
    hash: str
    asks_all: bool

    @property
    def changes(self) -> str:
        """What is other than before, in words; "" for nothing."""
        before, now = self.before, self.now
        if before is None:
            return ""
        changed = []
        if before.expression != now.expression and self.call.expression is not None:
            changed.append(f"the expression was {before.expression}")
        elif before.inputs != now.inputs:
            changed.append(f"the expression now reads {_listed(now.inputs)}")
        if before.macros != now.macros:
            changed.append("a macro or view that the expression calls has changed")
        if before.models.keys() != now.models.keys():
            changed.append(
                f"the answers are of {_listed(before.models)}, the model is now {_listed(now.models)}"
            )
        elif others := [
            name for name, known in now.models.items() if _is_another(before.models[name], known)
        ]:
            changed.append(f"{_listed(others)} has other files or settings than before")
        return "; ".join(changed)

    @property
    def new_inputs(self) -> str:
        """The SELECT of the distinct inputs without an answer, with their hashes."""
        inputs = ", ".join(map(quoted, self.now.inputs))
        known = f"WHERE {_HASH} NOT IN (SELECT inputs FROM {self.table.answers(self.column)})"
        distinct = f"SELECT DISTINCT {self.hash} AS {_HASH}, {inputs} FROM {self.table.sql}"
        return distinct if self.asks_all else f"FROM ({distinct}) {known}"

    @property
    def asking(self) -> str:
        """The SELECT that asks: a row for each of these."""
        return self.asking_of(f"({self.new_inputs})")

    def asking_of(self, inputs: str) -> str:
        """The same over what gives these inputs, which stands under the table's name."""
        return (
            f"SELECT {_HASH}, ({self.expression.text}\n) AS answer FROM {inputs} AS {quoted(self.table.name)}"
        )


@dataclass(frozen=True)
class FreshColumns:
    """Makes and refreshes the columns of one connection."""

    raw: duckdb.DuckDBPyConnection
    state: ConnectionState
    indirect_calls: IndirectCalls

    def expanded(self, statement: Statement, parameters: Any, ask: Ask, explain: Explain) -> str | None:
        """What runs instead of a call, which has been carried out by then; None: the statement is none.

        EXPLAIN of a call becomes that of the SELECT that it would ask.

        Raises:
            UsageError: the call is wrong, or a changed expression or model would have all rows asked again.
            ForbiddenError: a server's user calls it, or only the database names the model.
            RelserveError, duckdb.Error: as the SELECT with the expression would; nothing is changed then.
        """
        work = self._work_of(statement, parameters)
        if work is None:
            return None
        if work.call.only_explains:
            return f"EXPLAIN {work.asking}"
        if work.changes and work.call.on_change == "raise":
            self._refuse(work, explain(work.asking))
        return self._carry_out(work, ask)

    def asking(self, statement: Statement, parameters: Any) -> str | None:
        """The SELECT that a call would ask; None: the statement is none. Raises as `expanded`."""
        work = self._work_of(statement, parameters)
        return None if work is None else work.asking

    def _work_of(self, statement: Statement, parameters: Any) -> ColumnWork | None:
        if not is_call(statement.text):
            return None
        if not self.state.session.keeps_calibrations:
            raise ForbiddenError(
                "fresh columns are not kept over this server: whoever runs it refreshes them in Python or by "
                "relserve sql, while the server does not hold the database"
            )
        return self._work(read_call(self.raw, statement.text, by_name(parameters)))

    def _work(self, call: FreshCall) -> ColumnWork:
        table = find_table(self.raw, call.table)
        column = table.find_column(call.column) or call.column
        before = find_column(self.raw, table, column)
        written = call.expression
        if written is None:
            if before is None:
                known = ", ".join(names_of(self.raw, table)) or "none"
                raise UsageError(
                    f"nothing is remembered of {table.name}.{column}: CALL llm_materialize('{call.table}', "
                    f"'{column}', 'expression') makes it; columns of {table.name} that were made so: {known}"
                )
            written = before.expression
        elif before is None and column in table.columns:
            raise UsageError(
                f"{table.name} has a column {column} already, which was not made so: take another name"
            )
        hosts = self.state.session.model_hosts
        hosts.note(call.expression or "")
        volatile = [name for (name,) in self.raw.execute(_VOLATILE).fetchall()]
        expression = read_expression(written, table, column, _macros(self.raw), volatile)
        for model in expression.models:
            hosts.check(model)
        return self._planned(call, table, column, expression, before)

    def _planned(
        self, call: FreshCall, table: OwnTable, column: str, expression: ColumnExpression,
        before: RememberedColumn | None,
    ) -> ColumnWork:  # fmt: skip
        text = expression.text
        if before is not None and _normal(before, table, column) == expression.normal:
            text = before.expression
        if _HASH in map(str.lower, expression.inputs):
            raise UsageError(f"{_HASH} is what a refresh computes itself; rename this column of {table.name}")
        macros = self.indirect_calls.macro_definitions(self.raw, text)
        now = RememberedColumn(text, expression.inputs, "", macros, self._fingerprints(expression))
        hashed = hash_of(table, now.inputs)
        work = ColumnWork(call, table, column, expression, before, now, hashed, asks_all=True)
        now = now._replace(type=self._type(work))
        changed = bool(work._replace(now=now).changes)
        keeps = before is not None and (not changed or call.on_change == "keep")
        if keeps and before is not None and (before.inputs, before.type) != (now.inputs, now.type):
            raise UsageError(
                f"the answers of {table.name}.{column} cannot be kept: they are {before.type} of "
                f"{_listed(before.inputs)}, and now {now.type} of {_listed(now.inputs)}; "
                f"ask all rows again: {call.again('ask')}"
            )
        return work._replace(now=now, asks_all=not keeps)

    def _fingerprints(self, expression: ColumnExpression) -> dict[str, str]:
        session, cancel = self.state.session, self.state.run.cancel
        engines = [session.find_engine(model) for model in expression.models]
        return {engine.model: ask_fingerprint(engine, cancel, None) or "" for engine in engines}

    def _type(self, work: ColumnWork) -> str:
        rows = plan_only(self.state, lambda: self.raw.execute(f"DESCRIBE {work.asking}").fetchall())
        return str(rows[1][1])

    def _refuse(self, work: ColumnWork, foreseen: Explanation) -> None:
        estimates = [call.estimate for call in foreseen.calls]
        if all(each and each.num_cached == each.num_distinct for each in estimates):
            if estimates or not foreseen.notes:
                return  # every answer is kept already, or no row needs one
        told = foreseen.total if estimates else " ".join(foreseen.notes)
        raise UsageError(
            f"{work.table.name}.{work.column} has changed: {work.changes}. To ask all rows again would take "
            f"{told}. Do so: {work.call.again('ask')}; or keep the answers that there are, and ask "
            f"only new and changed rows from now on: {work.call.again('keep')}"
        )

    def _carry_out(self, work: ColumnWork, ask: Ask) -> str:
        before = {id(each) for each in self.state.session.history.queries()}
        try:
            self.raw.execute(f"CREATE OR REPLACE TEMP TABLE relserve_new_inputs AS {work.new_inputs}")
            # DuckDB computes a call at once where the inputs of all rows are equal, though none were asked
            is_new = bool(self.raw.execute(f"SELECT 1 FROM {_INPUTS} LIMIT 1").fetchall())
            asking = work.asking_of(_INPUTS) if is_new else f"SELECT {_HASH}, NULL AS answer FROM {_INPUTS}"
            ask(f"CREATE OR REPLACE TEMP TABLE relserve_new_answers AS {asking}")
            records = [each for each in self.state.session.history.queries() if id(each) not in before]
            with self.state.changing(), self._at_once():
                figures = self._written(work, has_failed=any(each.num_failed for each in records))
        finally:
            with suppress(duckdb.Error):  # a transaction of the caller's that has failed
                self.raw.execute(f"DROP TABLE IF EXISTS {_NEW}")
                self.raw.execute(f"DROP TABLE IF EXISTS {_INPUTS}")
        return _row(work, figures, records)

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """All or nothing of what runs inside; in a transaction of the caller's, that decides."""
        if in_transaction(self.raw.execute):
            yield
            return
        try:
            self.raw.begin()  # interrupted, it leaves a transaction that has failed
            yield
        except BaseException:
            with suppress(duckdb.Error):
                self.raw.rollback()
            raise
        self.raw.commit()

    def _written(self, work: ColumnWork, has_failed: bool) -> dict[str, int]:
        """Write the new answers; where rows have failed, a NULL may be theirs and is not remembered."""
        run, table, column, kind = self.raw.execute, work.table, quoted(work.column), work.now.type
        answers = table.answers(work.column)
        make_memory(self.raw, table, work.column, kind, work.asks_all)
        if work.before is not None and work.before.type != kind and work.column in table.columns:
            run(f"ALTER TABLE {table.sql} DROP COLUMN {column}")
        run(f"ALTER TABLE {table.sql} ADD COLUMN IF NOT EXISTS {column} {kind}")
        kept = "AND answer IS NOT NULL" if has_failed else ""
        run(
            f"INSERT INTO {answers} SELECT {_HASH}, answer FROM {_NEW} "
            f"WHERE {_HASH} NOT IN (SELECT inputs FROM {answers}) {kept}"
        )
        gone = run(
            f"DELETE FROM {answers} WHERE inputs NOT IN (SELECT {work.hash} FROM {table.sql})"
        ).fetchall()
        now = f"SELECT rowid AS id, {column} AS former, {work.hash} AS hash FROM {table.sql}"
        updated = run(
            f"UPDATE {table.sql} AS old SET {column} = new.answer FROM (SELECT id, answer FROM ({now}) "
            f"LEFT JOIN {answers} ON hash = inputs WHERE former IS DISTINCT FROM answer) AS new "
            "WHERE old.rowid = new.id"
        ).fetchall()
        remember(self.raw, table, work.column, work.now)
        ((rows, new),) = run(
            f"SELECT (SELECT system.main.count(*) FROM {table.sql}), "
            f"(SELECT system.main.count(*) FROM {_NEW})"
        ).fetchall()
        return {"rows": rows, "new_inputs": new, "updated_rows": updated[0][0], "dropped_inputs": gone[0][0]}


def _row(work: ColumnWork, figures: dict[str, int], records: list[QueryRecord]) -> str:
    """The result of the call: one row, as a query."""
    costs = [each.cost for each in records]
    values = {
        "table_name": literal(work.table.name), "column_name": literal(work.column), **figures,
        "asked": sum(each.num_done - each.num_cached for each in records),
        "cached_answers": sum(each.num_cached for each in records),
        "failed_rows": sum(each.num_failed for each in records),
        "cost": "NULL::DOUBLE" if None in costs else f"{sum(filter(None, costs))}::DOUBLE",
    }  # fmt: skip
    numbers = {name: f"{value}::BIGINT" for name, value in values.items() if isinstance(value, int)}
    return "SELECT " + ", ".join(f"{value} AS {name}" for name, value in {**values, **numbers}.items())


def _normal(before: RememberedColumn, table: OwnTable, column: str) -> str:
    try:
        return read_expression(before.expression, table, column, {}).normal
    except UsageError:  # a column of it is gone
        return ""


def _macros(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """The bodies of users' macros, each of which may have several lists of parameters, by their names."""
    found = defaultdict[str, list[str]](list)
    for name, body in con.execute(_MACROS).fetchall():
        if name not in NAMES:
            found[name.lower().replace('"', '""')].append(body)
    return found


def _is_another(before: str, now: str) -> bool:
    """Whether two fingerprints are of different models; "" tells nothing."""
    return "" not in (before, now) and before != now


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
