"""The grammar of SELECT statements: what it takes, what it refuses, and that DuckDB parses what it makes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from relserve.linking.schema import Column, ColumnKind, Schema, Table
from relserve.text2sql.grammar.select import AGGREGATES, SCALARS, WINDOWS, select_grammar
from relserve.text2sql.guard.check import check_select
from tests.modules import later
from tests.text2sql.ebnf_walk import Walks
from tests.text2sql.real_questions import gold_queries

xgrammar = later("xgrammar")


def _table(name: str, columns: str, *qualifier: str) -> Table:
    return Table(
        name, tuple(Column(each, ColumnKind.TEXT, "VARCHAR") for each in columns.split()), qualifier=qualifier
    )


SCHEMA = Schema(
    (
        _table("beers", "id brewery_id style Abv group"),
        _table("breweries", "id name founded"),
        _table("order", "day", "sales"),
        Table(
            'odd "name" \\ 日本',
            (Column("a b", ColumnKind.INT, "INTEGER"), Column("x.y", ColumnKind.INT, "INTEGER")),
        ),
    )
)
BYTES = 256
Accepts = Callable[[str], bool]


def _accepting(schema: Schema) -> Accepts:
    """Whether a text is one of the grammar's, byte by byte."""
    vocabulary = [bytes([byte]) for byte in range(BYTES)] + [b"</s>"]
    info = xgrammar.TokenizerInfo(vocabulary, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[BYTES])
    compiled = xgrammar.GrammarCompiler(info, cache_enabled=False).compile_grammar(select_grammar(schema))

    def accepts(text: str) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        return bool(matcher.accept_string(text) and matcher.accept_token(BYTES))

    return accepts


@pytest.fixture(scope="module")
def accepts() -> Accepts:
    return _accepting(SCHEMA)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT *\nFROM beers",
        'SELECT "style", Abv FROM "beers" WHERE Abv > -0.5',
        "SELECT DISTINCT t1.style AS c1 FROM beers AS t1 LEFT JOIN breweries b ON t1.brewery_id = b.id",
        "SELECT beers.*, COUNT(DISTINCT style) FILTER (WHERE Abv IS NOT NULL) FROM beers GROUP BY ALL",
        "SELECT id, avg(Abv) AS c1 FROM beers GROUP BY id HAVING COUNT(*) >= 2 ORDER BY c1 LIMIT 3 OFFSET 1",
        "SELECT * FROM breweries WHERE name ILIKE '%o''b%' AND NOT (id IN (1, 2) OR id BETWEEN 3 AND 9)",
        "SELECT name FROM breweries WHERE id NOT IN (SELECT brewery_id FROM beers) OR EXISTS (SELECT 1)",
        "SELECT (SELECT MAX(Abv) FROM beers) - MIN(Abv) FROM beers",
        "WITH w1 AS (SELECT id AS c1 FROM beers), w2(c2) AS (SELECT 1) SELECT c1 FROM w1 CROSS JOIN w2",
        "SELECT id FROM beers UNION ALL SELECT id FROM breweries EXCEPT SELECT 3 ORDER BY id NULLS LAST",
        "SELECT CASE WHEN Abv > 5 THEN 'a' ELSE 'b' END, CAST(Abv AS INTEGER), id::DECIMAL(18, 2) FROM beers",
        "SELECT RANK() OVER (PARTITION BY id ORDER BY Abv DESC) FROM beers QUALIFY row_number() OVER () = 1",
        "SELECT SUM(Abv) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM beers",
        "SELECT EXTRACT(YEAR FROM day), day - INTERVAL 3 DAY, DATE '2020-01-31' FROM sales.\"order\"",
        "SELECT \"a b\" || 'x' FROM \"odd \"\"name\"\" \\ 日本\" WHERE \"x.y\" IS DISTINCT FROM 3",
        "SELECT a.c1 FROM (SELECT id AS c1 FROM beers) AS a, breweries WHERE a.c1 = ANY (SELECT 1)",
    ],
)  # fmt: skip
def test_queries_over_the_schema_are_taken(accepts: Accepts, sql: str) -> None:
    assert accepts(sql)
    with duckdb.connect() as con:
        assert not json.loads(con.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()[0][0])["error"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT styl FROM beers", "SELECT styles FROM beers", "SELECT style FROM beer",
        "SELECT STYLE FROM beers",
        "SELECT breweries.style FROM breweries", "SELECT group FROM beers", "SELECT day FROM order",
        'SELECT day FROM "order"', "SELECT x FROM beers", 
        "SELECT t1.nam FROM beers AS t1", "SELECT w4.id FROM w4",
        "SELECT getenv('HOME')", "SELECT query('x')", "FROM beers", "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'", "SELECT * FROM range(3)", "SELECT 1; SELECT 2", "SELECT 1 -- x",
        "DROP TABLE beers",
        "SELECT 1 /* x */", "INSERT INTO beers VALUES (1)", "COPY beers TO 'x'", "SELECT id FROM beers ", "",
        "SELECT * FROM duckdb_settings", "SELECT nextval('x')", "SELECT id, FROM beers", "SELECT 'x",
        "SELECT \"style FROM beers",
    ],
)  # fmt: skip
def test_other_names_functions_and_statements_are_refused(accepts: Accepts, sql: str) -> None:
    assert not accepts(sql)


@pytest.mark.long
def test_every_function_is_one_that_the_guard_lets_through() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        for name in [*SCALARS, *AGGREGATES, *WINDOWS]:
            over = " OVER ()" if name in WINDOWS else ""
            check_select(con, f"SELECT {name}(a){over} FROM t", None)


def test_random_queries_of_the_grammar_are_parsed_by_duckdb(accepts: Accepts) -> None:
    walks, chance = Walks(select_grammar(SCHEMA)), random.Random(16)
    with duckdb.connect() as con:
        for _ in range(120):
            sql = walks.text(chance, chance.randint(8, 16))
            assert accepts(sql), sql
            parsed = json.loads(con.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()[0][0])
            assert not parsed["error"], (parsed["error_message"], sql)


def test_a_large_schema_compiles() -> None:
    tables = [_table(f"table_{at}", " ".join(f"column_{at}_{by}" for by in range(50))) for at in range(40)]
    accepts = _accepting(Schema(tuple(tables)))
    assert accepts("SELECT table_7.column_7_3, t1.column_39_49 FROM table_7, table_39 AS t1")
    assert not accepts("SELECT column_40_1 FROM table_7")


@pytest.mark.data
@pytest.mark.parametrize(("name", "least"), [("spider_dev_even", 0.98), ("bird_even", 0.98)])
def test_gold_queries_are_taken_and_with_any_other_name_refused(name: str, least: float) -> None:
    by_schema: dict[str, Any] = {}
    taken = mutated = 0
    queries = gold_queries(name)
    for query in queries:
        accepts = by_schema.setdefault(query.database, None) or _accepting(query.schema)
        by_schema[query.database] = accepts
        taken += accepts(query.sql)
        for other in query.mutated:
            mutated += 1
            assert not accepts(other), other
    assert taken >= least * len(queries)
    assert mutated > len(queries)
