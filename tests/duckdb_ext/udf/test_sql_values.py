"""Values read in a prompt as DuckDB prints them; nested ones as JSON."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sql_fixtures import ODD_TEXTS, Made, make

from relserve.engines.scripted import echo
from relserve.errors import TemplateError


@pytest.fixture(scope="module")
def made() -> Iterator[Made]:
    """One connection for all tests here."""
    made = make(script=echo)
    yield made
    made.con.close()


PRINTED_ALIKE = [
    "1", "-5::TINYINT", "170141183460469231731687303715884105727::HUGEINT", "true",
    "1.0::DOUBLE", "1.5::DOUBLE", "1e22::DOUBLE", "1e15::DOUBLE", "1e16::DOUBLE", "1e-7::DOUBLE",
    "0.1::FLOAT", "16777216::FLOAT", "'inf'::DOUBLE", "'nan'::DOUBLE", "-0.0::DOUBLE",
    "1.50::DECIMAL(9, 2)", "0.0000001::DECIMAL(18, 7)",
    "DATE '2024-02-29'", "DATE '20000-01-01'", "'infinity'::DATE", "TIMESTAMP '2024-02-29 12:30:00'",
    "TIMESTAMP '2024-02-29 12:30:00.5'", "'2024-02-29 12:30:00.123456789'::TIMESTAMP_NS", "TIME '12:30:01'",
    "TIMESTAMPTZ '2024-02-29 12:30:00+02'", "INTERVAL '1 month 2 days'", "'a'::ENUM('a', 'b')",
    "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::UUID", "'[1, 2]'::JSON", "'plain'",
]  # fmt: skip


@pytest.mark.cells(12)
@pytest.mark.parametrize("expression", PRINTED_ALIKE)
def test_value_reads_as_duckdb_prints_it(made: Made, expression: str) -> None:
    ((answer, printed),) = made.rows(f"SELECT llm('{{}}', {expression}), ({expression})::VARCHAR")
    assert answer == printed


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("[1, NULL, 3]", "[1, null, 3]"),
        ("{'a': 'é', 'b': [true]}", '{"a": "é", "b": [true]}'),
        ("MAP {'k': 1}", '{"k":1}'),
        ("[DATE '2024-02-29']", '["2024-02-29"]'),
        ("['infinity'::DATE]", '["infinity"]'),
        ("{'d': 1.50::DECIMAL(9, 2)}", '{"d": 1.5}'),
        ("{'b': 'x\\xAA'::BLOB, 'i': INTERVAL 1 day}", '{"b": "x\\\\xAA", "i": "1 day"}'),
        ("[{'m': MAP {'k': 1}, 'e': 'a'::ENUM('a')}]", '[{"m": {"k": 1}, "e": "a"}]'),
        ("[1.0::DOUBLE, NULL]", "[1.0, null]"),
        ("'a\\x00b'::BLOB", "a\0b"),
    ],
)
def test_nested_values_read_as_json(made: Made, expression: str, text: str) -> None:
    assert made.rows(f"SELECT llm('{{}}', {expression})") == [(text,)]


KNOWN_LOSSES = {  # DuckDB hands these to a UDF as other types; `::VARCHAR` in the call keeps them whole
    "'10110'::BIT": "10110",
    "'12:30:00+02'::TIMETZ": "12:30:00+02",
    "340282366920938463463374607431768211455::UHUGEINT": "340282366920938463463374607431768211455",
}


@pytest.mark.xfail(strict=True, reason="Arrow has no such type, and the UDF is not told DuckDB's")
@pytest.mark.parametrize("expression", KNOWN_LOSSES)
def test_value_without_an_arrow_type_reads_as_duckdb_prints_it(made: Made, expression: str) -> None:
    assert made.rows(f"SELECT llm('{{}}', {expression})") == [(KNOWN_LOSSES[expression],)]


@pytest.mark.parametrize("expression", KNOWN_LOSSES)
def test_value_without_an_arrow_type_is_whole_as_text(made: Made, expression: str) -> None:
    assert made.rows(f"SELECT llm('{{}}', ({expression})::VARCHAR)") == [(KNOWN_LOSSES[expression],)]


def test_data_is_never_read_as_a_template(made: Made) -> None:
    rows = made.rows("SELECT t, llm('<{}>', t) FROM odd")
    assert [(t, answer) for t, answer in rows] == [(t, f"<{t}>") for t in ODD_TEXTS]


def test_values_that_python_calls_equal_are_asked_apart(made: Made) -> None:
    rows = made.rows(
        "SELECT llm('{}', v) FROM (VALUES (1::UNION(b BOOL, i INT, d DOUBLE)), (true), (1.0)) t(v)"
    )
    assert [answer for (answer,) in rows] == ["1", "true", "1.0"]
    assert made.rows("SELECT llm('{}', 1), llm('{}', true), llm('{}', 1.0::DOUBLE)") == [("1", "true", "1.0")]


def test_megabyte_cell(made: Made) -> None:
    assert made.rows("SELECT length(llm('{}', repeat('é', 500000)))") == [(500000,)]


def test_literals_of_every_spelling(made: Made) -> None:
    calls = [r"llm('it''s {}', 1)", r"llm(E'a\n{}', 1)", "llm($$d {}$$, 1)", "llm('a' || ' {}', 1)"]
    assert made.rows(f"SELECT {', '.join(calls)}") == [("it's 1", "a\n1", "d 1", "a 1")]
    assert made.rows("SELECT llm('{{}} {}', 1), LLM ('{}', 2)") == [("{} 1", "2")]


def test_columns_named_like_parameters_of_the_macro(made: Made) -> None:
    rows = made.rows(
        "SELECT llm('{}', prompt || a0 || max_tokens) FROM (SELECT 'p' prompt, 'a' a0, 'm' max_tokens)"
    )
    assert rows == [("pam",)]


@pytest.mark.parametrize(
    "row", ["t", "coalesce(t, t)", "{'a': 1, 'b': 2}", "struct_pack(a := 1, b := 2)", "s.s"]
)
def test_a_whole_row_may_be_any_expression(made: Made, row: str) -> None:
    source = "(SELECT 1 AS a, 2 AS b) t, (SELECT {'s': {'a': 1, 'b': 2}} AS s)"
    assert made.rows(f"SELECT llm('{{a}}-{{b}}', {row}) FROM {source}") == [("1-2",)]


def test_a_whole_row_as_parameter(made: Made) -> None:
    assert made.rows("SELECT llm('{a}-{b}', $1)", [{"a": 1, "b": 2}]) == [("1-2",)]
    with pytest.raises(TemplateError, match=r"\{b\} has no argument"):
        made.rows("SELECT llm('{a}-{b}', $1)", ["text"])


def test_method_call(made: Made) -> None:
    assert made.rows("SELECT '<{}>'.llm(a) FROM (SELECT 1 AS a)") == [("<1>",)]
