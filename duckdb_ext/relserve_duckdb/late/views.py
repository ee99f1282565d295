"""Views whose queries make llm calls, put before the statement that names them as CTEs of the same names."""

from __future__ import annotations

from collections.abc import Callable

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from relserve_duckdb.late.queries import beginning
from relserve_duckdb.text.stand_in import TextPiece
from relserve_duckdb.text.tokens import OPENING, Tokens, closing, tokens_of

DefinitionOf = Callable[[str], str | None]  # the CREATE VIEW of a view that calls, None for any other name


def with_views(tokens: Tokens, query: exp.Expr, definition_of: DefinitionOf) -> list[TextPiece]:
    """What to put into a statement so that its query has such views as CTEs; nothing where that is not sure.

    Args:
        query: the statement's query, parsed.
    """
    found: dict[str, str] = {}
    _collect(query, definition_of, found)
    named = {each.alias.lower() for each in query.find_all(exp.CTE)}
    start = beginning(tokens)
    if not found or named & set(found) or "recursive" in {token.text.lower() for token in tokens}:
        return []
    if tokens[start].token_type not in (TokenType.SELECT, TokenType.FROM, TokenType.WITH):
        return []
    parts = ", ".join(found.values())
    if tokens[start].token_type is TokenType.WITH:
        place = tokens[start].end + 1
        return [TextPiece(f" {parts},", place, place)]
    place = tokens[start].start
    return [TextPiece(f"WITH {parts} ", place, place)]


def _collect(query: exp.Expr, definition_of: DefinitionOf, found: dict[str, str]) -> None:
    """The CTEs for the views that a query names, those that a view itself names before it."""
    for table in query.find_all(exp.Table):
        name = table.name.lower()
        if table.args.get("db") or name in found or (definition := definition_of(name)) is None:
            continue
        inner, cte = _as_cte(definition)
        if cte:
            _collect(inner, definition_of, found)
            found[name] = cte


def _as_cte(definition: str) -> tuple[exp.Expr, str]:
    """A view's parsed query and what stands for it in a WITH; "" where its text is not understood."""

    try:
        tree = sqlglot.parse_one(definition, read="duckdb")
        tokens = tokens_of(definition)
    except (SqlglotError, RecursionError):
        return exp.Select(), ""
    i = next((i for i, token in enumerate(tokens) if token.token_type is TokenType.VIEW), len(tokens))
    name, columns = i + 1, ""
    if name + 1 < len(tokens) and tokens[name + 1].token_type in OPENING:
        end = closing(tokens, name + 1)
        columns, body = f" {definition[tokens[name + 1].start : tokens[end].end + 1]}", end + 1
    else:
        body = name + 1
    if not isinstance(tree, exp.Create) or body >= len(tokens):
        return exp.Select(), ""
    if tokens[body].token_type is not TokenType.ALIAS or not isinstance(tree.expression, exp.Query):
        return exp.Select(), ""
    text = definition[tokens[body].end + 1 :].rstrip("; \n\t")
    quoted = definition[tokens[name].start : tokens[name].end + 1]
    return tree.expression, f"{quoted}{columns} AS ({text})"
