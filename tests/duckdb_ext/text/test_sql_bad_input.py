"""What the user sees when a call is wrong or a row fails: the exception's type and message."""

from __future__ import annotations

from functools import cache

import duckdb
import pytest
from sql_fixtures import Made, make

from relserve.call.options import FUNCTIONS
from relserve.engines.scripted import echo
from relserve.errors import EngineDeadError, OptionError, RowError, TemplateError, UsageError

WRONG_CALLS = [
    (
        "SELECT llm('x {} {}', body) FROM p",
        TemplateError,
        r"needs 2 values, the call gives 1\n  x \{\} \{\}\n +\^",
    ),
    ("SELECT llm('x', body) FROM p", TemplateError, "argument 1 has no placeholder"),
    ("SELECT llm('x {a', body) FROM p", TemplateError, "'{' is never closed"),
    ("SELECT llm('x {a} {}', body, id) FROM p", TemplateError, "mixed"),
    ("SELECT llm('x {a} {b}', 'v') FROM p", TemplateError, "placeholder {b} has no argument"),
    ("SELECT llm('x {nope}', p) FROM p", TemplateError, "{nope} is not a field of the row"),
    ("SELECT llm('{}', 1, 2, 3, 4, 5, 6, 7, 8, 9)", UsageError, "at most 8 values"),
    ("SELECT llm('{}', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)", UsageError, "at most 8 values"),
    ("SELECT llm()", UsageError, "needs a template"),
    ("SELECT llm([1, 2])", UsageError, "must be text, not list"),
    ("SELECT llm({'a': id}) FROM p", UsageError, "must be"),
    ("SELECT llm(body) FROM p", UsageError, r"llm\('\{\}', column\)"),
    ("SELECT llm(body, id) FROM p", UsageError, "must be the same for all rows"),
    (
        "SELECT llm('{}', body, max_token := 5) FROM p",
        OptionError,
        "no option 'max_token'. Did you mean max_tokens",
    ),
    ("SELECT llm_filter('{}', body, choices := ['a']) FROM p", OptionError, "no option 'choices'"),
    ("SELECT llm('{}', body, max_tokens := 0) FROM p", OptionError, "max_tokens must be from 1"),
    ("SELECT llm('{}', body, max_tokens := 'many') FROM p", OptionError, "must be a whole number"),
    ("SELECT llm('{}', body, max_tokens := id) FROM p", OptionError, "the same for all rows"),
    ("SELECT llm_classify('{}', body) FROM p", OptionError, "needs choices"),
    ("SELECT llm_classify('{}', body, choices := []) FROM p", OptionError, "list of texts that is not empty"),
    ("SELECT llm_classify('{}', body, choices := ['a', 'a']) FROM p", OptionError, "'a' more than once"),
    ("SELECT llm_classify('{}', body, choices := ['a', '']) FROM p", OptionError, "not empty"),
    ("SELECT llm_score('{}', body, lo := 5, hi := 1) FROM p", OptionError, "lo must be below hi"),
    ("SELECT llm('{}', body, on_error := 'skip') FROM p", OptionError, "'null' .* or 'raise'"),
    ("SELECT 'half a pair: \ud800', llm('a')", UsageError, "character 21 .* half a surrogate pair"),
]


@cache
def shared(prefetch: bool) -> Made:
    return make(prefetch)


@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize(
    ("sql", "kind", "message"), WRONG_CALLS, ids=[repr(sql) for sql, _, _ in WRONG_CALLS]
)
def test_wrong_call_is_refused_before_anything_is_asked(
    sql: str, kind: type[Exception], message: str, prefetch: bool
) -> None:
    made = shared(prefetch)
    before = made.asked
    with pytest.raises(kind, match=message):
        made.rows(sql)
    assert made.asked == before
    assert made.rows("SELECT llm('fine {}', 1)")


@pytest.mark.parametrize("form", ["EXPLAIN {}", "PREPARE q AS {}", "CREATE VIEW w AS {}", "INSERT INTO z {}"])
def test_wrong_call_is_refused_in_statements_around_it(refusing: Made, form: str) -> None:
    with pytest.raises(TemplateError, match="needs 2 values"):
        refusing.rows(form.format("SELECT id, llm('x {} {}', body) FROM p"))


def test_nothing_of_a_text_runs_when_one_call_is_wrong(made: Made) -> None:
    with pytest.raises(TemplateError):
        made.rows("CREATE TABLE half AS SELECT 1; SELECT llm('x {}')")
    assert made.rows("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'half'") == [(0,)]


def test_parameters_count_as_constants(made: Made) -> None:
    with pytest.raises(TemplateError, match="needs 2 values"):
        made.rows("SELECT llm($1, body) FROM p", ["{} {}"])
    with pytest.raises(OptionError, match="max_tokens must be from 1"):
        made.rows("SELECT llm('a', max_tokens := $m)", {"m": -1})


def test_duckdb_errors_stay_duckdb_errors(made: Made) -> None:
    with pytest.raises(duckdb.BinderException, match="nosuch"):
        made.rows("SELECT llm('x {}', nosuch) FROM p")
    with pytest.raises(duckdb.ParserException):
        made.rows("SELECT llm('x {}', FROM p")
    with pytest.raises(duckdb.ConversionException):
        made.rows("SELECT llm('x {}', body::INT) FROM p")


def test_lone_surrogate_as_parameter_is_refused(made: Made) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="surrogate"):
        made.rows("SELECT llm('x {}', $1)", ["\ud800"])


def test_lone_surrogate_in_an_answer_is_mended() -> None:
    made = make(script=lambda prompt, submission: "a\ud800")
    assert made.rows("SELECT llm('x {}', 1)") == [("a?",)]


def test_long_prompt_is_null_and_on_record() -> None:
    made = make(script=echo, max_prompt_chars=1000)
    rows = made.rows("SELECT llm('{}', repeat('x', i::INT * 600)) IS NULL FROM range(3) r(i)")
    assert rows == [(False,), (False,), (True,)]
    kind, message, prompt = made.rows("SELECT kind, message, prompt FROM llm_errors()")[0]
    assert (kind, len(prompt)) == ("over_context", 500)
    assert "1200 characters" in message


@pytest.mark.parametrize("prefetch", [True, False])
def test_failed_row_raises_when_asked_to(prefetch: bool) -> None:
    made = make(prefetch, max_prompt_chars=10)
    sql = "SELECT llm('{}', 'longer than ten', on_error := 'raise') FROM p"
    with pytest.raises(RowError, match="15 characters"):
        made.rows(sql)
    with pytest.raises(RowError, match="15 characters"):
        made.con.sql(sql).fetchall()
    assert made.con._state.error is None  # it would hold the connection for ever
    assert made.rows("SELECT llm('{}', 'short')") != []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT llm('Dear Sir, Alice', 'Sum up: {}')",
        "SELECT llm_filter(x, 'Sum up: {}') FROM (VALUES ('Dear {Sir, Alice')) t(x)",
        "SELECT llm('{Dear} {Sir}, Alice', 'Sum up: {text}')",
        "SELECT llm_agg('Dear Sir, Alice', 'Sum up: {}')",
    ],
)
def test_the_error_of_swapped_arguments_shows_no_text(refusing: Made, sql: str) -> None:
    with pytest.raises(TemplateError, match="template comes") as caught:
        refusing.rows(sql)
    assert "Alice" not in str(caught.value)


@pytest.mark.parametrize("prefetch", [True, False])
def test_dead_engine_fails_the_query_and_not_the_connection(prefetch: bool) -> None:
    made = make(prefetch, dies_after=100, chunk=50)
    with pytest.raises(EngineDeadError, match="died"):
        made.rows("SELECT llm('{}', body) FROM p")
    made.engine.dies_after = None
    assert len(made.rows("SELECT llm('{}', body) FROM p")) == 10000


def test_raw_connection_shows_the_message_in_duckdbs_error(made: Made) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="needs 2 values, the call gives 1"):
        made.con.raw.execute("SELECT llm('x {} {}', body) FROM p").fetchall()


def test_every_function_refuses_a_ninth_value_on_the_raw_connection(made: Made) -> None:
    for function in (name for name, spec in FUNCTIONS.items() if not spec.aggregate):
        for extra in ("9", "9, 10, 11"):
            with pytest.raises(duckdb.InvalidInputException, match="at most 8 values"):
                made.con.raw.execute(f"SELECT {function}('{{}}', 1, 2, 3, 4, 5, 6, 7, 8, {extra})").fetchall()
