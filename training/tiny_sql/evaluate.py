"""Who is right, judged by execution: `python -m training.tiny_sql.evaluate [--model DIR] [--questions N]`."""

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from relserve.linking.literals import QuestionValue
from relserve.linking.pointer import sql_of
from relserve.linking.schema import Schema, Table, quoted
from relserve.tiny_sql import MODEL_DIR
from training.tiny_sql.corpus.questions import QuestionExample, example
from training.tiny_sql.corpus.rows import Cell, database

_ORDERED = re.compile(r"\border\s+by\b", re.IGNORECASE)
_DIGITS = 6  # to which numbers are compared

Rows = Sequence[tuple[Any, ...]]


def comparable(rows: Sequence[Sequence[Any]], ordered: bool) -> list[tuple[str, ...]]:
    """Rows as texts, equal where results are: columns in any order, rows too unless an order was asked."""
    found = [tuple(sorted(_text(value) for value in row)) for row in rows]
    return found if ordered else sorted(found)


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    try:
        return f"{round(float(value), _DIGITS):.{_DIGITS}f}" if not isinstance(value, str) else value
    except (TypeError, ValueError):
        return str(value)


def rows_of(con: duckdb.DuckDBPyConnection, sql: str) -> Rows | None:
    """The rows of a query; None: it fails."""
    try:
        return con.execute(sql).fetchall()
    except duckdb.Error:
        return None


def is_right(
    sql: str,
    gold: str,
    databases: Sequence[duckdb.DuckDBPyConnection],
    run: Callable[[duckdb.DuckDBPyConnection, str], Rows | None] = rows_of,
) -> bool:
    """Whether a query gives what the gold one gives on every database, and that is not empty on any.

    Args:
        run: runs the query.
    """
    return all(_agrees(run(con, sql), gold, con) for con in databases)


def _agrees(got: Rows | None, gold: str, con: duckdb.DuckDBPyConnection) -> bool:
    expected = con.execute(gold).fetchall()
    if not expected or got is None:
        return False
    ordered = _ORDERED.search(gold) is not None
    return comparable(got, ordered) == comparable(expected, ordered)


def filled(schema: Schema, values: Sequence[QuestionValue], seed: str) -> duckdb.DuckDBPyConnection:
    """A database in memory, with the schema's keys and rows in which the values of a question occur."""
    con = duckdb.connect()
    rows = database(schema, values, seed)
    made: set[str] = set()
    while len(made) < len(schema.tables):
        for table in schema.tables:
            if table.name not in made and _targets(table) <= made:
                con.execute(_created(schema, table))
                con.from_arrow(_arrow(table, rows[table.name])).insert_into(table.sql_name)
                made.add(table.name)
    return con


def _arrow(table: Table, rows: Sequence[Sequence[Cell]]) -> pa.Table:
    columns = [[row[at] for row in rows] for at in range(len(table.columns))]
    return pa.table([pa.array(cells) for cells in columns], names=[str(at) for at in range(len(columns))])


def _targets(table: Table) -> set[str]:
    return {each.references.table for each in table.columns if each.references is not None} - {table.name}


def _created(schema: Schema, table: Table) -> str:
    """CREATE TABLE, with the keys that other tables refer to as unique."""
    referred = {
        each.references.column
        for _, each in schema.columns
        if each.references is not None and each.references.table == table.name
    }
    keys = [f"UNIQUE ({quoted(name)})" for name in sorted(referred)]
    foreign = [
        f"FOREIGN KEY ({quoted(each.name)}) REFERENCES {quoted(each.references.table)} "
        f"({quoted(each.references.column)})"
        for each in table.columns
        if each.references is not None
    ]
    columns = [f"{quoted(each.name)} {each.sql_type}" for each in table.columns]
    return f"CREATE TABLE {table.sql_name} ({', '.join([*columns, *keys, *foreign])})"


class QuestionVerdict(NamedTuple):
    """How a question went: with the handles shuffled once, and by the vote of several shuffles."""

    shape: str
    single: bool
    vote: bool
    unanimous: bool


def verdicts(
    folder: Path, num_questions: int, shuffles: int = 5, seed: str = "judged"
) -> list[QuestionVerdict]:
    """Ask a checkpoint questions over words that it was not trained on, and judge its answers."""
    from training.tiny_sql.answering import GrammarModel, voted  # and torch with it

    examples = [example(f"{seed}-{index}", held_out=True) for index in range(num_questions)]
    found = GrammarModel(folder).shuffled([(one.schema.schema, one.question) for one in examples], shuffles)
    judged = []
    for one, answers in zip(examples, found, strict=True):
        vote = voted(answers)
        single, by_vote = _judged(one, (answers[0] if answers else None, vote.sql))
        judged.append(QuestionVerdict(one.shape, single, by_vote, vote.share == 1.0))
    return judged


def _judged(one: QuestionExample, answers: Sequence[str | None]) -> list[bool]:
    databases = [filled(one.schema.schema, one.prompt.values, f"{one.question}-{side}") for side in "ab"]
    gold = sql_of(one.answer, one.prompt)
    try:
        return [sql is not None and is_right(sql, gold, databases) for sql in answers]
    finally:
        for con in databases:
            con.close()


def main() -> None:
    """Print the shares of right answers, by shape."""
    parser = argparse.ArgumentParser(description="Evaluate the embedded model for text2sql in this process.")
    parser.add_argument("--model", type=Path, default=MODEL_DIR)
    parser.add_argument("--questions", type=int, default=300)
    args = parser.parse_args()
    judged = verdicts(args.model, args.questions)
    groups: dict[str, list[QuestionVerdict]] = defaultdict(list)
    for verdict in judged:
        groups[verdict.shape].append(verdict)
        groups["all"].append(verdict)
        if verdict.unanimous:
            groups["all shuffles agree"].append(verdict)
    for shape, group in sorted(groups.items()):
        single, vote = (
            sum(each) / len(group) for each in zip(*((v.single, v.vote) for v in group), strict=True)
        )
        print(f"{shape:20} {len(group):4} questions, single {single:.3f}, vote of 5 {vote:.3f}")


if __name__ == "__main__":
    main()
