"""Describing the statements of one connection without running them or asking anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import duckdb
from duckdb import StatementType as Type
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from relserve.errors import UsageError
from relserve_duckdb.describe.binding import StatementBinding
from relserve_duckdb.describe.description import Description
from relserve_duckdb.describe.native import is_reachable
from relserve_duckdb.describe.prepared import BoundStatement, prepare
from relserve_duckdb.questions.expander import Expander
from relserve_duckdb.text.executed import PREPARED, prepared_name
from relserve_duckdb.text.indirect_calls import IndirectCalls
from relserve_duckdb.text.lexical import LEAD
from relserve_duckdb.text.parameters import find_parameters, numbered
from relserve_duckdb.text.statements import parse_tree, split
from relserve_duckdb.text.tokens import tokens_of
from relserve_duckdb.udf.client import Variables
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.plan_only import plan_only

_COUNT, _SUCCESS = [("Count", "BIGINT")], [("Success", "BOOLEAN")]  # of statements that give no rows
_COUNTED = (Type.INSERT, Type.UPDATE, Type.DELETE, Type.MERGE_INTO, Type.COPY, Type.CREATE)
_RETURNING = re.compile(r"(?i)\breturning\b")
_Columns = tuple[tuple[str, str], ...]

_PLAN: _Columns = (("explain_key", "VARCHAR"), ("explain_value", "VARCHAR"))
_CALL = re.compile(LEAD + r"(call|pragma)\s++([\w.]++)\s*+(\(.*\))?\s*+;?+\s*+\Z")
_WRITES = (exp.Insert, exp.Update, exp.Delete)


@dataclass(frozen=True)
class Describer:
    """Describes the statements of one connection."""

    raw: duckdb.DuckDBPyConnection
    state: ConnectionState
    indirect_calls: IndirectCalls
    expander: Expander

    def describe(self, variables: Variables, query: str, types: Sequence[str | None]) -> Description:
        """What one statement gives and takes.

        Args:
            types: of its parameters, as far as the caller says them.

        Raises:
            UsageError: several statements.
            duckdb.Error: the statement is wrong, or an unread result is open.
        """
        parsed = self.raw.extract_statements(query)
        if not parsed:
            return Description([], [None] * len(types), query)
        kind = parsed[0].type
        if len(parsed) > 1 and kind != Type.MULTI:
            raise UsageError(f"describe() takes one statement, not {len(parsed)}")
        text = self._runnable(query)
        if kind == Type.MULTI:
            return plan_only(self.state, partial(self._of_parts, variables, text))
        counts = kind in _COUNTED and not _has_returning(query)
        binding = StatementBinding(self._prepare(variables, kind), text, types, counts)
        found = plan_only(self.state, binding.describe)
        return found if self._gives_rows(kind, found.columns, query) else found._replace(columns=[])

    def _prepare(self, variables: Variables, kind: Type) -> Callable[[str], BoundStatement]:
        if is_reachable(self.raw):
            return partial(prepare, self.raw, variables)
        return partial(_prepare_plainly, self.raw, variables, kind)

    def _runnable(self, query: str) -> str:
        """What DuckDB can bind for a text."""
        if not self.indirect_calls.mentions(query):
            return query
        self.state.session.model_hosts.note(query)
        (statement,) = split(self.raw, query)
        statement, _ = self.expander.expanded(statement, None)
        if statement.stand_in is not None:
            self.state.stand_ins = [statement.stand_in]
        return statement.text if statement.stand_in is not None else query

    def _of_parts(self, variables: Variables, query: str) -> Description:
        """A statement that DuckDB runs in parts, such as PIVOT: the last one is only bound."""
        relation = variables.call(self.raw.sql, query)
        columns = zip(relation.columns, map(str, relation.types), strict=True) if relation is not None else ()
        return Description(list(columns), [], query)

    def _gives_rows(self, kind: Type, columns: list[tuple[str, str]], query: str) -> bool:
        if kind == Type.SELECT or columns not in (_COUNT, _SUCCESS):
            return True
        if kind == Type.EXECUTE and (name := prepared_name(query)) is not None:
            ((executed,),) = self.raw.execute(PREPARED, [name]).fetchall()
            (parsed, *_) = self.raw.extract_statements(executed)
            return self._gives_rows(parsed.type, columns, executed)
        return kind in _COUNTED and _has_returning(query)


def _has_returning(query: str) -> bool:
    """Whether a statement that writes says which rows it gives."""
    if not _RETURNING.search(query):
        return False
    try:
        return any(token.token_type is TokenType.RETURNING for token in tokens_of(query))
    except SqlglotError:
        return True


def _prepare_plainly(
    con: duckdb.DuckDBPyConnection, variables: Variables, kind: Type, text: str
) -> BoundStatement:
    """What can be told of one statement where DuckDB's own connection cannot be reached.

    What reads is bound as a relation. The type of a parameter is told by its cast alone, or by what stands
    with it in a COALESCE.

    Raises:
        duckdb.Error: it is wrong, or an unread result is open.
    """
    names = dict.fromkeys(place.name for place in find_parameters(text))
    bind = partial(_relation, con, variables)
    types: dict[str, str | None] = dict.fromkeys(names)
    root = parse_tree(numbered(text))
    for node in () if root is None else root.find_all(exp.Placeholder):
        if root is not None and (query := _query_of_type(node, root)) is not None:
            ((_, types[node.name]),) = bind(query)
    if None in types.values():
        return BoundStatement(None, types)
    match kind:
        case Type.SELECT:
            return BoundStatement(bind(text), types)
        case Type.EXPLAIN:
            return BoundStatement(_PLAN, types)
        case Type.CALL | Type.PRAGMA if match := _CALL.match(text):
            prefix = "pragma_" if match[1].lower() == "pragma" else ""
            return BoundStatement(bind(f"FROM {prefix}{match[2]}{match[3] or '()'}"), types)
    query = _query_of_returning(root) if root is not None else None
    return BoundStatement(bind(query) if query else (), types)


def _relation(con: duckdb.DuckDBPyConnection, variables: Variables, text: str) -> _Columns:
    """The columns of what reads; its parameters are NULL, each inside the cast that gives it a type."""
    values = dict.fromkeys(place.name for place in find_parameters(text))
    given = list(values.values()) if "?" in text else values
    relation = variables.call(con.sql, text, params=given) if values else variables.call(con.sql, text)
    return tuple(zip(relation.columns, map(str, relation.types), strict=True))


def _query_of_type(node: exp.Placeholder, root: exp.Expr) -> str | None:
    """A query whose only column is of the type of a parameter; None where nothing tells that."""
    match node.parent:
        case exp.Cast() as cast:
            return f"SELECT CAST(NULL AS {cast.to.sql('duckdb')})"
        case exp.Coalesce() as both if both.this is node and both.expressions:
            return _select(both.expressions[0], node, root)
    return None


def _select(wanted: exp.Expr, node: exp.Expr, root: exp.Expr) -> str | None:
    """An expression of a statement as a query, over what the statement reads there."""
    select = node.parent_select
    if isinstance(select, exp.Select):
        query = exp.select(wanted.copy())
        for part in ("from_", "joins", "with_"):
            query.set(part, select.copy().args.get(part))
        return query.sql("duckdb")
    if isinstance(root, _WRITES):
        return exp.select(wanted.copy()).from_(root.this.copy()).sql("duckdb")
    return None


def _query_of_returning(root: exp.Expr) -> str | None:
    """The RETURNING of a statement that writes, as a query of its table."""
    returning = root.args.get("returning") if isinstance(root, _WRITES) else None
    if returning is None:
        return None
    table = root.this.this if isinstance(root.this, exp.Schema) else root.this
    return exp.select(*(each.copy() for each in returning.expressions)).from_(table.copy()).sql("duckdb")
