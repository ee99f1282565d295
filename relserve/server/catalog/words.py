"""PostgreSQL's words for what DuckDB says otherwise: TO_TIMESTAMP(.., 'YYYY-MM-DD'), TO_CHAR and the like."""

import sqlglot

from relserve.server.catalog.asked.asked import CatalogContext
from relserve.server.catalog.asked.text import RULES, UNREAD, read_postgresql


def in_duckdbs_words(sql: str, asked: CatalogContext) -> str | None:
    """A PostgreSQL text as DuckDB would say it; None if it says the same, or sqlglot cannot read it.

    sqlglot reads PostgreSQL's types, such as jsonb, as DuckDB's too, which DuckDB itself does not.
    """
    tree = read_postgresql(sql)
    if tree is None:
        return None
    try:
        for rule in RULES:
            tree = rule(tree, asked)
        spelled = tree.sql(dialect="duckdb", normalize_functions=False)
    except UNREAD:  # what sqlglot reads and cannot write, as b'x'
        return None
    return None if spelled == _as_duckdb(sql) and "jsonb" not in sql.lower() else spelled


def _as_duckdb(sql: str) -> str | None:
    """The text in the form that sqlglot gives it, when it reads it as DuckDB's."""
    try:
        return sqlglot.parse_one(sql, read="duckdb").sql(dialect="duckdb", normalize_functions=False)
    except UNREAD:
        return None
