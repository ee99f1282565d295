"""Which generated texts may run, and which are refused."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from relserve.errors import UnsafeSqlError, UsageError
from relserve.linking.schema import Schema, Table
from relserve.text2sql.guard.check import LONGEST, check_select
from relserve.text2sql.guard.functions import plain_names

ALLOWED = Schema((Table("t", ()), Table("v", ()), Table("u", (), qualifier=("sc",))))

MAY = """
SELECT 1
select a, REVERSE(b) from T -- a comment
SELECT a, sum(a) OVER (ORDER BY b ROWS 2 PRECEDING) FROM t QUALIFY row_number() OVER (ORDER BY a) = 1
SELECT b, count(*) FILTER (a > 1), median(a) FROM t GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL DESC LIMIT 3
SELECT DISTINCT ON (b) * EXCLUDE l FROM main.t ORDER BY random()
SELECT a FROM t UNION SELECT a FROM sc.u EXCEPT (SELECT 3 INTERSECT SELECT 4)
SELECT * FROM v JOIN t USING (a) LEFT JOIN sc.u ON u.a = t.a, LATERAL (SELECT t.a) x
SELECT CASE WHEN a IN (SELECT a FROM v) AND EXISTS (FROM t) THEN a ELSE (SELECT max(a) FROM t) END FROM t
WITH x AS (SELECT a FROM t), y AS (FROM x) SELECT x.a FROM x, y
WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 5) FROM r
WITH secret AS (SELECT 7) FROM secret
SELECT list_sum(l), list_aggregate(l, 'avg'), l[1], len(l), array_to_string(l, ',') FROM t
SELECT strftime(now(), '%Y'), date_trunc('month', DATE '2020-01-02'), extract(year FROM today()) + 1
SELECT a - 1, year(now()), age(now()), time_bucket(INTERVAL 1 DAY, now()), timezone('UTC', now()) FROM t
SELECT current_localtimestamp(), current_localtime(), datediff('day', DATE '2020-01-02', today())
SELECT '{"a": 1}'::JSON -> 'a', b LIKE 'x%', regexp_matches(b, '^x'), levenshtein(b, 'xyz') FROM t
SELECT lpad(a::VARCHAR, 5, '0'), printf('%05d', a), format('{:>8}', b), repeat('-', 20) FROM t
SELECT unnest(range(10)), unnest(generate_series(1, 3))
FROM range(10) r(i), generate_series(DATE '2020-01-01', DATE '2020-01-05', INTERVAL 1 DAY), unnest([1, 2])
FROM t PIVOT (sum(a) FOR b IN ('x', 'y'))
UNPIVOT (SELECT a FROM t) ON a INTO NAME n VALUE w
SELECT COLUMNS('a'), b COLLATE nocase FROM t TABLESAMPLE 50%
SELECT twice(a) FROM doubles(3)
FROM t ASOF JOIN v ON t.a >= v.a
VALUES (1, 'x'), (2, 'y')
SELECT ')', a AS "(", $$ [ $$ FROM t -- {
WITH x AS (WITH y AS (SELECT NULL AS a) FROM y) SELECT CAST(a AS TIMESTAMP WITH TIME ZONE) IS NULL FROM x
SELECT format('{{}} {:>5}', a) FROM t
SELECT 'DROP TABLE t; FROM read_text(''/etc/passwd'')'
""".strip().splitlines()

MAY_NOT = {
    "": "holds 0 statements",
    "SELECT 1; SELECT 2": "holds 2 statements",
    "DROP TABLE t": "this is DROP",
    "PIVOT t ON b USING sum(a)": "one SELECT",
    "DESCRIBE t": "DESCRIBE, SHOW or SUMMARIZE",
    "SELECT 1 FROM (SHOW TABLES)": "DESCRIBE, SHOW or SUMMARIZE",
    "WITH x AS (COPY t TO 'x.csv') SELECT 1": "holds COPY",
    "WITH x AS (INSERT INTO t VALUES (1) RETURNING *) FROM x": "holds INSERT",
    "WITH x AS (DELETE FROM t RETURNING *) FROM x": "holds DELETE",
    "WITH x AS (UPDATE t SET a = 1 RETURNING *) FROM x": "holds UPDATE",
    "FROM secret": 'it may read "t", "v", "sc"."u"$',
    "FROM memory.main.secret": "no table",
    "SELECT (SELECT s FROM secret)": "no table",
    "SELECT 1 FROM t WHERE b IN (SELECT s FROM secret)": "no table",
    "WITH a AS (FROM secret), secret AS (SELECT 1) FROM a": "no table",
    "WITH secret AS (FROM secret) FROM secret": "no table",
    "WITH secret AS (SELECT 1) FROM main.secret": "no table",
    "WITH RECURSIVE secret AS (FROM secret UNION ALL SELECT 1) FROM secret": "no table",
    "(WITH secret AS (SELECT 1) FROM secret) UNION ALL FROM secret": "no table",
    "FROM 'x.csv'": "no table",
    'FROM "x.parquet"': "no table",
    "FROM a_variable": "no table",
    "FROM sqlite_master": "no table",
    "FROM information_schema.tables": "no table",
    "FROM nowhere": "no table",
    "FROM \u212a": "no table",
    "FROM read_text('/etc/passwd')": "reads files",
    "FROM system.main.READ_TEXT('/etc/passwd')": "reads files",
    "FROM query('SELECT 1')": "runs a text as SQL",
    "FROM query_table('secret')": "runs a text as SQL",
    "FROM duckdb_settings()": "only generate_series, range, unnest",
    "SELECT reads_secret()": "no table",
    "FROM reads_file('/etc/passwd')": "reads files",
    "SELECT python_function(1)": "none of DuckDB's own",
    "SELECT upper(1)": "another meaning",
    "SELECT lower('A')": "no table",
    "SELECT getvariable('x')": "session or the database",
    "SELECT current_setting('TimeZone')": "session or the database",
    "SELECT nextval('n')": "changes something",
    "SELECT setseed(0.5)": "changes something",
    "SELECT json_serialize_plan('FROM secret')": "reads a text as SQL",
    "SELECT list_transform(l, lambda x: x + 1) FROM t": "nothing can interrupt",
    "SELECT [x + 1 FOR x IN l] FROM t": "nothing can interrupt",
    "SELECT list_aggregate(l, b) FROM t": "written out",
    "SELECT list_aggregate(l, 'combine_aggr') FROM t": "may not be called",
    "SELECT sum(a) EXPORT_STATE FROM t": "EXPORT_STATE",
    "SELECT $1": "parameter",
    "SELECT 'x'::inet": "no type",
    "SELECT 'x'::mood": "no type",
    "SELECT b COLLATE nowhere FROM t": "no collation",
    "SELECT repeat(b, a) FROM t": "written out",
    "SELECT repeat(b, 1000000) FROM t": "10,000 times larger",
    "SELECT repeat(s, 1000) FROM (SELECT repeat(b, 1000) AS s FROM t)": "10,000 times larger",
    "SELECT printf('%1000000000d', 1)": "10,000 times larger",
    "SELECT printf('%*d', 1000000000, 1)": "widths are numbers",
    "SELECT format('{:{}}', 1, 1000000000)": "widths are numbers",
    "SELECT format('{:>{}}', 1, 1000000000)": "widths are numbers",
    "SELECT a" + ".a" * 5_000 + " FROM t": "names by dots",
    "SELECT " + "(" * 4_000: "deep",
    "SELECT " + "(" * 30: "never closed",
    "SELECT ((1)]": "closes nothing",
    "WITH a AS (" * 10 + ")" * 10: "WITH in WITH",
    "WITH a AS (WITH a AS (": "never closed",
    "SELECT unnest(range(a)) FROM t": "FROM range",
    "SELECT levenshtein(b, b) FROM t": "nothing can interrupt",
    "FROM t PIVOT (sum(a) FOR b IN mood)": "names its values",
    "FROM t AT (VERSION => 1)": "as they are now",
    "SELECT " + "(" * 150 + "1" + " + 1)" * 150: "deep",
    "SELECT 1 IN (" + ", ".join(["1"] * 5_500) + ")": "parts",
    "SELECT '" + "x" * LONGEST + "'": "characters",
    "SELECT 1\0; DROP TABLE t": "NUL",
}


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with allowed tables, a secret one, and functions of its users."""
    with duckdb.connect() as con:
        con.execute(
            """
            CREATE TABLE t (a INT, b VARCHAR, l INT[]); CREATE SCHEMA sc; CREATE TABLE sc.u AS SELECT 1 AS a;
            CREATE VIEW v AS FROM t; CREATE TABLE secret AS SELECT 'marker' AS s; CREATE TABLE k AS SELECT 1;
            CREATE SEQUENCE n; CREATE TYPE mood AS ENUM ('x', 'y'); CREATE MACRO twice(x) AS 2 * x;
            CREATE MACRO doubles(x) AS TABLE SELECT a, a * x AS d FROM t;
            CREATE MACRO reads_secret() AS (FROM secret); CREATE MACRO lower(x) AS (SELECT s FROM secret);
            CREATE MACRO reads_file(f) AS TABLE FROM read_text(f)
            """
        )
        con.create_function("python_function", lambda x: x, ["INTEGER"], "INTEGER")
        con.create_function("upper", lambda x: x, ["INTEGER"], "INTEGER")
        yield con


@pytest.mark.cells(12)
@pytest.mark.parametrize("sql", MAY)
def test_a_select_over_allowed_tables_may_run(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    check_select(con, sql, ALLOWED)
    con.execute(sql).fetchall()


@pytest.mark.parametrize(("sql", "why"), MAY_NOT.items(), ids=lambda text: text[:60])
def test_anything_else_is_refused(con: duckdb.DuckDBPyConnection, sql: str, why: str) -> None:
    with pytest.raises(UnsafeSqlError, match=why) as refused:
        check_select(con, sql, ALLOWED)
    assert isinstance(refused.value, UsageError)


@pytest.mark.parametrize(("stabilities", "may"), [
    (["CONSISTENT"], True), (["CONSISTENT", "CONSISTENT_WITHIN_QUERY"], True),  # as 2.0.1 has + and year
    (["CONSISTENT_WITHIN_QUERY"], False), (["CONSISTENT", "VOLATILE"], False), ([None], False),
])  # fmt: skip
def test_a_function_of_values_may_look_at_the_time_zone(stabilities: list[str | None], may: bool) -> None:
    rows = [("f", "scalar", "main", True, each, None) for each in stabilities]
    assert ("f" in plain_names(rows)) == may


def test_without_a_schema_all_tables_of_users_may_be_read(con: duckdb.DuckDBPyConnection) -> None:
    check_select(con, "FROM secret, t, sc.u", None)
    for sql in ("FROM duckdb_tables()", "FROM pg_catalog.pg_class", "FROM 'x.csv'"):
        with pytest.raises(UnsafeSqlError):
            check_select(con, sql, None)


def test_a_text_that_duckdb_cannot_read_is_duckdbs_error(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.ParserException, match='at or near "t"'):
        check_select(con, "SELECT 1 FORM t", ALLOWED)


def test_a_bare_name_is_the_temporary_table_first() -> None:
    with duckdb.connect() as own:
        own.execute("CREATE TABLE t AS SELECT 1 AS a; CREATE TEMP TABLE t AS SELECT 2 AS a")
        assert own.execute("FROM t").fetchall() == [(2,)]
        permanent = Schema((Table("t", (), qualifier=("memory", "main")),))
        check_select(own, "FROM memory.main.t", permanent)
        with pytest.raises(UnsafeSqlError):
            check_select(own, "FROM t", permanent)
