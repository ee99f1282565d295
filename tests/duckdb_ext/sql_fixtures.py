"""The tables of the SQL tests, and a connection with its scripted engine."""

from __future__ import annotations

from typing import Any, NamedTuple

import duckdb
from relserve_duckdb import Connection, attach

from relserve.engines.scripted import ScriptedEngine
from relserve.session.session import Session

ODD_TEXTS = (
    "",
    " ",
    "it's",
    'a "quoted" word',
    "{x}",
    "{}",
    "}}{{",
    "😀 né",
    "tab\tnew\nline",
    "%s %d \\n",
    "null",
)

TABLES = """
CREATE TABLE p AS
    SELECT i AS id, i % 7 AS g, 'text ' || (i % 500) AS body,
           CASE WHEN i % 50 = 0 THEN NULL ELSE 'title ' || (i % 40) END AS title,
           DATE '2024-01-01' + (i % 365)::INT AS d, (i % 8) / 4 AS x, [i % 3, i % 5] AS l
    FROM range(10000) r(i);
CREATE TABLE u AS SELECT i * 3 AS id, 'user ' || (i % 20) AS uname, i % 5 AS tier FROM range(300) r(i);
CREATE TABLE empty AS SELECT * FROM p WHERE false;
CREATE TABLE nulls AS SELECT i AS id, NULL::VARCHAR AS t FROM range(3000) r(i);
CREATE VIEW v AS SELECT id, llm('v {}', body) AS y FROM p WHERE g = 2;
CREATE TABLE z AS SELECT id, body FROM p WHERE id < 3000;
"""
OVER_A_VIEW = "CREATE VIEW vv AS SELECT y, id FROM v WHERE id < 700"
MACRO = "CREATE MACRO rate(t) AS llm('rate {}', t)"


class Made(NamedTuple):
    """A connection and what answers it."""

    con: Connection
    engine: ScriptedEngine

    def rows(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        return list(self.con.execute(sql, parameters).fetchall())

    @property
    def asked(self) -> tuple[int, int]:
        """Prompts and relQueries so far."""
        return self.engine.num_prompts, len(self.engine.submissions)


def make(
    prefetch: bool = True,
    memo: bool = True,
    tables: bool = True,
    macro: bool = False,
    path: str = ":memory:",
    read_only: bool = False,
    **engine: Any,
) -> Made:
    """A fresh database with the functions attached.

    Args:
        tables: with those of `make_tables`.
        macro: with its macro, too.
    """
    scripted = ScriptedEngine(**engine)
    session = Session(lambda model: scripted)
    raw = duckdb.connect(path, read_only=read_only)
    is_new = path == ":memory:"
    con = attach(raw, session, progress=False, prefetch=prefetch, memo=memo, is_new=is_new)
    if tables:
        make_tables(con, macro)
    return Made(con, scripted)


def make_tables(con: Any, macro: bool = True) -> None:
    """The tables, on any connection that knows llm().

    Ours looks once which views there are, at the last one; for the macro it reads all of DuckDB's functions,
    which takes as long as the tables.
    """
    getattr(con, "raw", con).execute(TABLES)
    con.execute(OVER_A_VIEW)
    if macro:
        con.execute(MACRO)
    con.execute("CREATE TABLE odd AS SELECT unnest($1::VARCHAR[]) AS t", [list(ODD_TEXTS)])
