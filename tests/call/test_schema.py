"""Shapes of llm_extract: what a schema becomes, which values fit, and that DuckDB agrees."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.call.answer_types import Extract
from relserve.call.schema import schema_text_of, shape_of
from relserve.errors import FailureKind, OptionError

EVERYTHING = {
    "t": "VARCHAR", "b": "BOOLEAN", "i": "INTEGER", "u": "UTINYINT", "h": "HUGEINT", "d": "DECIMAL(10,2)",
    "w": "DECIMAL(38,10)", "x": "DOUBLE", "f": "FLOAT", "e": "ENUM('a', 'it''s', 'ü')", "day": "DATE",
    "at": "TIME", "ts": "TIMESTAMP", "l": ["VARCHAR"], "ll": [["INTEGER"]], "three": "INTEGER[3]",
    "s": {"inner": "DATE", "more": [{"k": "ENUM('k')"}]}, "type text": "STRUCT(a VARCHAR, b DECIMAL(4,1)[])",
}  # fmt: skip


def extract(schema: Any) -> Extract:
    return Extract(shape_of(schema_text_of(schema)))


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"a": "VARCHARR"}, "schema: a is 'VARCHARR', which is no type of DuckDB"),
        ({"a": {"b": ["DECIMAL(50,2)"]}}, r"schema: a.b\[\] is 'DECIMAL\(50,2\)', which is no type"),
        ({"a": 5}, "schema: a is 5, which is no type"),
        ({"a": ""}, 'schema: a is "", which is no type'),
        ({"a": {}}, "schema: a has no fields"),
        ({"a": []}, "schema: a is a list, which takes one type"),
        ({"a": ["INTEGER", "DATE"]}, "schema: a is a list, which takes one type"),
        ('{"a": "DATE", "A": "DATE"}', "schema: it has the field 'a' more than once"),
        ({" ": "DATE"}, "has a field without a name"),
        (r'{"a\u0000b": "DATE"}', r"has the field 'a\\x00b', which is no name in SQL"),
        (r'{"a\ud800": "DATE"}', r"has the field 'a\\ud800', which is no name in SQL"),
        ({"a": "MAP(VARCHAR, INTEGER)"}, r"a is of type MAP.*cannot check. It takes: VARCHAR"),
        ({"a": "BLOB"}, "a is of type BLOB"),
        ({"a": "JSON"}, "a is of type JSON"),
        ({"a": "TIMESTAMP WITH TIME ZONE"}, "a is of type TIMESTAMP WITH TIME ZONE"),
        ("{'a': 'VARCHAR'}", "which is no type of DuckDB"),
        ("STRUCT(a VARCHAR", "which is no type of DuckDB"),
        ("null", "is null, which is no type"),
        ("[" * 99999, "no type"),
        ("[" * 30 + '"DATE"' + "]" * 30, "nested more than 16 deep"),
    ],
)
def test_a_bad_schema_says_where_and_how_to_mend_it(schema: Any, problem: str) -> None:
    with pytest.raises(OptionError, match=problem) as caught:
        extract(schema)
    assert """'{"brand": "VARCHAR", "price": "DECIMAL(10,2)"}'""" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("VARCHAR", "a 'b' \"c\" \n ü😀", "a 'b' \"c\" \n ü😀"),
        ("BOOLEAN", True, True),
        ("INTEGER", -5, -5),
        ("INTEGER", "12", 12),
        ("HUGEINT", 2**100, str(2**100)),
        ("DECIMAL(10,2)", 12.5, "12.50"),
        ("DECIMAL(10,2)", "12.500", "12.50"),
        ("DECIMAL(10,2)", "-0.05", "-0.05"),
        ("DECIMAL(38,0)", "9" * 38, "9" * 38),
        ("DECIMAL(2,2)", "0.25", "0.25"),
        ("DOUBLE", "1.5e-9", 1.5e-9),
        ("DOUBLE", 3, 3.0),
        ("DATE", "2024-02-29", "2024-02-29"),
        ("TIME", "12:30", "12:30:00"),
        ("TIMESTAMP", "2024-02-29T12:30:01.5", "2024-02-29 12:30:01.500000"),
        ("ENUM('a', 'b')", "b", "b"),
        ("VARCHAR[]", [], []),
        ("VARCHAR[]", ["a", None], ["a", None]),
        ("STRUCT(a DATE)", {"a": None, "b": 1}, {"a": None}),
    ],
)
def test_values_that_fit(kind: str, value: Any, read: Any) -> None:
    answer = extract({"v": kind}).parse(json.dumps({"v": value}))
    assert answer.failure is None
    assert json.loads(answer.value) == {"v": read}


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        ("VARCHAR", 5, "v is 5, not a text"),
        ("BOOLEAN", "yes", "v is 'yes', not true or false"),
        ("INTEGER", 1.5, "v is 1.5, not a whole number that fits INTEGER"),
        ("INTEGER", 2**31, "fits INTEGER"),
        ("INTEGER", True, "fits INTEGER"),
        ("UTINYINT", -1, "fits UTINYINT"),
        ("DECIMAL(10,2)", "12,50", r"v is '12,50', not a number that fits DECIMAL\(10,2\)"),
        ("DECIMAL(10,2)", "12.505", "fits DECIMAL"),
        ("DECIMAL(10,2)", 123456789, "fits DECIMAL"),
        ("DECIMAL(10,2)", "$5", "fits DECIMAL"),
        ("DOUBLE", "1e999", "fits DOUBLE"),
        ("DOUBLE", float("nan"), "fits DOUBLE"),
        ("FLOAT", 1e39, "fits FLOAT"),
        ("DATE", "2023-02-29", "v is '2023-02-29', not a DATE"),
        ("DATE", "29 Feb 2024", "not a DATE"),
        ("TIME", "25:00:00", "not a TIME"),
        ("TIMESTAMP", "2024-01-01", "not a TIMESTAMP"),
        ("ENUM('a', 'b')", "A", r"v is 'A', not one of \['a', 'b'\]"),
        ("ENUM('a', 'b')", ["a"], "not one of"),
        ("VARCHAR[]", "a", "v is 'a', not a list"),
        ("VARCHAR[]", [str(i) for i in range(33)], "v has more than 32 items"),
        ("INTEGER[3]", [1, 2], "v has 2 items, not 3"),
        ("DATE[]", ["2024-01-01", "soon"], r"v\[1\] is 'soon', not a DATE"),
        ("STRUCT(a DATE)", {}, "v.a is missing"),
        ("STRUCT(a DATE)", [], "v is \\[\\], not a JSON object"),
    ],
)
def test_values_that_do_not_fit_are_failures_with_their_place(kind: str, value: Any, problem: str) -> None:
    answer = extract({"v": kind}).parse(json.dumps({"v": value}))
    assert answer.value is None
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.UNPARSABLE
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError(answer.failure.message)


@pytest.mark.parametrize("reply", ["", "no", '{"v": ', '{"v": 1} and more', "[" * 99999, "null", "[]", '"v"'])
def test_what_is_no_json_object_is_a_failure(reply: str) -> None:
    assert extract({"v": "INTEGER"}).parse(reply).failure


def test_a_fenced_block_is_read() -> None:
    answer = extract({"v": "INTEGER"}).parse('```json\n{"v": 1}\n```')
    assert (answer.value, answer.failure) == ('{"v": 1}', None)


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_any_reply_is_a_value_or_a_failure(reply: str) -> None:
    answer = extract({"v": "INTEGER", "t": ["VARCHAR"]}).parse(reply)
    assert (answer.value is None) == (answer.failure is not None)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12),
    st.decimals(allow_nan=False, allow_infinity=False).map(str), st.dates().map(str), st.times().map(str),
    st.datetimes().map(str), st.sampled_from(["a", "it's", "2024-13-01", "1e5", "0012", "-0", "1.10"]),
)  # fmt: skip
jsonschema = pytest.importorskip("jsonschema")
CON = duckdb.connect()
LEAVES = [kind for kind in EVERYTHING.values() if isinstance(kind, str) and "STRUCT" not in kind]


@given(st.sampled_from(LEAVES), scalars)
def test_what_fits_is_what_duckdb_takes_without_loss(kind: str, value: Any) -> None:
    schema = json.dumps({"v": kind})
    answer = extract(schema).parse(json.dumps({"v": value}))
    if answer.failure is None:
        ((taken, found),) = CON.execute(
            "SELECT from_json_strict($1, $2) AS s, (from_json($1, $2)).v", [answer.value, schema]
        ).fetchall()
        assert taken["v"] == found
        assert (found is None) == (value is None)


@settings(max_examples=30)
@given(st.integers())
def test_samples_fit_their_schema_and_duckdb(seed: int) -> None:
    kind = extract(EVERYTHING)
    sample = kind.shape.sample(Random(seed))
    jsonschema.validate(sample, kind.shape.json_schema())
    assert re.fullmatch(kind.shape.regex(), json.dumps(sample, ensure_ascii=False))
    answer = kind.parse(json.dumps(sample))
    assert answer.failure is None
    asked = [answer.value, json.dumps(EVERYTHING)]
    ((struct,),) = CON.execute("SELECT from_json_strict(?, ?)", asked).fetchall()
    assert {name for name, value in struct.items() if value is None} == {
        name for name, value in sample.items() if value is None
    }


@pytest.mark.parametrize(
    ("items", "kept"),
    [
        (["100"] * 33, ["100"]),
        (["5", "7"] + ["100"] * 31, ["5", "7", "100"]),
        (["1", *["2", "3", "4"] * 10, "2", "3"], ["1", "2", "3", "4"]),
        (["9"] * 32, ["9"] * 32),  # a list that has ended is as it is
    ],
)
def test_a_list_that_repeats_itself_to_the_bound_ends_where_it_begins_to(items: Any, kept: Any) -> None:
    assert json.loads(extract(["VARCHAR"]).parse(json.dumps(items)).value) == kept
    inside = extract({"d": ["VARCHAR"]}).parse(json.dumps({"d": items}))
    assert json.loads(inside.value) == {"d": kept}


def test_a_long_list_that_only_ends_alike_is_a_failure() -> None:
    items = [str(i) for i in range(25)] + ["25"] * 8
    failure = extract(["VARCHAR"]).parse(json.dumps(items)).failure
    assert failure is not None
    assert "more than 32 items" in failure.message


def test_the_longest_reply_fits_the_default_max_tokens_of_small_schemas() -> None:
    kind = extract({"brand": "VARCHAR", "price": "DECIMAL(10,2)"})
    assert kind.instruction == (
        'Answer with JSON like {"brand": text, "price": decimal number}; write null for what is not told.'
    )
    longest = '{"brand": "' + "x" * 256 + '", "price": "-12345678.90"}'
    assert len(longest) <= kind.default_max_tokens
