"""What Tab offers, place by place, on the shipped tables."""

from collections.abc import Iterator

import pytest

from relserve.api import Connection, connect
from relserve.call.options import FUNCTIONS
from relserve.cli import demo
from relserve.cli.shell.catalog import read_names
from relserve.cli.shell.proposals import Proposals, propose


@pytest.fixture(scope="module")
def con() -> Iterator[Connection]:
    with connect(model="scripted") as con:
        demo.prepare(con)
        con.raw.execute('CREATE TABLE "my table" ("order" INTEGER, "Größe" DOUBLE)')
        con.raw.execute("CREATE SCHEMA s; CREATE TABLE s.inner_one (deep VARCHAR)")
        yield con


def proposed(con: Connection, text: str) -> Proposals:
    """At the cursor, which `|` marks."""
    before, _, after = text.partition("|")
    return propose(before, after, read_names(con.raw))


def texts(con: Connection, text: str) -> list[str]:
    return [each.text for each in proposed(con, text).found]


@pytest.mark.cells(10)
@pytest.mark.parametrize(("text", "first"), [
    ("SELECT * FROM fi|", ["films"]),
    ("select 1; select * from re|", ["reviews", "read_blob("]),
    ("SELECT ti| FROM films", ["title"]),
    ("SELECT f.dir| FROM films f", ["director"]),
    ("SELECT f.dir| FROM films AS f JOIN reviews r ON true", ["director"]),
    ("SELECT * FROM s.|", ["inner_one"]),
    ('SELECT | FROM "my table"', ['"order"', "Größe"]),
    ('FROM "my|', ['"my table"']),
    ("INSERT INTO my|", ['"my table"']),
    ("SELECT de| FROM s.inner_one", ["deep"]),
    ("SELECT llm_cl|", ["llm_classify("]),
    ("SELECT text2|", ["text2sql_query("]),
    ("SELECT * FROM text2|", ["text2sql("]),
    ("sel|", ["select"]),
    ("select * fr|", ["from"]),
    ("SELECT * FROM films WHE|", ["WHERE", "WHEN"]),
    ("SEL|", ["SELECT"]),
    ("SET mem|", ["memory_limit"]),
    ("SELECT llm_classify('{}', title, |) FROM films", ["choices := "]),
    ("SELECT llm('{}', title, max|) FROM films", ["max_tokens := "]),
    ("SELECT llm('About {di|}', title) FROM films", ["director}"]),
    ("WITH mine AS (SELECT 1 AS a) SELECT * FROM films, mi|", ["mine"]),
])  # fmt: skip
def test_the_likeliest_come_first(con: Connection, text: str, first: list[str]) -> None:
    assert texts(con, text)[: len(first)] == first


def test_a_call_offers_its_own_options_and_none_twice(con: Connection) -> None:
    for function, spec in FUNCTIONS.items():
        found = texts(con, f"SELECT {function}('{{}}', title, |) FROM films")
        assert {text for text in found if text.endswith(" := ")} == {f"{name} := " for name in spec.options}
    left = texts(con, "SELECT llm('{}', lower(title), temperature := 1, |) FROM films")
    assert "temperature := " not in left
    assert "max_tokens := " in left
    assert not any(":=" in text for text in texts(con, "SELECT lower(|) FROM films"))
    assert not any(":=" in text for text in texts(con, "SELECT llm('{}', title) + (|) FROM films"))


def test_columns_of_the_tables_at_hand_only(con: Connection) -> None:
    columns = texts(con, "SELECT | FROM films WHERE true")
    assert "director" in columns
    assert "brewery" not in columns
    assert "brewery" in texts(con, "SELECT br|")  # no table is named yet


def test_a_statement_begins_with_a_keyword(con: Connection) -> None:
    assert texts(con, "SELECT 1; |")[:2] == ["SELECT", "FROM"]
    assert "title" not in texts(con, "ti|")


def test_a_string_offers_files_and_a_comment_nothing(con: Connection) -> None:
    found = proposed(con, "FROM 'reviews.c|")
    assert (found.prefix, found.found, found.is_path) == ("reviews.c", [], True)
    assert proposed(con, "SELECT 1 /* fi|") == Proposals("", [])


def test_a_failed_transaction_offers_no_names_and_no_error(con: Connection) -> None:
    con.raw.execute("BEGIN")
    with pytest.raises(Exception, match="boom"):
        con.raw.execute("SELECT error('boom') FROM films").fetchall()
    assert texts(con, "SELECT llm_cl|") == ["llm_classify("]
    con.raw.execute("ROLLBACK")
