"""Planning the rehearsal of a statement or relation, or saying why it cannot be rehearsed."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

import duckdb

from relserve.text2sql.catalog.relations import in_transaction
from relserve_duckdb.rehearse.filter_shape import FilterShape, find_filter_shape
from relserve_duckdb.rehearse.rehearsal import CannotRehearse, Rehearsal
from relserve_duckdb.text.calls import are_independent, by_name, look_alike_behind_guards
from relserve_duckdb.text.executed import executed
from relserve_duckdb.text.indirect_calls import IndirectCalls, is_word
from relserve_duckdb.text.plans import BOUND_PLAN, may_call
from relserve_duckdb.text.quoted_errors import EXPLAINED
from relserve_duckdb.text.statements import Statement
from relserve_duckdb.udf.client import NoVariables, Variables
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.macros import Functions
from relserve_duckdb.udf.plan_only import plan_only

log = logging.getLogger(__name__)

_DIFFERS_WHEN_READ_AGAIN = re.compile(
    r"(?i)\b(random|uuid|uuidv4|uuidv7|gen_random_uuid|nextval|setval|setseed|currval|sleep_ms|write_log)\s*\("
    r"|\b(tablesample|using\s+sample)\b|/dev/(stdin|fd)"
)


class RehearsalBuilder:
    """Plans rehearsals on one connection.

    Attributes:
        one_shot: names of registered things that can be read only once.
    """

    def __init__(
        self,
        raw: duckdb.DuckDBPyConnection,
        state: ConnectionState,
        functions: Functions,
        indirect_calls: IndirectCalls,
    ) -> None:
        self.raw, self.state, self.functions, self.indirect_calls = raw, state, functions, indirect_calls
        self.one_shot: set[str] = set()
        self._second: duckdb.DuckDBPyConnection | None = None

    def registered(self, name: str, thing: Any, is_one_shot: bool) -> None:
        """A name stands for this from now on."""
        (self.one_shot.add if is_one_shot else self.one_shot.discard)(name)
        if isinstance(thing, duckdb.DuckDBPyRelation):  # DuckDB makes it a view
            self.indirect_calls.learn_views(self.raw)

    def of_statement(self, variables: Variables, statement: Statement, parameters: Any) -> Rehearsal:
        """How to rehearse a statement.

        Raises:
            CannotRehearse: it must not or cannot be read twice.
        """
        text = statement.rehearsal
        self._check_repeatable(statement)
        if names := self.one_shot_in(variables, statement.text):
            raise CannotRehearse(f"{', '.join(names)} can be read only once")
        con = self._connection()
        shape = self._shape(statement, parameters) if con is self.raw and statement.is_verbatim else None
        try:
            used = con.extract_statements(text)[0].named_parameters
            values = _parameters_used(parameters, statement, used)
        except (duckdb.Error, LookupError) as error:
            raise CannotRehearse(str(error)) from error

        def calls() -> bool:
            bound = partial(variables.call, con.execute, BOUND_PLAN, [text])
            return bool(statement.calls) or may_call(*bound().fetchall()[0])

        def plan() -> str:
            rows = variables.call(con.execute, f"{EXPLAINED}{text}", values).fetchall()
            return str(rows[-1][1])

        def batches() -> Iterable[Any]:
            # DuckDB binds once more to read it, and binding evaluates constant calls of some types
            relation = plan_only(self.state, partial(variables.call, con.sql, text, params=values))
            return relation.to_arrow_reader() if relation is not None else ()

        def evaluate(query: str, values: list[Any]) -> list[tuple[Any, ...]]:
            return list(con.execute(query, [values]).fetchall())

        return Rehearsal(plan, batches, self._is_independent(statement), shape, evaluate, calls)

    def executed(
        self, variables: Variables, statement: Statement, parameters: Any
    ) -> tuple[Variables, Statement, Any]:
        """The prepared statement that an EXECUTE runs, and its values; any other statement as it is.

        What a variable was when the statement was prepared nobody knows, so it may name none.
        """
        try:
            if found := executed(self.raw, statement.text):
                return NoVariables(), *found
        except duckdb.Error as error:  # running it will say so
            log.debug("not read as the statement that was prepared: %s", error)
        return variables, statement, parameters

    def of_relation(self, relation: duckdb.DuckDBPyRelation, statement: Statement) -> Rehearsal:
        """How to rehearse a relation, whose text is `statement`.

        Raises:
            CannotRehearse: it must not be read twice.
        """
        self._check_repeatable(statement)
        if in_transaction(self.raw.sql):
            raise CannotRehearse("an error while it is read would end the open transaction")
        plan = partial(relation.explain, format="json")
        shape = self._shape(statement, None)
        independent = self._is_independent(statement)

        def calls() -> bool:
            bound = partial(self.raw.sql, BOUND_PLAN, params=[statement.text])
            return bool(statement.calls) or may_call(*bound().fetchall()[0])

        return Rehearsal(plan, relation.to_arrow_reader, independent, shape, self._evaluate, calls)

    def one_shot_in(self, variables: Variables, text: str) -> list[str]:
        """What the text reads that can be read only once."""
        names = [*variables.one_shot(), *self.one_shot]
        lower = self.indirect_calls.with_definitions(text).lower() if names else ""
        return [name for name in names if is_word(name.lower(), lower)]

    def interrupt(self) -> None:
        """Stop what runs on a connection of its own, from another thread."""
        if self._second is not None:
            self._second.interrupt()

    def close(self) -> None:
        self.indirect_calls.forget(self.raw)
        if self._second is not None:
            self._second.close()

    def _evaluate(self, query: str, values: list[Any]) -> list[tuple[Any, ...]]:
        """As `execute` would, but an unread result is left alone."""
        return list(self.raw.sql(query, params=[values]).fetchall())

    def _shape(self, statement: Statement, parameters: Any) -> FilterShape | None:
        if self.indirect_calls.calling_definitions(statement.text):
            return None
        return find_filter_shape(statement.root, statement.calls, by_name(parameters))

    def _is_independent(self, statement: Statement) -> bool:
        if (
            statement.root is None
            or not statement.calls
            or self.indirect_calls.calling_definitions(statement.text)
        ):
            return False
        return are_independent(statement.calls, statement.root)

    def _check_repeatable(self, statement: Statement) -> None:
        """Refuse what gives other rows, or has an effect, each time it is read."""
        if found := _DIFFERS_WHEN_READ_AGAIN.search(self.indirect_calls.with_definitions(statement.text)):
            raise CannotRehearse(f"{found[0].rstrip('(')} may give other rows when read again")
        if look_alike_behind_guards(statement.calls):
            raise CannotRehearse("a guard decides between calls that look alike")

    def _connection(self) -> duckdb.DuckDBPyConnection:
        """Where to rehearse a text: on a second connection while the user's transaction is open.

        Any error aborts an open transaction; a rehearsal that fails must not do that to the user. The second
        connection may miss rows that the transaction has not committed; those are asked while the statement
        runs.
        """
        if not in_transaction(self.raw.execute):
            return self.raw
        if self._second is None:
            self._second = self.raw.cursor()
            self.functions.create_macros(self._second)
        return self._second


def _parameters_used(parameters: Any, statement: Statement, names: set[str]) -> Any:
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
