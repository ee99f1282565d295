"""The text that runs where llm_agg has DISTINCT, ORDER BY, FILTER or OVER, and where its parts are from."""

from __future__ import annotations

from random import Random

import pytest
from relserve_duckdb.text.aggregate_text import aggregate_text
from relserve_duckdb.text.quoted_errors import quoting_the_user
from relserve_duckdb.text.tokens import tokens_of
from sql_cases import aggregates

from relserve.errors import UsageError


def named(item: str) -> str | None:
    return None if " AS " in item else "n"


REWRITTEN = [
    (
        "SELECT 1, llm_agg('J', x ORDER BY y)",
        """SELECT 1, temp.main.llm_agg_list('J', system.main.list(x ORDER BY y)) AS "n\"""",
    ),
    (
        "SELECT llm_agg('J', x) FILTER (y) OVER w AS z",
        "SELECT temp.main.llm_agg_list('J', system.main.list(x) FILTER (y) OVER w, ascending := true) AS z",
    ),
    (
        "FROM t SELECT llm_agg(DISTINCT 'J', f(x, y), o := [1, 2] ORDER BY z, y) AS z WHERE a",
        "FROM t SELECT temp.main.llm_agg_list('J', system.main.list(DISTINCT f(x, y) ORDER BY z, y), "
        "o := [1, 2]) AS z WHERE a",
    ),
    (
        "EXPLAIN SELECT g AS h, LLM_AGG ( 'J' , /* a */ x -- b\n ORDER BY y ) AS z -- c",
        "EXPLAIN SELECT g AS h, temp.main.llm_agg_list('J', system.main.list(x ORDER BY y)) AS z -- c",
    ),
    (
        "SELECT llm_agg('J', (SELECT llm_agg('K', x) OVER () FROM s) ORDER BY y) AS z, ? AS a, ?1 AS b",
        "SELECT temp.main.llm_agg_list('J', system.main.list("
        "(SELECT temp.main.llm_agg_list('K', system.main.list(x) OVER (), ascending := true)"
        ' AS "n" FROM s) ORDER BY y)) AS z, $1 AS a, ?1 AS b',
    ),
    (
        "UPDATE t SET a = (SELECT DISTINCT llm_agg(ALL 'J', x, m := ? ORDER BY ?) FROM s) WHERE b = ?",
        "UPDATE t SET a = "
        "(SELECT DISTINCT temp.main.llm_agg_list('J', system.main.list(x ORDER BY $2), m := $1)"
        ' AS "n" FROM s) WHERE b = $3',
    ),
]


@pytest.mark.parametrize(("written", "expected"), REWRITTEN, ids=[written for written, _ in REWRITTEN])
def test_a_call_becomes_one_over_list_where_it_stands(written: str, expected: str) -> None:
    found = aggregate_text(written, named)
    assert found is not None
    assert found.text == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT llm_agg('J', x)",
        "SELECT llm_agg(ALL 'J', x)",
        "SELECT 'llm_agg(x ORDER BY y)', $$llm_agg(x ORDER BY y)$$ -- llm_agg(x ORDER BY y)",
        "SELECT my.llm_agg('J', x ORDER BY y)",
        "SELECT my_llm_agg('J', x ORDER BY y)",
        "SELECT llm_agg, list(x ORDER BY y)",
        "SELECT llm_agg('J', x) AS filter, y AS over",
        "SELECT llm_agg('J', (SELECT list(x ORDER BY y)))",
        "SELECT llm('J', x ORDER BY y)",
        "SELECT llm_agg('not closed",
    ],
)
def test_every_other_text_runs_as_it_is(text: str) -> None:
    assert aggregate_text(text, named) is None


@pytest.mark.parametrize("seed", range(3))
def test_spaces_and_comments_between_tokens_change_nothing(seed: int) -> None:
    draw = Random(seed)
    gaps = [" ", "\n", "\t\n ", " /* llm_agg('J', x ORDER BY y), ( */ ", " -- ) FILTER (\n"]
    for case in aggregates.CASES:
        parts = [case.sql[token.start : token.end + 1] for token in tokens_of(case.sql)]
        spaced = "".join(part + draw.choice(gaps) for part in parts)
        found, expected = (aggregate_text(text, lambda item: "n") for text in (spaced, case.sql))
        assert found is not None
        assert expected is not None
        assert [(token.token_type, token.text) for token in tokens_of(found.text)] == [
            (token.token_type, token.text) for token in tokens_of(expected.text)
        ]


def test_only_items_with_such_a_call_are_named() -> None:
    asked: list[str] = []

    def noted(item: str) -> None:
        asked.append(item)

    aggregate_text(
        "WITH c AS (SELECT a, b FROM t) SELECT DISTINCT ON (a, b) a, [b, ?] AS limit, t.from, f(?, "
        "llm_agg('J', x) OVER (ORDER BY y)) FROM c WHERE a IS DISTINCT FROM b UNION SELECT b, c, (SELECT d, "
        "1 + llm_agg('K', x ORDER BY y) LIMIT 1), e GROUP BY ALL",
        noted,
    )
    assert asked == [
        "f($2, llm_agg('J', x) OVER (ORDER BY y))",
        "1 + llm_agg('K', x ORDER BY y)",
        "(SELECT d, 1 + llm_agg('K', x ORDER BY y) LIMIT 1)",
    ]


def test_each_character_that_was_copied_has_its_place() -> None:
    for written, _ in REWRITTEN:
        found = aggregate_text(written, named)
        assert found is not None
        copied = [piece for piece in found.pieces if piece.text is None]
        position = 0
        for piece in found.pieces:
            size = len(piece.text or written[piece.start : piece.end])
            if piece in copied:
                assert found.origin(position, position + size) == (piece.start, piece.end)
                assert found.text[position : position + size] == written[piece.start : piece.end]
            position += size
        assert found.origin(position, position + 1) == (len(written), len(written))


def test_a_quote_of_what_was_put_in_shows_the_call() -> None:
    found = aggregate_text("SELECT llm_agg('J', x) OVER ()", lambda item: None)
    assert found is not None
    margin = " " * (len("LINE 1: ") + found.text.index("list(x"))
    message = f"Binder Error: no\n\nLINE 1: {found.text}\n{margin}^^^^"
    told = quoting_the_user(message, found)
    assert told == f"Binder Error: no\n\nLINE 1: {found.written}\n{' ' * 15}^^^^^^^"


@pytest.mark.parametrize(
    "message", ["no quote", "LINE 1: another\n        ^^^^", "LINE 7: SELECT\n        ^"]
)
def test_a_message_about_another_text_stays(message: str) -> None:
    found = aggregate_text("SELECT llm_agg('J', x) OVER ()", lambda item: None)
    assert found is not None
    assert quoting_the_user(message, found) == message


@pytest.mark.parametrize("arguments", ["", "'J'", "'J', x, y", "prompt := 'J'", "'J', x, value := y"])
def test_a_call_without_one_value_is_refused(arguments: str) -> None:
    with pytest.raises(UsageError, match="takes one value after the template"):
        aggregate_text(f"SELECT llm_agg({arguments}) OVER ()", named)
