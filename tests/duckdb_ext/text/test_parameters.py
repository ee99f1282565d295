"""Parameters in a text: found where DuckDB finds them, and written in other forms."""

from __future__ import annotations

import duckdb
import pytest
from relserve_duckdb.text.parameters import find_parameters, masked, numbered, spaced, with_parameters
from sql_fixtures import Made

TEXTS = {
    "SELECT 1": [],
    "SELECT $1,$2, $name,$1": ["1", "2", "name", "1"],
    "SELECT ?,? + ?": ["1", "2", "3"],
    "SELECT ?2, ?1": ["2", "1"],
    "SELECT '$1', 'it''s ?', \"$2\", \"a\"\"?\", $3": ["3"],
    "SELECT e'\\'$1', E'?\\\\', $2": ["2"],
    "SELECT $$ $1 ? $$, $tag$ $2 $$ $tag$, $3": ["3"],
    "SELECT a$1, b$$ -- $2\n, $3 /* $4 \n ? */": ["3"],
    "SELECT x->'$.a' = $10::INT, y->>?": ["10", "1"],
    "SELECT 'né ' || $1 || '😀$2'": ["1"],
}


@pytest.mark.parametrize("text", TEXTS)
def test_they_are_found(text: str) -> None:
    places = find_parameters(text)
    assert [place.name for place in places] == TEXTS[text]
    assert all(text[place.start] in "$?" for place in places)
    assert with_parameters(text, places, {}) == text
    assert with_parameters(text, places, dict.fromkeys(TEXTS[text], "{}")) == text
    assert spaced(text).replace(" ", "") == text.replace(" ", "")
    assert len(masked(text)) == len(text)
    assert [place.name for place in find_parameters(numbered(text))] == TEXTS[text]


@pytest.mark.parametrize(
    "text", ["SELECT $1,$2", "SELECT ?, '?', $$?$$", "SELECT $b, $a, '$c'", "SELECT e'\\'$1'"]
)
def test_duckdb_finds_the_same(text: str) -> None:
    (statement,) = duckdb.connect().extract_statements(text)
    assert statement.named_parameters == {place.name for place in find_parameters(text)}


def test_forms_stand_for_parameters() -> None:
    text = "SELECT $1, ?2, '$1', $x"
    forms = {"1": "CAST({} AS DATE)", "2": "({}, {})"}
    assert (
        with_parameters(text, find_parameters(text), forms) == "SELECT CAST($1 AS DATE), (?2, ?2), '$1', $x"
    )


def test_parameters_side_by_side_keep_no_statement_from_being_prefetched(made: Made) -> None:
    made.rows("INSERT INTO z SELECT id, llm('x {}', id) FROM p WHERE id % 3000 IN ($1,$2)", [7, 8])
    assert made.asked == (8, 1)
    text = "SELECT llm_agg('s {}', body ORDER BY id) FILTER (WHERE id IN ($1,$2)), $3,$4 FROM p"
    assert made.rows(text, [7, 8, "a", "b"]) == [("s \n1. text 7\n2. text 8", "a", "b")]
