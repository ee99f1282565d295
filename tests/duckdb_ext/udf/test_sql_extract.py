"""llm_extract in SQL: the STRUCT's type, NULLs, failures, bad schemas."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from sql_fixtures import Made, make

from relserve.call.relquery import Submission
from relserve.errors import OptionError

BEER = '{"brand": "VARCHAR", "price": "DECIMAL(10,2)", "kind": "ENUM(\'ale\', \'lager\')"}'
BEER_TYPE = "STRUCT(brand VARCHAR, price DECIMAL(10,2), kind ENUM('ale', 'lager'))"
EVERYTHING = {
    "t": "VARCHAR", "b": "BOOLEAN", "i": "INTEGER", "h": "HUGEINT", "d": "DECIMAL(38,10)", "x": "DOUBLE",
    "e": "ENUM('a', 'b')", "day": "DATE", "at": "TIME", "ts": "TIMESTAMP", "l": ["DATE"],
    "three": "INTEGER[3]",
    "s": {"inner": "DATE", "more": [{"k": "DECIMAL(4,1)"}]}, "odd name": "VARCHAR",
}  # fmt: skip
FOUND = {
    "t": "it's\n\"ü\" 😀", "b": False, "i": -3, "h": 2**100, "d": "1234567890123456789012345678.0123456789",
    "x": 0.1, "e": "b", "day": "2024-02-29", "at": "12:30:00", "ts": "2024-02-29 12:30:00",
    "l": ["2024-01-01", "1999-12-31"], "three": [1, 2, 3],
    "s": {"inner": None, "more": [{"k": "1.5"}, {"k": None}]},
    "odd name": "",
}  # fmt: skip


def reading(reply: Any) -> Any:
    """A script that always says this."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return lambda prompt, submission: text


@pytest.mark.parametrize("prefetch", [True, False])
def test_every_type_comes_back_as_it_was_read(prefetch: bool) -> None:
    made = make(prefetch, tables=False, script=reading(FOUND))
    sql = "SELECT llm_extract('{}', 'x', schema := $1) AS s"
    ((found,),) = made.rows(sql, [json.dumps(EVERYTHING)])
    day = datetime.date(2024, 2, 29)
    assert found == {
        **FOUND, "d": Decimal(FOUND["d"]), "day": day, "at": datetime.time(12, 30),
        "ts": datetime.datetime(2024, 2, 29, 12, 30), "three": (1, 2, 3),
        "l": [datetime.date(2024, 1, 1), datetime.date(1999, 12, 31)],
        "s": {"inner": None, "more": [{"k": Decimal("1.5")}, {"k": None}]},
    }  # fmt: skip


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "schema",
    [
        f"'{BEER.replace(chr(39), chr(39) * 2)}'",
        "{'brand': 'VARCHAR', 'price': 'DECIMAL(10,2)', 'kind': 'ENUM(''ale'', ''lager'')'}",
        "'STRUCT(brand VARCHAR, price DECIMAL(10,2), kind ENUM(''ale'', ''lager''))'",
    ],
    ids=["json", "struct", "type"],
)
def test_a_schema_may_be_json_a_struct_or_a_type(schema: str) -> None:
    made = make(script=reading({"brand": "Alpha", "price": "2.50", "kind": "ale"}))
    sql = f"SELECT llm_extract('{{}}', body, schema := {schema}) AS s FROM p WHERE id < 3000"
    assert made.rows(f"SELECT DISTINCT typeof(s), s.brand, s.price FROM ({sql})") == [
        (BEER_TYPE, "Alpha", Decimal("2.50"))
    ]
    assert made.asked == (500, 1)


def test_a_list_alone_is_a_schema() -> None:
    made = make(script=reading('["a", "b"]'))
    assert made.rows("""SELECT llm_extract('Tags of {}', 'x', schema := '["VARCHAR"]')""") == [(["a", "b"],)]


def test_the_schema_may_be_a_parameter_of_a_prepared_statement(made: Made) -> None:
    made.engine.script = reading({"n": 5})
    made.con.execute("PREPARE q AS SELECT llm_extract('{}', $1::VARCHAR, schema := '{\"n\": \"INTEGER\"}').n")
    assert made.rows("EXECUTE q('some')") == [(5,)]
    assert made.rows("SELECT llm_extract('{}', ?, schema := ?).n", ["x", '{"n": "INTEGER"}']) == [(5,)]


def test_null_rows_are_null_structs_and_not_asked(made: Made) -> None:
    rows = made.rows("SELECT llm_extract('{}', t, schema := $1) IS NULL FROM nulls LIMIT 3", [BEER])
    assert rows == [(True,)] * 3
    assert made.asked == (0, 0)


@pytest.mark.parametrize("prefetch", [True, False])
def test_a_reply_that_does_not_fit_is_null_and_on_record(prefetch: bool) -> None:
    def script(prompt: str, submission: Submission) -> str:
        return json.dumps({"day": f"2023-02-{int(prompt.split()[-1]):02}"})

    made = make(prefetch, script=script)
    call = "llm_extract('{}', i, schema := '{\"day\": \"DATE\"}')"
    sql = f"SELECT i, {call}.day FROM range(27, 31) t(i) ORDER BY i"
    assert made.rows(sql) == [
        (27, datetime.date(2023, 2, 27)), (28, datetime.date(2023, 2, 28)), (29, None), (30, None)
    ]  # fmt: skip
    errors = made.rows("SELECT kind, message FROM llm_errors() ORDER BY message")
    assert [kind for kind, _ in errors] == ["unparsable"] * 2
    assert "day is '2023-02-29', not a DATE" in errors[0][1]


def test_one_relquery_whatever_fields_are_read() -> None:
    made = make()
    sql = """SELECT e.brand, e.price, llm_extract('{}', title, schema := $s).kind FROM
             (SELECT title, llm_extract('{}', title, schema := $s) AS e FROM p) WHERE e.price > 1 OR true"""
    made.rows(sql, {"s": BEER})
    assert made.asked == (40, 1)


@pytest.mark.long
def test_the_scripted_engine_answers_the_same_each_time() -> None:
    sql = "SELECT llm_extract('{}', title, schema := $1) FROM p ORDER BY id"
    first, second = make().rows(sql, [BEER]), make(prefetch=False).rows(sql, [BEER])
    assert first == second
    assert len({str(row) for row in first}) > 20


def test_it_may_be_stored_in_tables_and_views(made: Made) -> None:
    made.engine.script = reading({"n": 5})
    call = "llm_extract('{}', body, schema := '{\"n\": \"INTEGER\"}')"
    made.con.execute(f"CREATE VIEW ev AS SELECT {call} AS s FROM p WHERE id < 9")
    made.con.execute("CREATE TABLE et AS SELECT unnest(s) FROM ev")
    assert made.asked == (9, 1)
    assert made.rows("SELECT DISTINCT n FROM et") == [(5,)]
    assert made.rows("SELECT DISTINCT s.n FROM ev") == [(5,)]


def test_plans_and_descriptions_know_the_type_and_ask_nothing(made: Made) -> None:
    sql = f"SELECT llm_extract('{{}}', body, schema := $${BEER}$$) AS s FROM p"
    assert made.rows(f"DESCRIBE {sql}")[0][1] == BEER_TYPE
    made.rows(f"EXPLAIN {sql}")
    assert made.asked == (0, 0)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("", r"llm_extract\(\) needs schema := '\{\"brand\""),
        (", schema := ''", "schema must be text like"),
        (", schema := 'brand, price'", "schema: it is 'brand, price', which is no type of DuckDB"),
        (""", schema := '{"a": "DECIML(10,2)"}'""", r"schema: a is 'DECIML\(10,2\)', which is no type"),
        (""", schema := '{"a": {"b": "BLOB"}}'""", "schema: a.b is of type BLOB"),
        (""", choices := ['a'], schema := '"DATE"'""", r"llm_extract\(\) has no option 'choices'"),
    ],
)
def test_a_bad_schema_is_refused_before_anything_is_asked(refusing: Made, schema: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        refusing.rows(f"SELECT llm_extract('{{}}', body{schema}) FROM p")
    assert refusing.asked == (0, 0)


def test_a_bad_schema_in_a_parameter_is_refused(made: Made) -> None:
    with pytest.raises(OptionError, match="a is 'INTEGR'"):
        made.rows("SELECT llm_extract('{}', body, schema := $s) FROM p", {"s": '{"a": "INTEGR"}'})


def test_a_missing_schema_on_the_raw_connection(made: Made) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="needs schema :="):
        made.con.raw.execute("SELECT llm_extract('{}', body) FROM p").fetchall()


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    ("function", "reply", "value"),
    [
        ("llm_int", "-12", -12),
        ("llm_int", "9223372036854775807", 2**63 - 1),
        ("llm_int", "null", None),
        ("llm_double", '"2.5"', 2.5),
        ("llm_double", "2.5", 2.5),
        ("llm_bool", "true", True),
        ("llm_bool", "null", None),
        ("llm_date", '"2024-02-29"', datetime.date(2024, 2, 29)),
        ("llm_date", " 2024-02-29\n", datetime.date(2024, 2, 29)),
    ],
)
def test_functions_of_one_type(function: str, reply: str, value: Any) -> None:
    made = make(script=reading(reply))
    assert made.rows(f"SELECT DISTINCT {function}('{{}}', title) FROM p WHERE title IS NOT NULL") == [
        (value,)
    ]
    assert made.rows("SELECT count(*) FROM llm_errors()") == [(0,)]
    assert made.asked == (40, 1)


@pytest.mark.parametrize(
    ("function", "reply"),
    [("llm_int", "2.5"), ("llm_int", "twelve"), ("llm_double", '"1e999"'), ("llm_date", '"2023-02-29"'),
     ("llm_bool", '"yes"'), ("llm_int", "9223372036854775808")],
)  # fmt: skip
def test_what_is_not_of_the_type_is_a_failure(function: str, reply: str) -> None:
    made = make(script=reading(reply))
    assert made.rows(f"SELECT {function}('{{}}', 'x')") == [(None,)]
    assert made.rows("SELECT kind FROM llm_errors()") == [("unparsable",)]


def test_numbers_out_of_their_range_are_null_on_record() -> None:
    made = make(script=reading("9"))
    calls = "llm_int('{}', 1, lo := 0, hi := 5), llm_int('{}', 1, lo := 9), llm_double('{}', 1, hi := 10)"
    assert made.rows(f"SELECT {calls}") == [(None, 9, 9.0)]
    assert "not a whole number from 0 to 5" in made.rows("SELECT message FROM llm_errors()")[0][0]


def test_functions_of_one_type_have_it_at_bind_time(made: Made) -> None:
    sql = "DESCRIBE SELECT llm_int('a'), llm_double('a'), llm_bool('a'), llm_date('a')"
    assert [row[1] for row in made.rows(sql)] == ["BIGINT", "DOUBLE", "BOOLEAN", "DATE"]
