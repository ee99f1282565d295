"""The statements of a file in one database, as they are written or with their queries inside another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple

import duckdb

import relserve
from benchmarks.duckdb_tests.records import Record
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine

ROW = "relserve_rows"
TEXT = f"{ROW}::VARCHAR"
NEEDS_PYTZ = "Required module 'pytz'"  # which is not installed with us


class QueryForm(Enum):
    """What becomes of a query."""

    WRITTEN = "as written"
    ANSWERED = "wrapped in llm()"
    FILTERED = "behind llm_filter()"


class Texts(NamedTuple):
    """A query in some form: what plain DuckDB runs, and what ours does."""

    plain: str
    ours: str


class SideOutcome(NamedTuple):
    """What came of a statement.

    Attributes:
        columns: names and types, where there is a result.
        rows: of the result, each as Python writes it; in the file's order.
        error: the exception's class and its message; empty without.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    error: str = ""


class TooLong(Exception):
    """A side takes longer than it may."""


def texts_of(record: Record, form: QueryForm) -> Texts:
    """Of a record: the same for both sides, if it is as written or no query that another can hold."""
    if form is QueryForm.WRITTEN or not record.is_query or not _is_select(record.sql):
        return Texts(record.sql, record.sql)
    query = f"(\n{record.sql.strip().removesuffix(';')}\n) AS {ROW}"
    if form is QueryForm.ANSWERED:
        start, end = "SELECT *, ", f" AS relserve_answer FROM {query}"
        return Texts(f"{start}'Row ' || {TEXT}{end}", f"{start}llm('Row {{}}', {TEXT}){end}")
    start = f"SELECT * FROM {query} WHERE "
    return Texts(f"{start}length({TEXT}) >= 0", f"{start}llm_filter('Pass: {{}}', {TEXT})")


def _is_select(sql: str) -> bool:
    try:
        [statement] = duckdb.extract_statements(sql)
    except (duckdb.Error, ValueError):
        return False
    return statement.type == duckdb.StatementType.SELECT


def plain() -> Any:
    """A new database of plain DuckDB's."""
    return duckdb.connect(config={"python_enable_replacements": False})


def ours() -> Any:
    """A new database of ours, whose engine answers with the prompt and lets every row pass."""
    engine = ScriptedEngine(_answer, remembers=False)
    return relserve.connect(
        engine=engine, progress=False, cache=False, config={"python_enable_replacements": False}
    )


def _answer(prompt: str, submission: Submission) -> str:
    grammar = submission.sampling.grammar
    return prompt if grammar is None else grammar.choices[0]  # yes


def run(
    connect: Callable[[], Any], texts: Sequence[str], records: Sequence[Record], limit_s: float
) -> list[SideOutcome]:
    """Run the texts that stand for the records, in a new database.

    Raises:
        TooLong: it took longer.
    """
    clients = {"": connect()}
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        for client in list(clients.values()):
            client.interrupt()

    timer = threading.Timer(limit_s, end)
    timer.start()
    try:
        outcomes = []
        for text, record in zip(texts, records, strict=True):
            if record.client not in clients:
                clients[record.client] = clients[""].cursor()
            outcomes.append(_outcome(clients[record.client], text, record.sort))
            if is_late.is_set():
                raise TooLong
        return outcomes
    finally:
        timer.cancel()
        for client in reversed(clients.values()):
            client.close()


def _outcome(client: Any, text: str, sort: str) -> SideOutcome:
    try:
        client.execute(text)
        return _rows_of(client, sort, as_arrow=False)
    except Exception as error:  # of whatever class: it is compared
        if NEEDS_PYTZ not in str(error):
            return SideOutcome(error=f"{type(error).__name__}: {error}")
    try:  # a second time on both sides, for what DuckDB makes of time zones without pytz
        client.execute(text)
        return _rows_of(client, sort, as_arrow=True)
    except Exception as error:
        return SideOutcome(error=f"{type(error).__name__}: {error}")


def _rows_of(client: Any, sort: str, as_arrow: bool) -> SideOutcome:
    description = client.description or ()
    columns = tuple(f"{each[0]} {each[1]}" for each in description)
    if as_arrow:
        rows = list(zip(*(column.to_pylist() for column in client.to_arrow_table().columns), strict=True))
    else:
        rows = client.fetchall() if description else []
    return SideOutcome(columns, tuple(sorted_rows(rows, sort)))


def sorted_rows(rows: Sequence[Sequence[Any]], sort: str) -> list[str]:
    """The rows as texts, sorted as a record wants it."""
    if sort == "valuesort":
        return sorted(repr(value) for row in rows for value in row)
    written = [repr(row) for row in rows]
    return sorted(written) if sort == "rowsort" else written
