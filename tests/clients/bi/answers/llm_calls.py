"""The llm checks: psql, psycopg and pgjdbc, each beside the same statement through `relserve.connect`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import relserve
from tests.clients.bi.answers.compare import Outcome, compare
from tests.clients.bi.programs.statements import CALLS, EXPLAINED, PREPARED, VIEW
from tests.clients.bi.sides import runs
from tests.clients.bi.sides.clients import Client
from tests.clients.bi.sides.runs import Answer
from tests.clients.bi.sides.servers import DATABASE, Server, fill_duckdb

# EXPLAIN tells times by what earlier relQueries took, and DuckDB's estimates differ from run to run.
TIMES = re.compile(r"~\d+ rows|unknown|(about|under|at most) [\d.,]+ (s|min|h)\b|\n?Time of .*|  +")


def outcomes(client: Client, ours: Server) -> list[Outcome]:
    """The verdicts on what one of the three clients was told."""
    expected = dict(_expected())
    return [
        _outcome(client.name, check, answer, expected) for check, answer in runs.run(client, ours).items()
    ]


def _outcome(client: str, check: str, told: Answer, expected: dict[str, Answer]) -> Outcome:
    name, _, way = check.rpartition("_")
    if way == "explain":
        return compare(client, check, _without_times(told), expected[check])
    return compare(client, check, told, expected[name])


def _expected() -> Iterator[tuple[str, Answer]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{DATABASE}.duckdb"
        fill_duckdb(file)
        with relserve.connect(file, model="scripted", progress=False, cache=False) as con:
            con.execute(VIEW)
            for each in CALLS + PREPARED:
                yield each.name, _texts(con.execute(each.text, each.values or None).fetchall())
            for each in EXPLAINED:
                rows = con.execute(f"EXPLAIN {each.text}").fetchall()
                yield f"{each.name}_explain", _without_times(_texts(rows))


def _texts(rows: Sequence[Sequence[object]]) -> Answer:
    return Answer([[None if value is None else str(value) for value in row] for row in rows])


def _without_times(answer: Answer) -> Answer:
    """The plan's text without what differs from run to run, and without padding."""
    if answer.value is None:
        return answer
    return answer._replace(value=[[TIMES.sub(" ", text).strip() for text in row] for row in answer.value])
