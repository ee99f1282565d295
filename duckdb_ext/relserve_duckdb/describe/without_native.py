"""Binding where DuckDB's own connection cannot be reached: what reads is bound as a relation.

The type of a parameter is told there by its cast alone, or by what stands with it in a COALESCE.
"""

from __future__ import annotations

import re
from functools import partial

import duckdb
from duckdb import StatementType as Type
from sqlglot import exp

from relserve_duckdb.describe.prepared import BoundStatement
from relserve_duckdb.text.lexical import LEAD
from relserve_duckdb.text.parameters import find_parameters, numbered
from relserve_duckdb.text.statements import parse_tree
from relserve_duckdb.udf.client import Variables

Columns = tuple[tuple[str, str], ...]

_PLAN: Columns = (("explain_key", "VARCHAR"), ("explain_value", "VARCHAR"))
_CALL = re.compile(LEAD + r"(call|pragma)\s++([\w.]++)\s*+(\(.*\))?\s*+;?+\s*+\Z")
_WRITES = (exp.Insert, exp.Update, exp.Delete)


def prepare_plainly(
    con: duckdb.DuckDBPyConnection, variables: Variables, kind: Type, text: str
) -> BoundStatement:
    """What can be told of one statement without running it.

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


def _relation(con: duckdb.DuckDBPyConnection, variables: Variables, text: str) -> Columns:
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
