"""The prompt of a pointing model, and the SQL of its answers."""

import random

import duckdb
import pytest

from relserve.linking.pointer import PointerError, pointer_prompt, sql_of
from relserve.linking.schema import Column, ColumnKind, Reference, Schema, Table
from relserve.linking.values import SchemaValues

BEERS = Table(
    "beers",
    (
        Column("id", ColumnKind.INT, "INTEGER"),
        Column("name", ColumnKind.TEXT, "VARCHAR", values=("Punk IPA", "Guinness")),
        Column("style", ColumnKind.TEXT, "VARCHAR", values=("IPA", "Stout")),
        Column("abv", ColumnKind.NUM, "DOUBLE"),
        Column("brewery_id", ColumnKind.INT, "INTEGER", references=Reference("breweries", "id")),
        Column("brewed", ColumnKind.DATE, "TIMESTAMP"),
    ),
    key=("id",),
)
BREWERIES = Table(
    "breweries",
    (
        Column("id", ColumnKind.INT, "INTEGER"),
        Column("name", ColumnKind.TEXT, "VARCHAR"),
        Column("country", ColumnKind.TEXT, "VARCHAR", values=("Belgium", "France")),
        Column("active", ColumnKind.BOOL, "BOOLEAN"),
    ),
    key=("id",),
)
SCHEMA = Schema((BEERS, BREWERIES))


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    for table in SCHEMA.tables:
        columns = ", ".join(f'"{column.name}" {column.sql_type}' for column in table.columns)
        con.execute(f"CREATE TABLE {table.sql_name} ({columns})")
    con.execute("INSERT INTO breweries VALUES (1, 'Orval', 'Belgium', true), (2, 'Kro', 'France', false)")
    con.execute(
        "INSERT INTO beers VALUES (1, 'A', 'IPA', 6.0, 1, '2020-05-01 23:00'), (2, 'B', 'IPA', 4.0, 2, NULL)"
    )
    return con


def prompt(question: str):
    return pointer_prompt(SCHEMA, question, SchemaValues(SCHEMA))


def test_the_prompt_holds_the_schema_and_the_marked_question():
    assert prompt("average abv of ipa beers").text == (
        "beer +s t0 : id c0 int * , name c1 text ! , style c2 text , abv c3 num , brewery id c4 int > t1 , "
        "brewed c5 date ; brewery +s t1 : id c6 int * , name c7 text ! , country c8 text , active c9 bool ? "
        "average avg abv = c3 of <str> v0 @ c2 beer +s # t0 =>"
    )


def test_a_value_is_written_as_the_database_spells_it(con):
    sql = sql_of("select avg ( c3 ) from t0 where c2 = v0", prompt("average abv of ipa beers"))
    assert sql == """SELECT avg("abv") FROM "beers" WHERE "style" = 'IPA'"""
    assert con.sql(sql).fetchall() == [(5.0,)]


def test_two_tables_are_joined_over_the_reference(con):
    sql = sql_of("select c1 from t0 join t1 where c8 = v0", prompt("names of beers from Belgium"))
    assert con.sql(sql).fetchall() == [("A",)]


def test_a_time_is_compared_by_its_day(con):
    found = prompt("beers brewed on 2020-05-01")
    assert con.sql(sql_of("select c1 from t0 where c5 = v0", found)).fetchall() == [("A",)]


@pytest.mark.parametrize(
    ("answer", "sql"),
    [
        (
            "select c1 , count ( * ) from t0 group by c0",
            'SELECT "name", count(*) FROM "beers" GROUP BY "id", "name"',
        ),
        ("select distinct c2 from t0 order by c2", 'SELECT DISTINCT "style" FROM "beers" ORDER BY "style"'),
        (
            "select distinct c2 from t0 order by c3 desc",
            'SELECT "style" FROM "beers" GROUP BY "style" ORDER BY max("abv") DESC',
        ),
        (
            "select c2 from t0 group by c2 order by c3 limit 1",
            'SELECT "style" FROM "beers" GROUP BY "style" ORDER BY min("abv") LIMIT 1',
        ),
        (
            "select * from t0 where c2 is null or c3 is null and c1 is not null",
            'SELECT * FROM "beers" WHERE ("style" IS NULL OR "abv" IS NULL) AND "name" IS NOT NULL',
        ),
    ],
)
def test_an_answer_becomes_sql(con, answer, sql):
    assert sql_of(answer, prompt("beers")) == sql
    con.sql(sql).fetchall()


def test_a_shuffle_changes_handles_and_not_the_sql():
    shuffled = pointer_prompt(SCHEMA, "average abv", SchemaValues(SCHEMA), random.Random(1))
    abv, beers = shuffled.handles.columns[3], shuffled.handles.tables[0]
    assert (abv, beers) != ("c3", "t0")
    assert sql_of(f"select avg ( {abv} ) from {beers}", shuffled) == 'SELECT avg("abv") FROM "beers"'


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", 'no "from"'),
        ("select c9 from t0", "not in FROM"),
        ("select c0 from t5", "no table"),
        ("select c30 from t0", "no column"),
        ("select c0 from t0 where c3 > v0", "no value"),
        ("select c0 from t0 where c3 >", "ends in the middle"),
        ("select c0 from t0 limit 1 1", "goes on"),
        ("select c0 from t0 join t0", "two different tables"),
        ("select c0 , count ( * ) from t0", "without a group"),
        ("select count ( * ) from t0 order by c0", "no order"),
    ],
)
def test_an_answer_that_is_none_says_why(answer, reason):
    with pytest.raises(PointerError, match=reason):
        sql_of(answer, prompt("average abv"))


@pytest.mark.parametrize("question", ["Beers brewed in April", "beers brewed since april with abv above 4"])
def test_a_month_without_a_year_is_refused(question):
    with pytest.raises(PointerError, match=r"pril. is a month of which year"):
        prompt(question)


@pytest.mark.parametrize("question", ["May I see beers of May 2026?", "Beers brewed from 3 to 5 May 2026"])
def test_a_month_of_a_year_and_a_verb_are_no_month_without_a_year(question):
    assert prompt(question).text


def test_a_schema_of_more_columns_than_handles_is_refused():
    wide = Schema((Table("wide", tuple(Column(f"x{n}", ColumnKind.INT, "INTEGER") for n in range(41))),))
    with pytest.raises(PointerError, match="41 columns"):
        pointer_prompt(wide, "how many?", SchemaValues(wide))
