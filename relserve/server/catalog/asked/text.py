"""From a client's text to DuckDB's, if it asks PostgreSQL's catalog."""

import re
from collections.abc import Callable

import sqlglot
from sqlglot import exp

from relserve.server.catalog.asked.arrays import (
    count_vectors_from_one,
    write_array_literals,
    write_vectors_as_texts,
)
from relserve.server.catalog.asked.asked import CatalogContext
from relserve.server.catalog.asked.casts import cast_to_duckdbs_types, compare_functions, look_up_names
from relserve.server.catalog.asked.functions import call_the_catalogs, drop_schemas
from relserve.server.catalog.asked.operators import drop_collations, escape_by_backslash, plain_operators
from relserve.server.catalog.asked.relations import (
    read_pages_by_rowid,
    read_the_catalogs,
    shorten_columns,
    write_table_oids,
)
from relserve.server.catalog.asked.session import name_the_client, show_the_clients
from relserve.server.catalog.asked.shown import fold_aliases, name_columns, write_vectors

Rule = Callable[[exp.Expression, CatalogContext], exp.Expression]
NAMING: tuple[Rule, ...] = (fold_aliases, name_columns, write_vectors)
RULES: tuple[Rule, ...] = (
    plain_operators, escape_by_backslash, drop_collations, drop_schemas, shorten_columns, write_table_oids,
    name_the_client, read_pages_by_rowid,
    show_the_clients, read_the_catalogs, count_vectors_from_one, call_the_catalogs, write_array_literals,
    write_vectors_as_texts, compare_functions, look_up_names, cast_to_duckdbs_types,
)  # fmt: skip
_FUNCTIONS = (
    r"version|current_setting|current_schemas|(?:obj|col|shobj)_description|format_type|set_config|row_security_active"
    r"|quote_(?:ident|literal|nullable)|has_\w+_privilege|to_reg\w+|array_(?:lower|upper|ndims)|inet_\w+"
)
_ASKS = re.compile(
    r"\b_?pg_|\binformation_schema\b|\b(?:session|current)_user\b|\bcurrent_role\b"
    r"|\breg(?:class|type|proc|procedure|namespace|role|oper|operator)\b"
    rf'|::\s*(?:"?name\b|oid\b|"char")|\b(?:{_FUNCTIONS})\s*\(',
    re.IGNORECASE,
)
_OIDS = re.compile(r"::\s*(?:oid|regclass|regtype)\s*\[\s*\]", re.IGNORECASE)
# What sqlglot says of a text that it cannot read: its parser also trips over parts that are not there.
UNREAD = (sqlglot.errors.SqlglotError, AttributeError, TypeError, ValueError, RecursionError)
_LLM = re.compile(r"\bllm\w*\s*\(", re.IGNORECASE)


def may_ask(sql: str) -> bool:
    """Whether a text may ask the catalog; one with an llm call never does."""
    return _ASKS.search(sql) is not None and _LLM.search(sql) is None


def translated(sql: str, asked: CatalogContext) -> str:
    """DuckDB's text for PostgreSQL's; the same where no rule applies, or sqlglot cannot read it."""
    tree = read_postgresql(sql)
    if tree is None or isinstance(tree, exp.Command):
        return sql
    try:
        for rule in NAMING:
            tree = rule(tree, asked)
        before = tree.copy()
        for rule in RULES:
            tree = rule(tree, asked)
        return sql if tree == before else tree.sql(dialect="duckdb", normalize_functions=False)
    except UNREAD:  # a name where only some statements have one, as in ALTER TABLE t RENAME TO pg_class
        return sql


def read_postgresql(sql: str) -> exp.Expression | None:
    """The tree of a PostgreSQL text; None if sqlglot cannot read it, even with lists of oids as numbers."""
    for text in dict.fromkeys((sql, _OIDS.sub("::bigint[]", sql))):
        try:
            return sqlglot.parse_one(text, read="postgres")  # type: ignore[return-value]
        except UNREAD:
            continue
    return None
