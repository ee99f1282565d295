"""What the linker marks in a question, by the text that the model reads."""

from datetime import date

import pytest

from relserve.linking.pointer import PointerError, pointer_prompt, sql_of
from relserve.linking.schema import Column, ColumnKind, Reference, Schema, Table
from relserve.linking.values import SchemaValues

MOVIES = Table(
    "movies",
    (
        Column("movie_id", ColumnKind.INT, "INTEGER"),
        Column("title", ColumnKind.TEXT, "VARCHAR", values=("Alien", "Heat")),
        Column("genre", ColumnKind.TEXT, "VARCHAR", values=("Comedy", "Drama", "comedy")),
        Column("release_year", ColumnKind.INT, "INTEGER"),
        Column("budget_usd", ColumnKind.NUM, "DOUBLE"),
        Column("director_id", ColumnKind.INT, "INTEGER", references=Reference("directors", "id")),
        Column("runtime_min", ColumnKind.INT, "INTEGER"),
        Column("is_restored", ColumnKind.BOOL, "BOOLEAN"),
    ),
    key=("movie_id",),
)
DIRECTORS = Table(
    "directors",
    (
        Column("id", ColumnKind.INT, "INTEGER"),
        Column("full_name", ColumnKind.TEXT, "VARCHAR", values=("Ridley Scott",)),
        Column("birth_date", ColumnKind.DATE, "DATE"),
        Column("nationality", ColumnKind.TEXT, "VARCHAR", values=("British", "American")),
        Column("zip", ColumnKind.TEXT, "VARCHAR", values=("10115", "3")),
    ),
    key=("id",),
)
SCHEMA = Schema((MOVIES, DIRECTORS))


def prompt(question: str):
    return pointer_prompt(SCHEMA, question, SchemaValues(SCHEMA))


def marked(question: str) -> str:
    return prompt(question).text.split(" ? ", 1)[1].removesuffix(" =>")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who directed Alien", "who ~ c9 directed ~ c5 <str> v0 @ c1"),
        ("which comedies", "which <str> v0 @ c2"),
        ("directors from the UK", "director +s # t1 from the <str> v0 @ c11"),
        ("youngest directors", "youngest max ~ c10 director +s # t1"),
        ("oldest movie", "oldest min ~ c3 movie # t0"),
        ("longer than 90 minutes", "longer > ~ c6 than <num> v0 minute +s ~ c6"),
        ("least expensive film", "least expensive min ~ c4 film # t0"),
        ("movies that are not restored", "movie +s # t0 that are not restored false = c7"),
        ("restored movies", "restored true = c7 movie +s # t0"),
        ("names of movies", "name +s ~ c1 of movie +s # t0"),
        ("the director's name", "the director # t1 's name ~ c9"),
        ("movie ids", "movie id +s = c0 # t0"),
        ("no more than 5", "no more than <= <num> v0"),
        ("5 or more movies", "<num> v0 or more >= movie +s # t0"),
        ("5 or more than 9", "<num> v0 or more than > <num> v1"),
        ("how many genres", "how many count genre +s = c2"),
        ("sorted by title, newest first", "sorted by order by title = c1 , newest first desc"),
        ("movies not from 1999", "movie +s # t0 not != from <year> v0 ~ c3"),
        ("not directed by Ridley Scott", "not != directed ~ c5 by <str> v0 @ c9"),
        ("1990 to 1999", "<year> v0 ~ c3 c10 to between <year> v1 ~ c3 c10"),
        ("movies with heat in the title", "movie +s # t0 with <str> v0 @ c1 in the title = c1"),
        ("movies with ale in the title", "movie +s # t0 with <str> v0 in the title = c1"),
        ("zip 10115", "zip = c12 <num> v0 @ c12"),
        ("top 3", "top max <num> v0"),
        ("at least one movie", "at least >= <num> v0 movie # t0"),
        ("title of 'Foo Bar'", "title = c1 of <str> v0"),
        ("SHOW MOVIES FROM ROME", "show movie +s # t0 from rome"),
    ],
)
def test_a_question_is_marked(question, text):
    assert marked(question) == text


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("over $1,500.50", "1500.50"),
        ("over 5k", "5000"),
        ("over 1.5 million", "1500000"),
        ("over 2m", "2000000"),
        ("over -3.25", "-3.25"),
        ("over 50%", "50"),
        ("twenty movies", "20"),
        ("three thousand", "3000"),
    ],
)
def test_a_number_is_read(question, number):
    (value,) = prompt(question).values
    assert value.number == number


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("on 2023-05-01", "2023-05-01", "2023-05-01"),
        ("on 1 May 2023", "2023-05-01", "2023-05-01"),
        ("on the 1st of May 2023", "2023-05-01", "2023-05-01"),
        ("on May 1st, 2023", "2023-05-01", "2023-05-01"),
        ("on 05/13/2023", "2023-05-13", "2023-05-13"),
        ("on 13.5.2023", "2023-05-13", "2023-05-13"),
        ("in December 2023", "2023-12-01", "2023-12-31"),
        ("in 2024-02", "2024-02-01", "2024-02-29"),
        ("in Q4 2023", "2023-10-01", "2023-12-31"),
        ("in the second quarter of 2023", "2023-04-01", "2023-06-30"),
        ("in the 1990s", "1990-01-01", "1999-12-31"),
    ],
)
def test_a_date_is_read(question, first, last):
    (value,) = prompt(question).values
    assert value.period is not None
    assert [day.isoformat() for day in value.period] == [first, last]


@pytest.mark.parametrize("sign", ["=", "!=", ">", "<", ">=", "<="])
def test_a_period_is_compared_by_its_ends(sign):
    sql = sql_of(f"select c9 from t1 where c10 {sign} v0", prompt("born in May 1960"))
    first, last = "DATE '1960-05-01'", "DATE '1960-05-31'"
    ends = {
        "=": f"BETWEEN {first} AND {last}",
        "!=": f"NOT BETWEEN {first} AND {last}",
        ">": f"> {last}",
        "<": f"< {first}",
        ">=": f">= {first}",
        "<=": f"<= {last}",
    }
    assert sql.endswith(f'"birth_date" {ends[sign]}')


@pytest.mark.parametrize(
    ("question", "condition", "sql"),
    [
        ("comedies", "c2 = v0", """"genre" IN ('Comedy', 'comedy')"""),
        ("'heat'", "c1 != v0", """"title" <> 'Heat'"""),
        ("'It''s'", "c1 = v0", """lower("title") = lower('It''s')"""),
        ("'50%_\\'", "contains ( c1 , v0 )", """"title" ILIKE '%50\\%\\_\\\\%' ESCAPE '\\'"""),
        ("born in 1960", "year ( c10 ) = v0", 'year("birth_date") = 1960'),
    ],
)
def test_a_value_is_written(question, condition, sql):
    found = prompt(question)
    tables = "t1" if "c10" in condition else "t0"
    assert sql_of(f"select count ( * ) from {tables} where {condition}", found).endswith(f"WHERE {sql}")


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("born on 05/06/2023", "2023-05-06 or 2023-06-05"),
        ("the second longest movie", "one place of a ranking"),
        ("1 2 3 4 5 6 7 8 9 10 11", "11 values"),
    ],
)
def test_a_question_beyond_the_language_is_refused(question, reason):
    with pytest.raises(PointerError, match=reason):
        prompt(question)


def test_a_column_of_the_near_table_is_meant():
    beers = Table(
        "beers",
        (Column("id", ColumnKind.INT, "INTEGER"), Column("name", ColumnKind.TEXT, "VARCHAR")),
        key=("id",),
    )
    pubs = Table(
        "pubs",
        (Column("id", ColumnKind.INT, "INTEGER"), Column("name", ColumnKind.TEXT, "VARCHAR")),
        key=("id",),
    )
    both = Schema((beers, pubs))
    text = pointer_prompt(both, "name of the pub and names of beers", SchemaValues(both)).text
    assert text.endswith("name = c3 of the pub # t1 and name +s = c1 of beer +s # t0 =>")


def test_a_value_of_several_columns_is_of_the_one_spoken_of():
    columns = [Column(name, ColumnKind.TEXT, "VARCHAR", values=("Rome",)) for name in ("city", "origin")]
    trips, guests = Table("trips", (*columns,)), Table("guests", (columns[0],))
    both = Schema((trips, guests))

    def text(question: str) -> str:
        return pointer_prompt(both, question, SchemaValues(both)).text.split(" ? ", 1)[1]

    assert text("origin Rome") == "origin = c1 <str> v0 @ c1 =>"
    assert text("trips of Rome") == "trip +s # t0 of <str> v0 @ c0 c1 =>"
    assert text("all of Rome") == "all of <str> v0 @ c0 c1 c2 =>"


@pytest.mark.parametrize(
    ("said", "first", "last"),
    [
        ("today", "2024-03-14", "2024-03-14"),
        ("yesterday", "2024-03-13", "2024-03-13"),
        ("this week", "2024-03-11", "2024-03-17"),
        ("last week", "2024-03-04", "2024-03-10"),
        ("last month", "2024-02-01", "2024-02-29"),
        ("next month", "2024-04-01", "2024-04-30"),
    ],
)
def test_a_day_is_told_from_today(said, first, last):
    (value,) = pointer_prompt(SCHEMA, f"born {said}", SchemaValues(SCHEMA), today=date(2024, 3, 14)).values
    assert value.period is not None
    assert [day.isoformat() for day in value.period] == [first, last]


def test_a_year_told_from_today_is_a_year():
    found = pointer_prompt(SCHEMA, "movies of last year", SchemaValues(SCHEMA), today=date(2024, 1, 1))
    assert found.text.endswith("? movie +s # t0 of <year> v0 ~ c3 =>")
    assert sql_of("select * from t0 where c3 = v0", found).endswith('"release_year" = 2023')


@pytest.mark.parametrize(
    "question", ["", " ", "'", '""', "½ ٣ 你好 😀", "may of the 1st", "- - 5-", "1,2,3.4.5", "İı ß"]
)
def test_an_odd_question_is_read(question):
    found = prompt(question)
    assert found.text.endswith("=>")
    assert sql_of("select count ( * ) from t0", found) == 'SELECT count(*) FROM "movies"'
