"""What a fresh column's expression is made of: the columns that it reads, and the models that it asks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from relserve.call.options import FUNCTIONS
from relserve.errors import UsageError
from relserve_duckdb.fresh.tables import OwnTable
from relserve_duckdb.text.calls import LlmCall, check_call, constant, find_calls
from relserve_duckdb.text.indirect_calls import called_in

_VOLATILE = (  # which are no names before brackets
    exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.Localtime, exp.Localtimestamp,
    exp.Rand, exp.Uuid,
)  # fmt: skip


class ColumnExpression(NamedTuple):
    """An expression over the columns of one table.

    Attributes:
        text: as it is written.
        normal: the same for texts that differ in white space, case of keywords and comments.
        inputs: the columns that it reads, in the table's order.
        models: those that its calls name, and those of macros that it calls; None: the default model.
    """

    text: str
    normal: str
    inputs: tuple[str, ...]
    models: tuple[str | None, ...]


def read_expression(
    text: str,
    table: OwnTable,
    column: str,
    macros: Mapping[str, Sequence[str]],
    volatile: Collection[str] = (),
) -> ColumnExpression:
    """Read the expression of a table's column.

    Args:
        macros: the bodies of users' macros by their names in small letters, with each quote twice.
        volatile: functions that DuckDB says give another value in the next statement.

    Raises:
        UsageError: it is no expression over the table's other columns, or a call in it is wrong.
    """
    shown = f"the expression of {table.name}.{column}"
    try:
        query = sqlglot.parse_one(f"SELECT ({text}\n)", read="duckdb")
    except (SqlglotError, RecursionError) as error:
        raise UsageError(f"{shown} cannot be read: {text}\n{error}") from error
    items = query.expressions
    if not isinstance(query, exp.Select) or len(items) != 1 or isinstance(items[0], exp.Tuple):
        raise UsageError(f"{shown} has to be one expression, as in a SELECT list, not {text}")
    tree = items[0].this
    if isinstance(tree, exp.Alias) or tree is None:
        raise UsageError(f"{shown} has a name of its own: leave AS out of {text}")
    if tree.find(exp.Query):
        raise UsageError(f"{shown} reads another table, whose changes nobody would see: leave the SELECT out")
    texts, bodies = _bodies(text, macros)
    if any(map(_reads_a_table, bodies)):
        raise UsageError(f"{shown} calls a macro that reads another table, whose changes nobody would see")
    if any(called_in(each.lower(), volatile) for each in texts) or any(
        each.find(*_VOLATILE) for each in (tree, *bodies)
    ):
        raise UsageError(f"{shown} gives another value each time: leave the clock and random numbers out")
    inputs = _inputs(tree, table, column)
    if not inputs:
        raise UsageError(f"{shown} reads no column of {table.name}: {text}")
    calls = find_calls(tree)
    for call in calls:
        check_call(call, {})
    calls += [call for body in bodies for call in find_calls(body)]
    models = tuple(dict.fromkeys(model for call in calls for model in _models(call)))
    return ColumnExpression(text.strip(), tree.sql("duckdb", comments=False), inputs, models or (None,))


def _bodies(text: str, macros: Mapping[str, Sequence[str]]) -> tuple[list[str], list[exp.Expr]]:
    """The text, with the bodies of the macros that it calls and that they call; and these bodies, parsed.

    By the texts: sqlglot takes some names, such as initcap, for functions of its own.
    """
    left, texts, trees = dict(macros), [text], []
    for each in texts:
        for body in [body for name in sorted(called_in(each.lower(), left)) for body in left.pop(name)]:
            texts.append(body)
            with suppress(SqlglotError, RecursionError):  # then only its text tells that it has changed
                trees.append(sqlglot.parse_one(f"SELECT ({body}\n)", read="duckdb").expressions[0])
    return texts, trees


def _reads_a_table(body: exp.Expr) -> bool:
    """Whether it reads more than series of numbers and what it names itself by WITH."""
    own = {each.alias.lower() for each in body.find_all(exp.CTE)}
    return any(
        not isinstance(each.this, exp.GenerateSeries) and (each.db or each.name.lower() not in own)
        for each in body.find_all(exp.Table)
    )


def _inputs(tree: exp.Expr, table: OwnTable, column: str) -> tuple[str, ...]:
    names = {part.name.lower() for each in tree.find_all(exp.Column) for part in each.parts}
    own = column.lower()
    if own in names:
        raise UsageError(
            f"the expression of {table.name}.{column} reads {column} itself; it may read the others"
        )
    whole = {each.name.lower() for each in tree.find_all(exp.Column) if len(each.parts) == 1}
    takes_all = tree.find(exp.Star) is not None or table.name.lower() in whole - set(
        map(str.lower, table.columns)
    )
    return tuple(
        each for each in table.columns if each.lower() != own and (takes_all or each.lower() in names)
    )


def _models(call: LlmCall) -> Iterator[str | None]:
    """The models that a call names, as far as its text tells; None: the default model."""
    if call.function not in FUNCTIONS:  # text2sql_query()
        yield None
        return
    given = {"model": None} | {
        name: each for name, each in call.options.items() if name in ("model", "cascade")
    }
    for name, expression in given.items():
        try:
            value = None if expression is None else constant(expression, {})
        except LookupError:
            continue
        if name == "model" or value is not None:
            yield value or FUNCTIONS[call.function].model or None
