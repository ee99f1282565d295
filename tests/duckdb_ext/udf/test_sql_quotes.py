"""llm_quote and llm_extract(.., verbatim := true) in SQL: what is no part of the row's values is NULL."""

from __future__ import annotations

from typing import Any

import pytest
from sql_fixtures import Made, make

from relserve.call.relquery import Submission
from relserve.errors import FailureKind, RowError

ODD = (
    'it\'s "so"',
    "e\u0301te\u0301 \U0001f469\u200d\U0001f52c caf\u00e9",
    "a\nb\\c\td",
    "注文AB-42です",
    "{}",
    "null",
)


def saying(reply: str) -> Any:
    """A script that always says this."""
    return lambda prompt, submission: reply


@pytest.fixture
def made() -> Made:
    return make(tables=False)


def test_a_quote_is_a_varchar_in_the_text_and_the_same_text_is_asked_once(made: Made) -> None:
    made.con.execute("CREATE TABLE odd AS SELECT unnest($1::VARCHAR[]) AS t", [[*ODD, None, "", ODD[0]]])
    call = "llm_quote('Which words? {}', t)"
    rows = made.rows(f"SELECT t, {call}, typeof({call}) FROM odd")
    assert {kind for *_, kind in rows} == {"VARCHAR"}
    assert all(found is None or found in text for text, found, _ in rows if text is not None)
    assert any(found is not None for _, found, _ in rows)
    assert rows[0] == rows[-1]
    assert made.asked == (len(ODD) + 1, 1)
    assert made.rows("SELECT count(*) FROM llm_errors()") == [(0,)]


@pytest.mark.cells(2)
@pytest.mark.parametrize("text", ODD)
def test_offsets_are_characters_as_sql_counts_them(text: str) -> None:
    said = text[1:3].strip() or text[1]
    made = make(tables=False, script=saying(said))
    quote = "llm_quote('{}', t, offsets := true)"
    sql = (
        f"SELECT typeof(q), q.text, substring(t, q.start, q.stop - q.start + 1), t[q.start:q.stop] FROM "
        f"(SELECT t, {quote} AS q FROM (SELECT $1::VARCHAR AS t))"
    )
    kind = 'STRUCT("text" VARCHAR, "start" BIGINT, stop BIGINT)'
    assert made.rows(sql, [f"x {text}"]) == [(kind, said, said, said)]


def test_what_is_made_up_is_null_with_the_reason_on_record() -> None:
    made = make(tables=False, script=saying("ORD-775984598"))
    quote = "llm_quote('Order number? {}', 'order ORD-77598459')"
    assert made.rows(f"SELECT {quote}") == [(None,)]
    assert made.rows("SELECT kind, message FROM llm_errors()") == [
        (FailureKind.UNPARSABLE, "the reply is 'ORD-775984598', which is not in the text")
    ]
    with pytest.raises(RowError, match="which is not in the text"):
        made.rows(f"SELECT {quote.replace(')', ', on_error := $$raise$$)')}")


def test_extracted_texts_are_parts_and_other_values_are_free() -> None:
    made = make(tables=False, script=saying('{"word": "b c", "n": 7}'))
    call = """llm_extract('{}', t, schema := '{"word": "VARCHAR", "n": "BIGINT"}', verbatim := %s)"""
    texts = "(VALUES ('a b c'), ('a bc')) x(t)"
    found = {"word": "b c", "n": 7}
    assert made.rows(f"SELECT {call % 'true'} FROM {texts}") == [(found,), (None,)]
    assert made.rows(f"SELECT {call % 'false'} FROM {texts}") == [(found,), (found,)]
    assert made.rows("SELECT message FROM llm_errors()") == [("word is 'b c', which is not in the text",)]


def test_the_template_s_own_words_are_not_in_the_text() -> None:
    made = make(tables=False, script=saying("Which"))
    both = "SELECT llm_quote('Which? {}', 'a'), llm_quote('{}', 'Which? a'), llm_quote('Which? a')"
    assert made.rows(both) == [(None, "Which", None)]


def test_rows_of_one_prompt_and_other_values_are_two_questions() -> None:
    made = make(tables=False, script=saying("b, c"))
    sql = "SELECT llm_quote('{}, {}', x, y) FROM (VALUES ('a', 'b, c'), ('a, b', 'c'), ('a', 'b, c')) t(x, y)"
    assert made.rows(sql) == [("b, c",), (None,), ("b, c",)]
    assert made.asked == (2, 1)


@pytest.mark.cells(1)
@pytest.mark.parametrize("memo", [True, False])
def test_each_row_s_grammar_has_the_values_that_the_template_puts_in(memo: bool) -> None:
    asked: list[Any] = []

    def script(prompt: str, submission: Submission) -> str:
        asked.append(submission.sampling.grammar)
        return "null"

    made = make(tables=False, memo=memo, prefetch=memo, script=script)
    row = "SELECT llm_quote('Of {b}: {a} {b}', r) FROM (SELECT 'x' AS a, 7 AS b, 'unused' AS c) r"
    assert made.rows(row) == [(None,)]
    assert [grammar.source for grammar in asked] == [("7", "x")]


def test_a_whole_row_in_a_free_order_and_a_limit(made: Made) -> None:
    sql = "SELECT llm_quote('{}', r, field_order := 'free') FROM (SELECT i, 2 * i AS w FROM range(9) t(i)) r"
    rows = made.rows(f"{sql} LIMIT 4")
    assert len(rows) == 4
    assert made.rows("SELECT count(*) FROM llm_errors()") == [(0,)]
    assert made.engine.num_prompts == 4
