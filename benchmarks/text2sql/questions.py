"""Questions with their gold SQL and the databases that they are judged on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import sqlglot
from sqlglot import exp

from relserve.examples import TABLES, scan_of
from relserve.linking.literals import QuestionValue, ValueKind
from relserve.linking.pointer import linked_question, sql_of
from relserve.linking.schema import Column, ColumnKind, Reference, Schema, Table
from relserve.linking.sql import PointerError
from relserve.linking.values import SchemaValues, ValueHit
from training.tiny_sql.corpus.questions import example
from training.tiny_sql.evaluate import filled

HERE = Path(__file__).parent
SHIPPED = HERE / "shipped_questions.json"
UNSEEN = HERE / "unseen_questions.json"
_SQL_TYPES = {
    ColumnKind.INT: "BIGINT",
    ColumnKind.NUM: "DOUBLE",
    ColumnKind.DATE: "DATE",
    ColumnKind.BOOL: "BOOLEAN",
}
_FILLINGS = 20  # tried until the gold query has rows


class GoldQuestion(NamedTuple):
    """A question; the rows of any of the `gold` queries are right."""

    text: str
    gold: tuple[str, ...]
    shape: str
    evidence: str | None = None


class Group(NamedTuple):
    """Questions about one database; answers are judged on each of `databases`, asked of the first."""

    name: str
    databases: Sequence[duckdb.DuckDBPyConnection]
    questions: Sequence[GoldQuestion]
    tables: tuple[str, ...] | None = None

    def close(self) -> None:
        """Free the databases."""
        for con in self.databases:
            con.close()


def held_out(count: int, seed: str = "benchmark") -> Iterator[Group]:
    """Generated questions over schemas of words that training never saw, whose gold queries have rows."""
    done = 0
    for index in itertools.count():
        if done == count:
            return
        one = example(f"{seed}-{index}", held_out=True)
        gold = sql_of(one.answer, one.prompt)
        values = question_values(one.prompt.schema, one.question, gold)
        group = _judged_twice(one.question, gold, one.shape, one.prompt.schema, values)
        if all(con.execute(gold).fetchall() for con in group.databases):
            done += 1
            yield group
        else:
            group.close()


def unseen(count: int | None = None, file: Path = UNSEEN) -> Iterator[Group]:
    """Questions written by somebody who has not seen the generator, over tables of their own."""
    for record in json.loads(file.read_text(encoding="utf-8"))["items"][:count]:
        schema = Schema(tuple(_table(each, record["tables"]) for each in record["tables"]))
        values = question_values(schema, record["question"], record["sql"])
        yield _judged_twice(record["question"], record["sql"], record["shape"], schema, values)


def shipped(count: int | None = None, file: Path = SHIPPED) -> Iterator[Group]:
    """Questions about the tables that come with relserve; one database for all of them."""
    records = json.loads(file.read_text(encoding="utf-8"))[:count]
    con = duckdb.connect()
    for name in TABLES:
        con.execute(f"CREATE TABLE {name} AS FROM {scan_of(name)}")
    groups: dict[tuple[str, ...], list[GoldQuestion]] = {}
    for record in records:
        question = GoldQuestion(record["question"], tuple(record["gold"]), ", ".join(record["tables"]))
        groups.setdefault(tuple(record["tables"]), []).append(question)
    for tables, questions in groups.items():
        yield Group("shipped", (con,), questions, tables)


def _judged_twice(text: str, gold: str, shape: str, schema: Schema, values: Sequence[QuestionValue]) -> Group:
    """A group of one question, over two fillings in which its gold query has rows, if there are two."""
    good: list[duckdb.DuckDBPyConnection] = []
    empty: list[duckdb.DuckDBPyConnection] = []
    for number in range(_FILLINGS):
        con = filled(schema, values, f"{text}-{number}")
        (good if con.execute(gold).fetchall() else empty).append(con)
        if len(good) == 2:
            break
    kept, spare = (good + empty)[:2], (good + empty)[2:]
    for con in spare:
        con.close()
    return Group(text, kept, (GoldQuestion(text, (gold,), shape),))


def _table(record: dict[str, Any], tables: Sequence[dict[str, Any]]) -> Table:
    return Table(record["name"], tuple(_column(each, tables) for each in record["columns"]))


def _column(record: dict[str, Any], tables: Sequence[dict[str, Any]]) -> Column:
    kind = ColumnKind(record["type"])
    target = next((each for each in tables if each["name"] == record.get("references")), None)
    referred = None if target is None else _referred(record, target)
    reference = None if target is None or referred is None else Reference(target["name"], referred)
    values = tuple(str(value) for value in record.get("values") or ())
    return Column(record["name"], kind, _SQL_TYPES.get(kind, "VARCHAR"), references=reference, values=values)


def _referred(record: dict[str, Any], target: dict[str, Any]) -> str | None:
    """The column that a reference means: of its own name, else called id, else the first of its type."""
    same = [
        each["name"]
        for each in target["columns"]
        if each["type"] == record["type"] and not each.get("references")
    ]
    wanted = (record["name"].casefold(), "id", f"{target['name'].rstrip('s')}_id".casefold())
    named = [name for want in wanted for name in same if name.casefold() == want]
    return next(iter(named or same), None)


def question_values(schema: Schema, text: str, gold: str) -> tuple[QuestionValue, ...]:
    """The values that rows should be drawn around: the question's, and the literals of its gold SQL."""
    index = SchemaValues(schema)
    try:
        found = [value for value in linked_question(schema, text, index).values if not _is_loose(value)]
    except PointerError:
        found = []
    tree = sqlglot.parse_one(gold, read="duckdb")
    for literal in tree.find_all(exp.Literal):
        word = literal.name.strip("%")
        if literal.is_string and not _is_date(word):
            found.append(QuestionValue(ValueKind.TEXT, word, _holders(schema, tree, literal, word)))
        else:
            found += linked_question(schema, f"with {word}", index).values
    return tuple(found)


def _is_loose(value: QuestionValue) -> bool:
    """Whether a value is a text of which no column is known to hold it."""
    return value.kind is ValueKind.TEXT and not value.hits


def _is_date(word: str) -> bool:
    try:
        date.fromisoformat(word)
    except ValueError:
        return False
    return True


def _holders(schema: Schema, tree: exp.Expression, literal: exp.Literal, word: str) -> tuple[ValueHit, ...]:
    """The column that a gold query compares a text with, as what holds it, or holds it amid other words."""
    condition = literal.find_ancestor(exp.Predicate, exp.Contains, exp.Anonymous)
    column = None if condition is None else condition.find(exp.Column)
    if column is None:
        return ()
    is_part = not isinstance(condition, (exp.EQ, exp.NEQ, exp.In))
    names = {each.alias_or_name: each.name for each in tree.find_all(exp.Table)}
    tables = [names.get(column.table, "")] if column.table else list(names.values())
    return tuple(
        ValueHit(table.name, each.name, f"The {word} again" if is_part else word)
        for table, each in schema.columns
        if table.name.casefold() in map(str.casefold, tables)
        and each.name.casefold() == column.name.casefold()
    )
