"""The gold queries of Spider and BIRD in DuckDB's dialect, spelt as the grammar of SELECT spells."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlglot
from sqlglot import exp

from relserve.linking.schema import Column, ColumnKind, Schema, Table

FILES = {"financial": "bird_financial_no_trans", "superhero": "bird_superhero"}
_ALIAS = re.compile(r"[a-z]|t[1-9]")
UNKNOWN = "unknown_name"


class GoldQuery(NamedTuple):
    """A query over a database; `mutated` are its like with one unknown table, column or function each."""

    database: str
    schema: Schema
    sql: str
    mutated: list[str]


def gold_queries(name: str) -> list[GoldQuery]:
    """Every query of a file whose database is there; skips the test where RELSERVE_DATA is not."""
    folder = Path(os.environ.get("RELSERVE_DATA", "")) / "text2sql"
    if "RELSERVE_DATA" not in os.environ or not folder.is_dir():
        pytest.skip("no real questions: set RELSERVE_DATA")
    found = []
    schemas: dict[str, Schema] = {}
    for each in json.loads((folder / f"{name}.json").read_text(encoding="utf-8")):
        database = each["db_id"]
        if database not in schemas:
            schemas[database] = _schema_of(folder / "db" / f"{FILES.get(database, database)}.sqlite")
        tree = _in_its_words(
            sqlglot.parse_one(each.get("query") or each["SQL"], read="sqlite"), schemas[database]
        )
        sql = tree.sql(dialect="duckdb")
        found.append(GoldQuery(database, schemas[database], sql, list(_mutated(tree))))
    return found


def _schema_of(path: Path) -> Schema:
    with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return Schema(
            tuple(
                Table(
                    name,
                    tuple(
                        Column(row[1], ColumnKind.TEXT, "VARCHAR")
                        for row in db.execute(f'PRAGMA table_info("{name}")')
                    ),
                )
                for (name,) in names.fetchall()
            )
        )


def _in_its_words(tree: exp.Expression, schema: Schema) -> exp.Expression:
    """The names as the schema spells them, aliases as the grammar has them, texts in single quotes."""
    columns = {column.name.lower(): column.name for _, column in schema.columns}
    tables = {table.name.lower(): table.name for table in schema.tables}
    sources = [each for each in tree.find_all(exp.Table, exp.Subquery) if each.alias]
    aliases: dict[str, str] = {}
    for each in sources:
        kept = each.alias.lower() if _ALIAS.fullmatch(each.alias.lower()) else f"t{len(aliases) + 1}"
        aliases.setdefault(each.alias.lower(), kept)
    named = list(dict.fromkeys(each.alias.lower() for each in tree.find_all(exp.Alias)))
    outputs = {alias: f"c{at}" for at, alias in enumerate(named, 1)}

    def as_text(node: exp.Expression) -> exp.Expression:
        is_text = isinstance(node, exp.Column) and not node.table and node.this.args.get("quoted")
        known = isinstance(node, exp.Column) and node.name.lower() in {**columns, **outputs}
        return exp.Literal.string(node.name) if is_text and not known else node

    tree = tree.transform(as_text)
    for each in tree.find_all(exp.Identifier):
        parent, word = each.parent, each.this.lower()
        if isinstance(parent, exp.Column) and each.arg_key == "this":
            each.set("this", columns.get(word) or outputs.get(word) or each.this)
        elif isinstance(parent, exp.Alias):
            each.set("this", outputs.get(word, each.this))
        elif isinstance(parent, exp.Table):
            each.set("this", tables.get(word, each.this))
        else:
            each.set("this", aliases.get(word) or tables.get(word) or each.this)
    return tree


def _mutated(tree: exp.Expression) -> Iterator[str]:
    """The query with its first table, its first column, and its first function unknown."""
    for kind in (exp.Table, exp.Column, exp.AggFunc):
        copy = tree.copy()
        if (node := copy.find(kind)) is None or (kind is exp.Column and isinstance(node.this, exp.Star)):
            continue
        if kind is exp.AggFunc:
            node.replace(exp.Anonymous(this=UNKNOWN, expressions=[exp.Literal.number(1)]))
        else:
            node.this.set("this", UNKNOWN)
        yield copy.sql(dialect="duckdb")
