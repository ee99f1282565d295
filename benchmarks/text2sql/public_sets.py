"""Spider and BIRD questions of the data folder; their gold SQL gives in DuckDB what it does in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from benchmarks.text2sql.questions import GoldQuestion, Group
from benchmarks.text2sql.sqlite_tables import SqliteTable, import_sqlite
from training.tiny_sql.evaluate import comparable

FILES = {"spider": "spider_dev_even.json", "bird": "bird_even.json"}
_BIRD_FILES = {"superhero": "bird_superhero", "financial": "bird_financial_no_trans"}
_LONGEST_STEPS = 20_000_000  # of SQLite's machine, for a gold query


def public_set(name: str, data: Path) -> Iterator[tuple[Group, int]]:
    """The databases of a set with their questions, and how many were left out as below."""
    folder = data / "text2sql"
    records = json.loads((folder / FILES[name]).read_text(encoding="utf-8"))
    by_database: dict[str, list[dict[str, str]]] = {}
    for record in records:
        by_database.setdefault(record["db_id"], []).append(record)
    for db_id, group in by_database.items():
        file = folder / "db" / f"{_BIRD_FILES.get(db_id, db_id) if name == 'bird' else db_id}.sqlite"
        con = duckdb.connect()
        tables = import_sqlite(file, con)
        found = [_question(record, file, tables, con) for record in group]
        questions = [each for each in found if each is not None]
        yield Group(db_id, (con,), questions), len(found) - len(questions)


def _question(
    record: dict[str, str], file: Path, tables: list[SqliteTable], con: duckdb.DuckDBPyConnection
) -> GoldQuestion | None:
    """The question, where its gold query gives in DuckDB what it gives in SQLite."""
    gold = record.get("query") or record["SQL"]
    try:
        tree = sqlglot.parse_one(gold, read="sqlite")
        sql = _in_duckdb(tree, tables, con)
        ordered = tree.args.get("order") is not None
        here = comparable(con.execute(sql).fetchall(), ordered)
        there = comparable(_sqlite_rows(file, gold), ordered)
    except (sqlglot.errors.SqlglotError, duckdb.Error, sqlite3.Error):
        return None
    if sorted(here) != sorted(there):  # rows of equal rank may come in another order
        return None
    return GoldQuestion(record["question"], (sql,), shape_of(tree), record.get("evidence"))


def _sqlite_rows(file: Path, sql: str) -> list[tuple[object, ...]]:
    source = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    source.text_factory = lambda raw: raw.decode("utf-8", "replace")
    source.set_progress_handler(lambda: 1, _LONGEST_STEPS)
    try:
        return source.execute(sql).fetchall()
    finally:
        source.close()


def _in_duckdb(tree: exp.Expression, tables: list[SqliteTable], con: duckdb.DuckDBPyConnection) -> str:
    """DuckDB's SQL; SQLite lets texts in double quotes pass, and columns that are not grouped by."""
    names = {column.casefold() for table in tables for column, _ in table.columns}

    def as_text(node: exp.Expression) -> exp.Expression:
        is_text = isinstance(node, exp.Column) and node.this.args.get("quoted") and not node.table
        return exp.Literal.string(node.name) if is_text and node.name.casefold() not in names else node

    tree = tree.transform(as_text)
    try:
        con.execute(f"EXPLAIN {tree.sql(dialect='duckdb')}")
    except duckdb.BinderException:
        tree = tree.transform(_any_of_group)
    return tree.sql(dialect="duckdb")


def _any_of_group(node: exp.Expression) -> exp.Expression:
    """A SELECT whose columns that it is not grouped by come from any row of the group."""
    if isinstance(node, exp.Select) and node.args.get("group") is not None:
        keys = {key.sql().casefold() for key in node.args["group"].expressions}
        loose = (one for one in node.expressions if isinstance(one, exp.Column))
        for column in [one for one in loose if one.sql().casefold() not in keys]:
            column.replace(exp.AnyValue(this=column.copy()))
    return node


def shape_of(tree: exp.Expression) -> str:
    """What a gold query takes: its tables first, then what is done with one table."""
    if isinstance(tree, exp.SetOperation) or len(list(tree.find_all(exp.Select))) > 1:
        return "nested or set operation"
    joins = len(list(tree.find_all(exp.Join)))
    if joins:
        return "one join" if joins == 1 else "several joins"
    if tree.args.get("group") is not None:
        return "one table, grouped"
    if tree.args.get("limit") is not None or tree.args.get("order") is not None:
        return "one table, ordered"
    return "one table, aggregate" if tree.find(exp.AggFunc) else "one table, rows"
