"""Texts that a plain user must not be able to run, and that they must."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.hostile.texts import REFUSED
from relserve.errors import ForbiddenError
from relserve.server.users.lockdown import check_allowed, open_locked
from relserve.server.users.refused import SETTINGS
from relserve.server.users.statements import Check
from relserve.server.users.users import User

ANN = User("ann")
ROOT = User("root", is_admin=True)
PARSER = duckdb.connect()

ALLOWED = """
SELECT 1
SELECT 'COPY t TO ''x''; FROM read_text(''/etc/passwd'')'
SELECT 'Is this query (in English) polite?'
SELECT 1 -- read_text('/etc/passwd')
SELECT $$ CALL enable_logging() $$
SELECT query FROM (SELECT 1 AS query)
SELECT "copy" FROM (SELECT 1 AS copy)
SELECT copy, secret FROM (SELECT 1 AS copy, 2 AS secret)
SELECT (copy) FROM (SELECT 1 AS copy)
SELECT count(*) AS copy FROM t
SELECT (copy + 1) * 2, (copy IS NULL) FROM (SELECT 1 AS copy)
CREATE VIEW v AS SELECT count(*) AS copy FROM t
SET TimeZone = 'UTC' -- _pg
CREATE TABLE u AS SELECT 1 AS a
INSERT INTO t VALUES (1)
UPDATE t SET a = 2
DELETE FROM t WHERE a = 2
MERGE INTO t USING t s ON t.a = s.a WHEN MATCHED THEN DELETE
CREATE TEMP TABLE x AS SELECT 1
CREATE VIEW w AS FROM t
CREATE MACRO twice(x) AS 2 * x
ALTER TABLE t ADD COLUMN b INT
DROP TABLE t
BEGIN; SELECT 1; COMMIT
EXPLAIN SELECT 1
EXPLAIN ANALYZE SELECT 1
EXPLAIN (SELECT 1)
EXPLAIN ((SELECT 1) UNION (SELECT 2))
EXPLAIN (FORMAT JSON) (SELECT 1)
EXPLAIN (ANALYZE, FORMAT JSON) SELECT 1
EXPLAIN SET TimeZone = 'UTC'
PREPARE p AS SELECT 1; EXECUTE p; DEALLOCATE p
PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)
SET TimeZone = 'Europe/Berlin'
SET SESSION TimeZone = 'Europe/Berlin'
SET SCHEMA 'main'
SET search_path = 'main'
RESET TimeZone
USE main
SET VARIABLE x = 1
RESET VARIABLE x
PRAGMA version
PRAGMA table_info('t')
CALL pragma_version()
SHOW TABLES
DESCRIBE t
SUMMARIZE t
ANALYZE
FROM query_table('t')
FROM duckdb_tables()
FROM duckdb_settings()
SELECT current_setting('TimeZone')
COMMENT ON TABLE t IS 'x'
""".strip().splitlines()


@pytest.fixture
def con(tmp_path):
    with open_locked(tmp_path / "shop.duckdb") as con:
        con.execute("CREATE TABLE t AS SELECT range AS a FROM range(10)")
        yield con


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A database, and its file, in which nothing runs."""
    file = tmp_path_factory.mktemp("shop") / "shop.duckdb"
    with open_locked(file) as con:
        con.execute("CREATE TABLE t AS SELECT range AS a FROM range(10)")
        yield con, file


@pytest.mark.parametrize("text", REFUSED)
def test_a_plain_user_may_not(shop, text):
    con, file = shop
    with pytest.raises(ForbiddenError) as refused:
        check_allowed(con, text.format(db=file), ANN)
    assert len(str(refused.value)) > 30


@pytest.mark.parametrize(
    "text",
    [
        "SET schema = '_p' || 'g'", "SET schema = lower('MAIN')", 'SET "schema" = $$main$$',
        "SET search_path TO getvariable('x')", "SET SCHEMA e'\\x5fpg'", "SET SCHEMA '_p'\n'g'",
        "USE '_p'\n'g'", "SET search_path = $1",
    ],
)  # fmt: skip
def test_a_setting_is_no_text_that_is_made_up_later(shop, text):
    with pytest.raises(ForbiddenError, match="as one name, number or 'string'"):
        check_allowed(shop[0], text, ANN)


@pytest.mark.cells(20)
@pytest.mark.parametrize("text", ALLOWED)
def test_a_plain_user_may(con, text):
    check_allowed(con, text, ANN)
    for statement in con.extract_statements(text):
        con.execute(statement).fetchall()


BEHIND_THE_FIRST_LOCK = [
    text
    for text in REFUSED
    if "/etc/passwd" in text and "query(" not in text and not text.startswith("COPY t TO")
]


@pytest.mark.parametrize("text", BEHIND_THE_FIRST_LOCK)
def test_duckdb_refuses_to_read_files_by_itself(shop, text):
    con, file = shop
    with pytest.raises(duckdb.PermissionException):
        con.execute(text.format(db=file)).fetchall()


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TRIGGER tr AFTER INSERT ON t INSERT INTO u FROM t", "CHECKPOINT", "VACUUM",
        "ATTACH ':memory:' AS x",
    ],
)  # fmt: skip
def test_an_admin_may(con, text):
    check_allowed(con, text, ROOT)
    con.execute("CREATE TABLE u AS FROM t")
    con.execute(text)


def test_files_can_be_allowed(tmp_path):
    with open_locked(tmp_path / "shop.duckdb", allow_files=True) as con:
        for text in (f"COPY (SELECT 1 AS a) TO '{tmp_path}/x.csv'", f"FROM read_csv('{tmp_path}/x.csv')"):
            check_allowed(con, text, ANN, allow_files=True)
            con.execute(text).fetchall()


def test_a_database_can_be_opened_read_only(tmp_path):
    duckdb.connect(tmp_path / "shop.duckdb").close()
    with open_locked(tmp_path / "shop.duckdb", read_only=True) as con:
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            con.execute("CREATE TABLE t AS SELECT 1")


def test_no_python_variable_is_a_table(con):
    rows_of_the_server = [1]
    with pytest.raises(duckdb.CatalogException):
        con.execute("FROM rows_of_the_server")
    assert rows_of_the_server


def test_the_database_opens_again_after_all_of_it(tmp_path):
    file = Path(tmp_path / "shop.duckdb")
    with open_locked(file) as con:
        con.execute("CREATE TABLE t AS SELECT range AS a FROM range(10)")
        for text in REFUSED:
            with pytest.raises(ForbiddenError):
                check_allowed(con, text.format(db=file), ANN)
    with duckdb.connect(file) as con:
        assert con.execute("SELECT count(*) FROM t").fetchone() == (10,)


def long(text, size=300_000):
    """A text made long by a string in its WHERE."""
    return f"{text} -- {'x' * size}"


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize("size", [300_000, 3_000_000])
def test_long_texts_are_refused_alike(con, tmp_path, size):
    for text in REFUSED:
        with pytest.raises((ForbiddenError, duckdb.ParserException)):
            check_allowed(con, long(text.format(db=tmp_path / "shop.duckdb"), size), ANN)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("SELECT count(*) FROM t WHERE a::VARCHAR <> 'copy t to ''x''; read_text('", ["SELECT"]),
        ("SELECT 1; INSERT INTO t VALUES (1), (2);; UPDATE t SET a = 3", ["SELECT", "INSERT", "UPDATE"]),
        ("WITH x AS (SELECT 1) FROM x", ["SELECT"]),
        ("(SELECT 1)", ["SELECT"]),
        ("WITH x AS (SELECT 1) INSERT INTO t FROM x", ["INSERT"]),
        ("PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)", ["MULTI"]),
        ("CREATE TABLE y AS SELECT E'a\\'b', $$;$$", ["CREATE"]),
        ("/* a comment */ SELECT 1", ["SELECT"]),
    ],
)
def test_long_texts_are_what_they_are(shop, text, kinds):
    assert [each.type.name for each in check_allowed(shop[0], long(text), ANN)] == kinds


def test_a_text_too_long_for_duckdbs_parser_is_plain_or_refused(con):
    check_allowed(con, "INSERT INTO t VALUES " + ", ".join(["(12345)"] * 300_000), ANN)
    check_allowed(con, f"SELECT length('{'x' * 5_000_000}')", ANN)
    with pytest.raises(ForbiddenError, match=r"5,000,\d+ characters .* and CREATE is in this one: send rows"):
        check_allowed(con, f"CREATE TABLE y AS SELECT '{'x' * 5_000_000}'", ANN)


def test_another_client_sees_neither_temporary_tables_nor_variables_nor_statements(con):
    con.execute("CREATE TEMP TABLE hidden AS SELECT 'secret' AS s; SET VARIABLE v = 'secret'")
    con.execute("PREPARE p AS SELECT 'secret'")
    con.execute("CREATE TEMP MACRO key() AS 'secret'")
    with con.cursor() as other:
        seen = other.execute(
            "SELECT table_name FROM duckdb_tables() UNION ALL SELECT function_name FROM duckdb_functions() "
            "WHERE macro_definition LIKE '%secret%' UNION ALL SELECT name FROM duckdb_prepared_statements() "
            "UNION ALL SELECT name FROM duckdb_variables() UNION ALL SELECT table_name FROM duckdb_columns() "
            "WHERE NOT internal"
        )
        assert seen.fetchall() == [("t",), ("t",)]
        for text in ("FROM hidden", "FROM temp.main.hidden", "EXECUTE p", "SELECT key()"):
            with pytest.raises(duckdb.Error, match="does not exist"):
                other.execute(text)
        assert other.execute("SELECT getvariable('v')").fetchone() == (None,)


@pytest.mark.parametrize("name", sorted(SETTINGS - {"search_path", "schema"}))
def test_a_setting_of_one_client_is_not_anothers(con, name):
    values = {"timezone": "Asia/Tokyo", "calendar": "japanese", "explain_output": "all", "pivot_limit": "7"}
    asked = f"SELECT current_setting('{name}')"
    (before,) = con.execute(asked).fetchone()
    value = values.get(name, str(not before).lower())
    text = f"SET {name} = '{value}'"
    check_allowed(con, text, ANN)
    con.execute(text)
    assert con.execute(asked).fetchone() != (before,)
    with con.cursor() as other:
        assert other.execute(asked).fetchone() == (before,)


PIECES = (
    "'", "''", '"', '""', "`", "$$", "$a$", "$1", "--", "\n", "\r", "/*", "*/", ";", "\\", "\\'", "E'", "e'",
    "x'", "U&'", "'a'", '"a"', " ", "\u00a0", "SELECT ", "SELECT 1", "FROM t", ", ", "(", ")", "1", "a",
    "copy", "COPY t TO 'x'", "INSERT INTO t VALUES (1)", "read_text('x')", "UPDATE t SET a = 1",
    "WITH x AS (", "-", "/", "$", "é", "CHECKPOINT",
)  # fmt: skip


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_a_long_text_is_read_as_duckdb_reads_it_or_not_at_all(text):
    check = Check(PARSER, ANN, False)
    found = check.long(text)
    if found is None:
        return
    try:
        parsed = PARSER.extract_statements(text)
    except duckdb.Error:
        return
    assert [each.type for each in found] == [each.type for each in parsed]
    check.statements(text)


def test_memory_and_temporary_files_are_limited(con, tmp_path):
    limits = "SELECT current_setting('memory_limit'), current_setting('max_temp_directory_size')"
    with duckdb.connect() as unlimited:
        assert con.execute(limits).fetchone() != unlimited.execute(limits).fetchone()
    # A share of all memory would crowd other tests out.
    with open_locked(tmp_path / "small.duckdb", memory_limit="300MB") as limited:
        with pytest.raises(duckdb.OutOfMemoryException):
            limited.execute("SELECT list(range) FROM range(10000000000)").fetchall()


def test_a_database_that_cannot_be_prepared_is_closed(tmp_path):
    seen = []

    def fails(con):
        seen.append(con)
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        open_locked(tmp_path / "shop.duckdb", prepare=fails)
    with pytest.raises(duckdb.ConnectionException):
        seen[0].execute("SELECT 1")
