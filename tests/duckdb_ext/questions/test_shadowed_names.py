"""Names that mean something else on the asker's connection than where generated SQL was tried."""

from __future__ import annotations

import pytest

from relserve.api import connect
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import RelserveError

MADE = """
CREATE TABLE beers AS SELECT 'Amber' AS name; CREATE TABLE hidden AS SELECT 's3cr3t' AS s;
CREATE SCHEMA x; CREATE TABLE x.beers AS FROM hidden; ATTACH ':memory:' AS o;
CREATE TABLE o.beers AS FROM hidden;
"""
ATTACKS = [
    ("CREATE TEMP MACRO lower(x) AS (SELECT s FROM hidden)", "SELECT lower(name) FROM beers"),
    ("CREATE MACRO lower(x) AS (SELECT s FROM hidden)", "SELECT lower(name) FROM beers"),
    ("CREATE TEMP VIEW seen AS FROM hidden", "FROM seen"),
    ("CREATE SCHEMA y", "FROM x.beers"),
    ("CREATE SCHEMA y", "FROM o.beers"),
    ("CREATE SCHEMA y", "FROM hidden"),
    ("CREATE SCHEMA y", "DROP TABLE beers"),
    ("CREATE SCHEMA y", "SELECT name FROM beers) t; DROP TABLE beers; --"),
]


@pytest.mark.cells(3)
@pytest.mark.parametrize(("before", "sql"), ATTACKS)
def test_nothing_but_the_named_table_is_read_or_changed(before: str, sql: str) -> None:
    with connect(engine=ScriptedEngine(lambda prompt, submission: sql), progress=False) as con:
        con.execute(MADE)
        con.execute(before)
        with pytest.raises(RelserveError) as refused:
            con.execute("FROM text2sql('All beers?', tables := ['main.beers'], candidates := 1)").fetchall()
        assert "s3cr3t" not in str(refused.value)
        assert con.execute("FROM main.beers").fetchall() == [("Amber",)]
