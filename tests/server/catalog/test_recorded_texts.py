"""What clients ask first is answered as PostgreSQL 15 answered it."""

import duckdb
import pytest

from tests.server.catalog.clients import Client, catalog_over
from tests.server.catalog.recorded import Oids, Recorded, recorded

TEXTS = recorded()


@pytest.fixture(scope="module")
def database():
    con = duckdb.connect()
    con.execute("ATTACH ':memory:' AS s2db; USE s2db")
    catalog = catalog_over(con)
    return con, catalog, Oids(con)


@pytest.mark.cells(12)
@pytest.mark.parametrize("text", TEXTS, ids=[text.id for text in TEXTS])
def test_a_clients_text_is_answered(database, text: Recorded):
    con, catalog, oids = database
    client = Client(user="s2", is_admin=True)
    sql = catalog.translate(oids.filled(text.sql), client)
    try:
        found = con.execute(sql)
    except duckdb.Error:
        said = catalog.in_duckdbs_words(sql)
        assert said is not None
        found = con.execute(said)
    columns = [name for name, *_ in found.description]
    rows = oids.named(found.fetchall())
    if text.answer is not None:
        assert columns == text.answer["columns"]
        assert rows == sorted(text.answer["rows"], key=str)


def test_most_texts_have_an_answer_to_hold_to():
    answered = sum(text.answer is not None for text in TEXTS)
    assert answered / len(TEXTS) > 0.75
