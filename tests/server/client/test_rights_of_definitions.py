"""What definitions may ask and tie, what EXPLAIN ANALYZE may run, and who is told how many rows there are."""

from __future__ import annotations

import pytest

from tests.server.client.rights_scene import Client, said

pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")


@pytest.mark.parametrize(
    "text",
    ["CREATE MACRO asks() AS TABLE FROM text2sql('x', tables := ['secret'])",
     "CREATE MACRO asks() AS text2sql_query('x', tables := ['secret'])",
     "ALTER TABLE shown ALTER x TYPE VARCHAR USING text2sql_query('x', tables := ['secret'])"],
)  # fmt: skip
def test_definitions_ask_nothing_of_hidden_tables(eve: Client, text: str) -> None:
    assert said(eve, text).startswith("42501 permission denied for function text2sql")


def test_a_sequence_is_tied_to_own_tables_only(eve: Client) -> None:
    eve.execute("CREATE SEQUENCE IF NOT EXISTS numbers")
    eve.execute("CREATE OR REPLACE TABLE mine AS SELECT 1 AS x")
    assert said(eve, "ALTER SEQUENCE numbers OWNED BY secret") == "42501 must be owner of table secret"
    assert said(eve, "ALTER SEQUENCE numbers OWNED BY mine") == "ALTER SEQUENCE"
    eve.execute("DROP TABLE mine")


@pytest.mark.parametrize(
    "text",
    ["CREATE TABLE t AS SELECT 1 AS x", "CREATE OR REPLACE MACRO m() AS 1", "DROP TABLE shown",
     "ALTER TABLE shown RENAME TO shown2", "ALTER TABLE shown ADD COLUMN y INT DEFAULT 1",
     "SET VARIABLE x = 1", "PREPARE p AS SELECT 1"],
)  # fmt: skip
@pytest.mark.parametrize("explain", ["EXPLAIN ANALYZE", "EXPLAIN (ANALYZE, FORMAT JSON)"])
def test_explain_analyze_defines_nothing(eve: Client, explain: str, text: str) -> None:
    assert said(eve, f"{explain} {text}").startswith("0A000 EXPLAIN ANALYZE runs its statement")
    assert said(eve, "FROM shown") == "[(1,)]"


@pytest.mark.parametrize(
    "text",
    ["SELECT 1", "FROM shown", "INSERT INTO shown VALUES (1)", "UPDATE shown SET x = x", "DELETE FROM shown",
     "WITH z AS (FROM shown) FROM z", "PIVOT shown ON x USING count(*)", "EXECUTE reads",
     "MERGE INTO shown USING (SELECT 1 AS x) s USING (x) WHEN MATCHED THEN UPDATE"],
)  # fmt: skip
def test_explain_analyze_measures_what_reads_and_changes_rows(eve: Client, text: str) -> None:
    eve.execute("PREPARE reads AS FROM shown")
    eve.execute("BEGIN")
    assert "analyzed_plan" in said(eve, f"EXPLAIN ANALYZE {text}")
    eve.execute("ROLLBACK")


@pytest.mark.parametrize(
    "text",
    ["FROM duckdb_tables()", "SELECT estimated_size FROM system.main.duckdb_tables", "FROM counts()",
     "FROM query_table('duckdb_tables')", "FROM query_table(['pg_class'])",
     "FROM histogram(duckdb_tables, estimated_size)", "SUMMARIZE duckdb_tables",
     "MERGE INTO shown USING duckdb_tables() t ON false "
     "WHEN NOT MATCHED THEN INSERT VALUES (t.estimated_size)"],
)  # fmt: skip
def test_how_many_rows_a_hidden_table_has_is_not_told(eve: Client, text: str) -> None:
    eve.execute("CREATE OR REPLACE MACRO counts() AS TABLE SELECT estimated_size FROM duckdb_tables()")
    assert said(eve, text).startswith("42501 permission denied for function duckdb_tables: it tells how many")


def test_how_many_rows_there_are_is_told_to_who_may_read_all(eve: Client, root: Client) -> None:
    asked = "SELECT estimated_size FROM duckdb_tables() WHERE table_name = 'secret'"
    assert said(root, asked) == "[(1,)]"
    root.execute("CREATE OR REPLACE VIEW sizes AS SELECT table_name, estimated_size FROM duckdb_tables()")
    root.execute("GRANT SELECT ON sizes TO eve")
    assert said(eve, "SELECT estimated_size FROM sizes WHERE table_name = 'secret'") == "[(1,)]"
    assert said(eve, "SELECT reltuples FROM pg_class WHERE relname = 'secret'") == "[(-1.0,)]"
    assert said(eve, "WITH duckdb_tables AS (SELECT 1) FROM duckdb_tables") == "[(1,)]"
    for text in ("SHOW TABLES", "FROM information_schema.tables", "FROM pg_tables", "FROM duckdb_columns()"):
        assert "secret" in said(eve, text)


@pytest.mark.parametrize("text", ["CREATE TABLE t AS SELECT 1 AS x", "DROP TABLE shown"])
def test_explain_alone_takes_definitions(eve: Client, text: str) -> None:
    assert "physical_plan" in said(eve, f"EXPLAIN {text}") or said(eve, f"EXPLAIN {text}") == "[]"
    assert said(eve, "FROM shown") == "[(1,)]"
