"""A pipeline that knows the SQL of some questions, and what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
from relserve_duckdb import Connection, attach

from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Text2SqlError
from relserve.session.session import Session
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import QuestionOutcome

TABLES = """
CREATE TABLE beers AS SELECT * FROM (VALUES (1, 'Amber', 5.5, 1), (2, 'Dark', 7.0, 2), (3, 'Pale', 4.5, 2))
    t(id, name, abv, brewery);
CREATE TABLE breweries AS SELECT * FROM (VALUES (1, 'Acme'), (2, 'Bock')) t(id, name);
"""
ANSWERS = {
    "Count?": "SELECT count(*) AS n FROM beers",
    "Strong?": "SELECT id, name, abv FROM beers ORDER BY abv DESC",
    "Each?": (
        "WITH made AS (SELECT brewery, count(*) AS num FROM beers GROUP BY brewery) "
        "SELECT name, num FROM made JOIN breweries ON brewery = id; "
    ),
    "The strongest?": "SELECT name FROM beers ORDER BY abv DESC LIMIT 1 -- the first",
    'It\'s "quoted"?': "SELECT 'it''s ; -- (' AS a, 1 AS \"b c\"",
    "Strings?": "SELECT id::VARCHAR AS id FROM beers",
}


class Recorded:
    """A `Pipeline`.

    Attributes:
        asked: the questions of each call, in order, with their options.
    """

    def __init__(self, answers: Mapping[str, str] = ANSWERS) -> None:
        self.answers = answers
        self.asked: list[tuple[list[str], Text2SqlOptions]] = []
        self.evidence: list[Sequence[str | None] | None] = []

    def __call__(
        self,
        questions: Sequence[str],
        con: duckdb.DuckDBPyConnection,
        session: Session,
        options: Text2SqlOptions,
        *,
        evidence: Sequence[str | None] | None,
        cancel: threading.Event,
    ) -> list[QuestionOutcome]:
        self.asked.append((list(questions), options))
        self.evidence.append(evidence)
        return [self._outcome(question, con) for question in questions]

    def _outcome(self, question: str, con: duckdb.DuckDBPyConnection) -> QuestionOutcome:
        sql = self.answers.get(question)
        if sql is None:
            failure = Text2SqlError("no table fits", "candidates", ("candidates: 0 of 3",), "SELECT 1")
            return QuestionOutcome(question, None, (), (), failure, "wf-1")
        con.execute(f"EXPLAIN {sql}").fetchall()
        con.execute(f"EXPLAIN {sql}").fetchall()  # its tables are seen from here
        return QuestionOutcome(question, sql, (), (), None, "wf-1")


class Asking(NamedTuple):
    """A connection and the pipeline that its questions go to."""

    con: Connection
    pipeline: Recorded

    def rows(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        return list(self.con.execute(sql, parameters).fetchall())


def asking(answers: Mapping[str, str] = ANSWERS, prefetch: bool = True, **engine: Any) -> Asking:
    """A fresh database whose questions have these answers."""
    pipeline = Recorded(answers)
    scripted = ScriptedEngine(**engine)
    con = attach(
        duckdb.connect(),
        Session(lambda model: scripted),
        progress=False,
        prefetch=prefetch,
        pipeline=pipeline,
        is_new=True,
    )
    con.execute(TABLES)
    return Asking(con, pipeline)
