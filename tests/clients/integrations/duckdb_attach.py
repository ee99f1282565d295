"""Another DuckDB that attaches `relserve serve`; the arguments: its port, the extension's file."""

import sys
from collections.abc import Iterable

import duckdb

PORT, EXTENSION = sys.argv[1:]
# What the server has, which the client must read as the same texts; then the client's type of it.
VALUES = (
    (["true", "false"], "BOOLEAN", "BOOLEAN"),
    (["-128", "127"], "TINYINT", "SMALLINT"),
    (["65535"], "USMALLINT", "INTEGER"),
    (["-2147483648"], "INTEGER", "INTEGER"),
    (["9223372036854775807"], "BIGINT", "BIGINT"),
    (["18446744073709551615", "0"], "UBIGINT", "DECIMAL(20,0)"),
    (["1.5", "nan", "-0.0", "inf"], "FLOAT", "FLOAT"),
    (["1e+300", "0.1"], "DOUBLE", "DOUBLE"),
    (["-999.9", "0.0"], "DECIMAL(4,1)", "DECIMAL(4,1)"),
    (["1234567890123456789012345678.0123456789"], "DECIMAL(38,10)", "DECIMAL(38,10)"),
    (["", "é€𝄞", "a b\\c\n\t"], "VARCHAR", "VARCHAR"),
    (["\\x00\\xFF", ""], "BLOB", "BLOB"),
    (["2024-02-29", "0044-03-15 (BC)", "infinity", "-infinity"], "DATE", "DATE"),
    (["00:00:00", "23:59:59.999999", "24:00:00"], "TIME", "TIME"),
    (["2024-02-29 12:34:56.789012", "1969-12-31 23:59:59.9", "infinity"], "TIMESTAMP", "TIMESTAMP"),
    (["2024-02-29 12:34:56+00"], "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"),
    (["1 year 2 months 3 days 04:00:00", "-00:00:05"], "INTERVAL", "INTERVAL"),
    (["5f0e7e1c-2a55-4d2f-8d54-1a9c1e7b9f10"], "UUID", "UUID"),
    (['{"a": [1, null]}'], "JSON", "VARCHAR"),
    (["10110"], "BIT", "VARCHAR"),
    (["happy"], "mood", "ENUM('sad', 'happy')"),
    (["[1, NULL, 3]", "[]"], "INTEGER[]", "INTEGER[]"),
    (["[a, b]"], "VARCHAR[]", "VARCHAR[]"),
    (["[1.25, -3.00]"], "DECIMAL(9,2)[]", "DECIMAL(9,2)[]"),
    (["[2020-01-01]"], "DATE[]", "DATE[]"),
    (["[[1,2],[3]]"], "INTEGER[][]", "VARCHAR"),
    (['{"a":1,"b":"x"}'], "STRUCT(a INTEGER, b VARCHAR)", "VARCHAR"),
)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def table_of(number: int, texts: Iterable[str], kind: str) -> str:
    rows = ", ".join(f"({n}, CAST({quoted(text)} AS {kind}))" for n, text in enumerate(texts))
    return f"CREATE TABLE kind{number} AS SELECT * FROM (VALUES {rows}, (99, NULL)) t(n, v)"


con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
con.execute(f"LOAD {quoted(EXTENSION)}")
con.execute("SET TimeZone = 'UTC'")
con.execute(f"ATTACH 'host=127.0.0.1 port={PORT} user=ann dbname=memory' AS r (TYPE postgres, SCHEMA 'main')")


def at_server(sql: str) -> None:
    con.execute("CALL postgres_execute('r', ?)", [sql])


def refused(sql: str) -> str:
    try:
        con.execute(sql).fetchall()
    except duckdb.Error as error:
        return str(error)
    raise AssertionError(f"not refused: {sql}")


at_server("CREATE TYPE mood AS ENUM ('sad', 'happy')")
at_server("; ".join(table_of(number, texts, kind) for number, (texts, kind, _) in enumerate(VALUES)))
con.execute("CALL pg_clear_cache()")
for number, (texts, kind, client_kind) in enumerate(VALUES):
    found = con.execute(f"SELECT v::VARCHAR, typeof(v) FROM r.kind{number} ORDER BY n").fetchall()
    assert found == [*((text, client_kind) for text in texts), (None, client_kind)], (kind, found)

# llm calls run at the server: in its views, and in a text that is sent
at_server("CREATE VIEW judged AS SELECT id, llm_filter('Is {name} good?', name) AS good FROM beers")
con.execute("CALL pg_clear_cache()")
right = con.execute("SELECT * FROM r.judged ORDER BY id").fetchall()
sent = "SELECT id, llm_filter('Is {name} good?', name) AS good FROM beers"
assert con.execute("SELECT * FROM postgres_query('r', ?) ORDER BY id", [sent]).fetchall() == right
assert {good for _, good in right} == {True, False}

# filters are the server's, joins and LIMIT the client's
assert con.execute("SELECT id FROM r.beers WHERE name IN ('beer 3', 'beer 4') AND id > 3").fetchall() == [
    (4,)
]
local = "SELECT count(*) FROM range(4) t(i) JOIN r.beers ON id = i JOIN r.judged USING (id)"
assert con.execute(local).fetchone() == (4,)
assert con.execute("SELECT id FROM r.beers ORDER BY id DESC LIMIT 2").fetchall() == [(8,), (7,)]

# writing
con.execute(
    "CREATE TABLE r.made (id INTEGER PRIMARY KEY, text VARCHAR NOT NULL, price DECIMAL(9,2), sold BIGINT[])"
)
con.execute("INSERT INTO r.made SELECT i, 'row ' || i, i / 2, [i, NULL] FROM range(5000) t(i)")
assert con.execute("SELECT count(*), sum(price) FROM r.made").fetchone() == (5000, 6248750)
assert con.execute("SELECT * FROM r.made WHERE id = 7").fetchone() == (7, "row 7", 3.5, [7, None])
con.execute("BEGIN")
con.execute("INSERT INTO r.made VALUES (5000, 'x', NULL, NULL)")
con.execute("ROLLBACK")
assert con.execute("SELECT max(id) FROM r.made").fetchone() == (4999,)
con.execute("CREATE TABLE r.copied AS SELECT i, i::FLOAT AS f, DATE '2024-01-01' AS d FROM range(3) t(i)")
assert con.execute("SELECT sum(f) FROM r.copied").fetchone() == (3,)
keys = "SELECT constraint_type FROM duckdb_constraints() WHERE database_name = 'r'"
assert {("PRIMARY KEY",), ("NOT NULL",)} <= set(con.execute(keys).fetchall())
assert "postgres_execute" in refused("UPDATE r.made SET text = 'y' WHERE id = 1")
assert "with DOUBLE" in refused("CREATE TABLE r.wide AS SELECT 0.1::DOUBLE AS d")
at_server("UPDATE made SET text = 'y' WHERE id = 1; CREATE TABLE timed AS SELECT TIMETZ '12:00:00+01' AS at")
con.execute("CALL pg_clear_cache()")
assert con.execute("SELECT text FROM r.made WHERE id = 1").fetchone() == ("y",)
assert "Cast it to VARCHAR" in refused("SELECT * FROM r.timed")
print("ok")
