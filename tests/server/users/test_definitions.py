"""What a plain user may define for all, and what only for themselves."""

from __future__ import annotations

import pytest

from relserve.errors import ForbiddenError
from relserve.server.users.lockdown import check_allowed, open_locked
from relserve.server.users.users import User

ANN, ROOT = User("ann"), User("root", is_admin=True)

ALLOWED = """
CREATE TABLE x (id INT PRIMARY KEY, made TIMESTAMP DEFAULT now(), n INT DEFAULT length('x') CHECK (n > 0))
CREATE TABLE x (a INT, twice INT GENERATED ALWAYS AS (2 * a) VIRTUAL)
CREATE TABLE x AS SELECT current_query() AS q, current_setting('TimeZone') AS z
CREATE TABLE x AS (SELECT getvariable('a') AS v)
CREATE TABLE x (current_setting VARCHAR, getvariable INT)
CREATE VIEW x AS SELECT 'current_query()' AS current_query FROM t -- getvariable('a')
CREATE VIEW x AS SELECT count(*), sum(a) FROM t
CREATE MACRO total(x) AS sum(x)
CREATE MACRO shop_lower(x) AS lower(x)
CREATE TEMP MACRO sum(x) AS 42
CREATE OR REPLACE TEMPORARY VIEW duckdb_tables AS SELECT current_query() AS q
CREATE TEMP TABLE x (q VARCHAR DEFAULT current_query())
CREATE TABLE tables (a INT)
CREATE TYPE mood AS ENUM ('sad', 'ok')
CREATE SCHEMA sales
CREATE SEQUENCE sum START 5
CREATE INDEX sum ON t (a)
ALTER TABLE t ADD COLUMN b INT DEFAULT 3
ALTER TABLE t RENAME TO items
ALTER TABLE t RENAME COLUMN a TO sum
CREATE TABLE "copy" (a INT)
CREATE TABLE x (a INT DEFAULT twice(1))
""".strip().splitlines()  # fmt: skip


@pytest.fixture
def con():
    with open_locked(":memory:") as con:
        con.execute("CREATE TABLE t AS SELECT range AS a FROM range(10)")
        con.execute("CREATE MACRO twice(x) AS 2 * x")
        yield con


@pytest.mark.parametrize("text", ALLOWED)
def test_a_plain_user_may_define(con, text):
    check_allowed(con, text, ANN)
    con.execute(text)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE x (a INT, q VARCHAR DEFAULT current_query())", "CREATE MACRO sum(x) AS 42",
        "CREATE VIEW duckdb_tables AS SELECT 1", "CREATE VIEW x AS FROM duckdb_variables()",
    ],
)  # fmt: skip
def test_an_admin_may_define_for_all(con, text):
    check_allowed(con, text, ROOT)
    with pytest.raises(ForbiddenError):
        check_allowed(con, text, ANN)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE x (a INT, q VARCHAR DEFAULT asked())",
        "CREATE TABLE x (a INT, q VARCHAR DEFAULT by_another())",
        "CREATE MACRO third() AS main.by_another()",
    ],
)
def test_a_macro_of_an_admins_that_tells_of_a_session_is_one_step_more(con, text):
    con.execute("CREATE MACRO asked() AS current_query(); CREATE MACRO by_another() AS upper(asked())")
    with pytest.raises(ForbiddenError, match=r"(asked|by_another) in a (table|macro) that others use"):
        check_allowed(con, text, ANN)


def test_what_another_defined_for_all_ran_in_everybodys_session(con):
    """What is refused, DuckDB does."""
    con.execute("CREATE MACRO main.lower(x) AS 'mine'")
    con.execute("CREATE TABLE x (a INT, q VARCHAR DEFAULT current_query())")
    with con.cursor() as other:
        assert other.execute("SELECT lower('A')").fetchall() == [("mine",)]
        other.execute("INSERT INTO x (a) VALUES (41 + 1)")
    assert con.execute("FROM x").fetchall() == [(42, "INSERT INTO x (a) VALUES (41 + 1)")]


def test_nobody_takes_the_database_from_the_others(con):
    for user in (ANN, ROOT):
        with pytest.raises(ForbiddenError, match="stop the server"):
            check_allowed(con, "ALTER DATABASE memory SET ALIAS TO other", user)
