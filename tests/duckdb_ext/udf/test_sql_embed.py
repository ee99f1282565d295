"""llm_embed and llm_similar in SQL: the vectors of the embedded model, what fails, what is kept."""

from __future__ import annotations

import duckdb
import pytest

import relserve
from relserve.errors import OptionError

TEXTS = "(VALUES (1, 'where is my shipment?'), (2, 'how do I reset the password'), (3, NULL)) t(id, body)"
LATE = "'my parcel has not arrived'"


@pytest.fixture
def con() -> relserve.Connection:
    return relserve.connect(model="scripted", cache=False)


def test_similar_texts_have_similar_vectors(con: relserve.Connection) -> None:
    """Beside figures of the package's own code for the same texts: 0.31 and -0.01."""
    similarity = f"list_cosine_similarity(llm_embed(body), llm_embed({LATE}))"
    found = dict(con.sql(f"SELECT id, {similarity} FROM {TEXTS}").fetchall())
    assert found == {1: pytest.approx(0.31, abs=0.005), 2: pytest.approx(-0.01, abs=0.005), 3: None}


def test_vectors_are_of_one_length_and_lists_of_floats(con: relserve.Connection) -> None:
    kind, size, length = con.sql(
        "SELECT typeof(v), len(v), sqrt(list_inner_product(v, v)) FROM (SELECT llm_embed('a mug') AS v)"
    ).fetchall()[0]
    assert (kind, size, length) == ("FLOAT[]", 256, pytest.approx(1.0, abs=1e-4))


@pytest.mark.long
def test_many_vectors_of_chunks_with_null_are_those_of_a_dataframe(con: relserve.Connection) -> None:
    texts = "CASE WHEN i % 5 > 0 THEN 'mug ' || i END AS x"
    con.execute(f"CREATE TABLE many AS SELECT {texts} FROM range(5000) t(i)")
    found = con.sql("SELECT x, llm_embed(x) AS v FROM many").to_arrow_table()
    assert found["v"].null_count == 1000
    frame = relserve.llm_embed(found.select(["x"]), model="wordllama", cache=False, progress=False)
    assert frame.type == found["v"].type
    assert frame.equals(found["v"])


def test_equal_texts_are_embedded_once_and_texts_without_words_are_null(
    con: relserve.Connection,
) -> None:
    rows = con.sql("SELECT llm_embed(x) IS NULL FROM (VALUES ('a'), ('a'), (''), (NULL)) t(x)").fetchall()
    assert rows == [(False,), (False,), (True,), (True,)]
    assert con.sql("SELECT distinct_prompts, model, failed_rows FROM llm_queries()").fetchall() == [
        (2, "wordllama", 1)
    ]
    assert con.sql("SELECT message FROM llm_errors()").fetchall() == [("the text has no words to embed",)]


def test_the_most_similar_rows_of_a_table_come_first(con: relserve.Connection) -> None:
    con.execute(f"CREATE TABLE mails AS FROM {TEXTS}")
    found = con.sql(f"SELECT id FROM llm_similar('mails', body, {LATE}, k := 2)").fetchall()
    assert found == [(1,), (2,)]
    rows = con.sql(
        f"SELECT id FROM llm_similar('mails', body || '!', {LATE}, model := 'scripted')"
    ).fetchall()
    assert rows[-1] == (3,), "a row without a vector is the last"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("llm_embed('x', model := 'tiny')", "writes text; leave model out"),
        ("llm('x', model := 'wordllama')", "gives vectors alone"),
        ("llm_embed('x', temperature := 1)", "temperature"),
    ],
)
def test_what_gives_no_vector_is_an_error(con: relserve.Connection, call: str, told: str) -> None:
    with pytest.raises((OptionError, duckdb.Error), match=told):
        con.sql(f"SELECT {call}").fetchall()


@pytest.fixture
def mails(con: relserve.Connection) -> relserve.Connection:
    con.execute(f"CREATE TABLE mails AS FROM {TEXTS}")
    con.execute("INSERT INTO mails VALUES (4, 'where is my  shipment?'), (5, 'the parcel came late')")
    con.execute("CREATE TABLE vectors AS SELECT id, llm_embed(body)::FLOAT[256] AS v FROM mails")
    return con


@pytest.mark.cells(1)
@pytest.mark.parametrize("place", ["'mails', body", "'vectors', v"])
def test_a_column_of_vectors_is_compared_as_it_is(mails: relserve.Connection, place: str) -> None:
    assert mails.sql(f"SELECT id FROM llm_similar({place}, {LATE}, k := 2)").fetchall() == [(5,), (1,)]
    assert mails.sql(f"SELECT id FROM llm_dedup({place})").fetchall() == [(1,), (2,), (3,), (5,)]
    assert len(mails.sql(f"FROM llm_dedup({place}, similarity := 1.1)").fetchall()) == 5


@pytest.mark.cells(1)
@pytest.mark.parametrize("place", ["'mails', body", "'vectors', v"])
def test_each_row_has_its_most_similar_partners(mails: relserve.Connection, place: str) -> None:
    mails.execute(
        "CREATE TABLE topics AS FROM (VALUES ('parcel', 1), ('password', 2), (NULL, 3)) t(topic, n)"
    )
    call = f"FROM llm_sim_join('topics', topic, {place}, k := 2)"
    rows = mails.sql(f"SELECT topic, list(id ORDER BY similarity DESC) {call} GROUP BY 1").fetchall()
    found = dict(rows)
    assert found.keys() == {"parcel", "password"}
    assert (found["parcel"][0], found["password"][0]) == (5, 2)
    assert {len(ids) for ids in found.values()} == {2}
