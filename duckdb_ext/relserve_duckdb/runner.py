"""Running a user's text: check its llm calls, rehearse and ask, hand it to DuckDB."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import duckdb

from relserve_duckdb.calls import are_independent, are_tangled, check_call
from relserve_duckdb.frames import Variables
from relserve_duckdb.macros import Functions
from relserve_duckdb.prefetch import Play, prefetch
from relserve_duckdb.scope import Scope
from relserve_duckdb.statements import Statement, split

log = logging.getLogger(__name__)

# what gives other rows, or has an effect, each time it is read; a rehearsal would read it once more
_ONCE = re.compile(
    r"(?i)\b(random|uuid|uuidv4|uuidv7|gen_random_uuid|nextval|setval|setseed|currval|sleep_ms|write_log)\s*\("
    r"|\b(tablesample|using\s+sample)\b|/dev/(stdin|fd)"
)


@dataclass
class Runner:
    """Runs texts on one connection.

    Attributes:
        one_shot: names of registered things that can be read only once.
    """

    raw: duckdb.DuckDBPyConnection
    scope: Scope
    functions: Functions
    prefetches: bool
    one_shot: set[str] = field(default_factory=set)
    _helper: duckdb.DuckDBPyConnection | None = None

    def execute(self, variables: Variables, query: Any, parameters: Any) -> None:
        """Run every statement of a text; parameters belong to the last one.

        Raises:
            UsageError: a call is wrong; nothing of the text has run then.
            RelserveError: the engine failed, or a row failed under on_error := 'raise'.
        """
        statements = split(self.raw, query)
        given = [None] * (len(statements) - 1) + [parameters]
        for statement, values in zip(statements, given, strict=True):
            for call in statement.calls:
                check_call(call, _by_name(values))
        for statement, values in zip(statements, given, strict=True):
            self._run(variables, statement, values)

    def close(self) -> None:
        if self._helper is not None:
            self._helper.close()

    def _run(self, variables: Variables, statement: Statement, parameters: Any) -> None:
        self.scope.begin_statement()
        run = partial(variables.call, self.raw.execute, statement.runnable, parameters)
        if statement.plans_only:
            with self.scope.planning():
                run()
            return
        if self.prefetches and statement.rehearsal and self._can_rehearse(variables, statement):
            play = self._play(variables, statement, parameters)
            if play is not None:
                prefetch(self.scope, play)
        run()

    def _can_rehearse(self, variables: Variables, statement: Statement) -> bool:
        text = statement.text
        if found := _ONCE.search(text):
            log.debug("no prefetch: %s may give other rows when read again", found[0])
            return False
        if are_tangled(statement.calls):
            log.debug("no prefetch: a guard decides between calls that look alike")
            return False
        used_up = [name for name in (*variables.one_shot(), *self.one_shot) if name.lower() in text.lower()]
        if used_up:
            log.debug("no prefetch: %s can be read only once", used_up)
        return not used_up

    def _play(self, variables: Variables, statement: Statement, parameters: Any) -> Play | None:
        """The rehearsal of a statement; None when its parameters cannot be told apart."""
        text = statement.rehearsal
        con = self._connection()
        try:
            values = _some_of(parameters, statement, con.extract_statements(text)[0].named_parameters)
        except (duckdb.Error, LookupError) as error:
            log.debug("no prefetch: %s", error)
            return None

        def plan() -> str:
            rows = variables.call(con.execute, f"EXPLAIN (FORMAT JSON) {text}", values).fetchall()
            return str(rows[0][1])

        def batches() -> Iterable[Any]:
            relation = variables.call(con.sql, text, params=values)
            return relation.to_arrow_reader() if relation is not None else ()

        root = statement.root
        independent = root is not None and are_independent(statement.calls, root)
        return Play(plan, batches, independent, len(statement.calls))

    def _connection(self) -> duckdb.DuckDBPyConnection:
        """Where to rehearse: on a connection aside while the user's transaction is open.

        Any error aborts an open transaction; a rehearsal that fails must not do that to the user. Aside it
        may miss rows that the transaction has not committed; those are asked while the statement runs.
        """
        if not in_transaction(self.raw):
            return self.raw
        if self._helper is None:
            self._helper = self.raw.cursor()
            self.functions.create_macros(self._helper)
        return self._helper


def in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the connection is inside BEGIN .. COMMIT: only then two statements share a transaction."""
    one, other = (con.execute("SELECT txid_current()").fetchone() for _ in range(2))
    return one == other


def _by_name(parameters: Any) -> Mapping[str, Any]:
    """Parameters by the name that a text uses for them: $1, $name."""
    if isinstance(parameters, Mapping):
        return parameters
    return {str(i): value for i, value in enumerate(parameters or (), 1)}


def _some_of(parameters: Any, statement: Statement, names: set[str]) -> Any:
    """The parameters that the rehearsal uses.

    Raises:
        LookupError: `?` parameters of which it uses only some.
    """
    if not parameters or names == statement.parameter_names:
        return parameters
    if "?" in statement.rehearsal:
        raise LookupError("the rehearsal uses some of the ? parameters")
    named = _by_name(parameters)
    return {name: named[name] for name in names}
