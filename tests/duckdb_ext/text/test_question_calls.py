"""Where text2sql() calls stand in a text, and what texts that run instead of others say of their places."""

from __future__ import annotations

import pytest
from relserve_duckdb.text.question_calls import find_question_calls, from_items
from relserve_duckdb.text.stand_in import StandIn, TextPiece, replaced
from relserve_duckdb.text.tokens import tokens_of

ITEMS = [
    ("SELECT a, f(b, c) FROM t, u AS v, LATERAL w(1, 2) WHERE x IN (SELECT 1 FROM y)", ["t", "u", "w", "y"]),
    ("FROM a JOIN b ON f(a, b), c LEFT JOIN d USING (e, f)", ["a", "b", "c", "d", "(", "e", "f"]),
    ("FROM (a CROSS JOIN (SELECT 1, 2 FROM b)) AS c, d SELECT e, f", ["(", "a", "(", "SELECT", "b", "d"]),
    ("SELECT a IS DISTINCT FROM b, t.from, c FROM d ORDER BY e, f", ["d"]),
    ("DELETE FROM a USING b, c WHERE d", ["a", "b", "c"]),
    ("CREATE TABLE t AS FROM a; UPDATE b SET c = 1, d = 2 FROM e", ["a", "e"]),
]


@pytest.mark.parametrize(("text", "expected"), ITEMS, ids=[text for text, _ in ITEMS])
def test_items_of_from_are_found(text: str, expected: list[str]) -> None:
    tokens = tokens_of(text)
    assert [tokens[i].text for i in from_items(tokens)] == expected


NOT_CALLS = [
    "SELECT text2sql('a')",
    "SELECT 'FROM text2sql(1)', $$FROM text2sql('a')$$ -- FROM text2sql('a')",
    "SELECT 1 /* FROM text2sql('a') */ FROM text2sql",
    "SELECT 1 FROM my_text2sql('a'), text2sqls('b'), s.text2sql('c')",
    "CREATE TABLE text2sql(a INT); WITH text2sql(a) AS (SELECT 1) FROM text2sql",
    "FROM text2sql('not closed",
]


@pytest.mark.parametrize("text", NOT_CALLS)
def test_what_is_no_call_in_from_is_left_alone(text: str) -> None:
    assert find_question_calls(text) == ()


def test_a_call_knows_its_place_its_arguments_and_whether_it_has_a_name() -> None:
    text = "FROM /* a */ Text2SQL ( 'x)' , tables := ['a', 'b'], seed => $1 ) AS t, text2sql(question := ?)"
    one, other = find_question_calls(text)
    assert text[one.start : one.end] == "Text2SQL ( 'x)' , tables := ['a', 'b'], seed => $1 )"
    assert one.arguments == {"question": "'x)'", "tables": "['a', 'b']", "seed": "$1"}
    assert (one.has_alias, other.has_alias) == (True, False)
    assert other.arguments == {"question": "?"}


def test_a_text_instead_of_one_that_stands_in_itself_has_the_users_places() -> None:
    first = replaced("ab cd ef", [TextPiece("XYZ", 3, 5)])
    assert first.text == "ab XYZ ef"
    second = replaced(first.text, [TextPiece("_", 1, 2), TextPiece("+++", 5, 7)])
    whole = first.then(second)
    assert whole.text == second.text == "a_ XY+++ef"
    assert whole.written == "ab cd ef"
    assert whole.origin(0, 1) == (0, 1)
    assert whole.origin(1, 2) == (1, 2)
    assert whole.origin(3, 4) == (3, 5)
    assert whole.origin(5, 8) == (3, 6)
    assert whole.origin(8, 10) == (6, 8)
    assert StandIn("ab", (TextPiece(None, 0, 2),)).then(replaced("ab", [])).text == "ab"
