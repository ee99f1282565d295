"""The rules of a grammar that spell a schema's names, and no other ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache

import duckdb

from relserve.linking.schema import Schema, Table, quoted

NUM_WITH, NUM_NAMED = 3, 9  # WITH queries w1.., and named columns c1..
ALIASES = "[a-z] | [t] [1-9]"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
MOST_BYTES = 20_000  # of all names; above it a table's name is followed by any table's columns


def name_rules(schema: Schema) -> list[str]:
    """Rules `table`, `column`, `any_column` and `all_columns` (a name and an asterisk).

    A column stands alone, after its table's name, or after an alias. Which table an alias stands for is not
    told, so that any table's column may follow one.
    """
    columns = list(dict.fromkeys(column.name for _, column in schema.columns))
    rules = [
        f"alias ::= {ALIASES}",
        f"named ::= [c] [1-{NUM_NAMED}]",
        f"with_name ::= [w] [1-{NUM_WITH}]",
        f"any_column ::= named | {_choices(columns)}",
        f"table ::= with_name | {_alternatives(_from_spellings(schema.tables))}",
    ]
    own = _own_columns(schema)
    rules += [f"columns_{at} ::= {_choices(names)}" for at, (_, names) in enumerate(own)]
    of_table = [f'{before} "." columns_{at}' for at, (before, _) in enumerate(own)]
    before = f"( alias | with_name | {_choices(each.name for each in schema.tables)} )"
    rules.append(f'column ::= any_column | ( alias | with_name ) "." any_column | {" | ".join(of_table)}')
    rules.append(f'all_columns ::= ( {before} "." )? "*"')
    return rules


def _own_columns(schema: Schema) -> list[tuple[str, list[str]]]:
    """How each table's name may be spelt before its columns, and which these are."""
    if sum(len(column.name) for _, column in schema.columns) > MOST_BYTES:
        names = list(dict.fromkeys(column.name for _, column in schema.columns))
        return [(f"( {_choices(each.name for each in schema.tables)} )", names)]
    by_name: dict[str, list[str]] = {}
    for table in schema.tables:
        by_name.setdefault(table.name, []).extend(column.name for column in table.columns)
    return [(f"( {_choices([name])} )", list(dict.fromkeys(columns))) for name, columns in by_name.items()]


def _from_spellings(tables: Iterable[Table]) -> list[str]:
    """How FROM may name the tables: qualified where they are."""
    spellings: list[str] = []
    for table in tables:
        spelt = [""]
        for part in (*table.qualifier, table.name):
            spelt = [f"{before}.{way}" if before else way for before in spelt for way in _spellings(part)]
        spellings += spelt
    return spellings


def _choices(names: Iterable[str]) -> str:
    return _alternatives(way for name in names for way in _spellings(name))


def _alternatives(texts: Iterable[str]) -> str:
    return " | ".join(literal(text) for text in dict.fromkeys(texts))


def _spellings(name: str) -> list[str]:
    """A name in quotes, and bare where DuckDB takes it so."""
    is_plain = _PLAIN.match(name) and name.lower() not in _keywords()
    return [name, quoted(name)] if is_plain else [quoted(name)]


def literal(text: str) -> str:
    """A text as a terminal of xgrammar's EBNF."""
    return json.dumps(text, ensure_ascii=False)


@cache
def _keywords() -> frozenset[str]:
    """The words that DuckDB does not take as the name of each of table and column."""
    with duckdb.connect() as con:
        rows = con.execute(
            "SELECT keyword_name FROM system.main.duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        ).fetchall()
    return frozenset(name for (name,) in rows)
