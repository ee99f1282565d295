"""A changed expression or model of a fresh column: nothing is asked before somebody has seen the cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import relserve
from relserve.api import ENGINES
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import ForbiddenError, UsageError

KIND, SORT = "llm('Kind of {}', message)", "llm('Sort of {}', message)"


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(echo, identity="one")


@pytest.fixture
def con(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[relserve.Connection]:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    with relserve.connect(engine=engine, progress=False) as con:
        con.execute("CREATE TABLE tickets AS SELECT i AS id, 'message ' || i AS message FROM range(5) r(i)")
        relserve.materialize(con, "tickets", "kind", KIND)
        con.execute("INSERT INTO tickets VALUES (5, 'new', NULL)")
        yield con


@pytest.fixture(scope="module")
def unchanged() -> Iterator[relserve.Connection]:
    """A connection whose table no test changes."""
    with relserve.connect(engine=ScriptedEngine(echo), progress=False) as con:
        con.execute("CREATE TABLE tickets AS SELECT 1 AS id, 'a' AS message")
        relserve.materialize(con, "tickets", "kind", KIND)
        yield con


def kinds(con: relserve.Connection) -> list[str | None]:
    return [kind for (kind,) in con.execute("SELECT kind FROM tickets ORDER BY id").fetchall()]


def test_a_changed_template_says_what_it_would_cost(
    con: relserve.Connection, engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["scripted"]\ninput = 1000000.0\noutput = 0.0\n')
    monkeypatch.setenv("RELSERVE_PRICES", str(prices))
    with relserve.attach(con.raw, engine=engine, progress=False) as priced:
        with pytest.raises(UsageError) as refused:
            relserve.materialize(priced, "tickets", "kind", SORT)
        assert "tickets.kind has changed: the expression was llm('Kind of {}', message)" in str(refused.value)
        assert "6 rows, 6 distinct prompts, about " in str(refused.value)
        assert "USD" in str(refused.value)
        assert (engine.num_prompts, kinds(priced)[0]) == (5, "Kind of message 0")


@pytest.mark.long
def test_ask_asks_all_rows_again(con: relserve.Connection, engine: ScriptedEngine) -> None:
    done = relserve.materialize(con, "tickets", "kind", SORT, on_change="ask")
    assert (done.asked, kinds(con)[0], kinds(con)[-1]) == (6, "Sort of message 0", "Sort of new")
    assert relserve.refresh(con, "tickets", "kind").asked == 0


def test_keep_asks_new_rows_alone(con: relserve.Connection, engine: ScriptedEngine) -> None:
    done = relserve.materialize(con, "tickets", "kind", SORT, on_change="keep")
    assert (done.asked, kinds(con)[0], kinds(con)[-1]) == (1, "Kind of message 0", "Sort of new")
    assert relserve.refresh(con, "tickets", "kind").asked == 0


def test_another_form_of_the_same_expression_is_no_change(
    con: relserve.Connection, engine: ScriptedEngine
) -> None:
    form = "LLM( 'Kind of {}',  -- a comment\n message )"
    assert relserve.materialize(con, "tickets", "kind", form).asked == 1


@pytest.mark.cells(1)
@pytest.mark.parametrize("on_change", ["ask", "keep"])
def test_a_model_with_other_files_is_a_change(
    con: relserve.Connection, engine: ScriptedEngine, on_change: str
) -> None:
    engine.identity = "two"
    with pytest.raises(UsageError, match=r"scripted has other files .* 6 rows"):
        con.execute("CALL llm_refresh('tickets', 'kind')")
    assert engine.num_prompts == 5
    done = relserve.refresh(con, "tickets", "kind", on_change=on_change)
    assert done.asked == (6 if on_change == "ask" else 1)
    assert relserve.refresh(con, "tickets", "kind").asked == 0


@pytest.mark.long
def test_another_model_is_a_change(con: relserve.Connection, engine: ScriptedEngine) -> None:
    other = ScriptedEngine(echo, model="other")
    with (
        relserve.attach(con.raw, engine=other, progress=False) as attached,
        pytest.raises(UsageError, match="the answers are of scripted, the model is now other"),
    ):
        relserve.refresh(attached, "tickets", "kind")


def test_a_changed_macro_is_a_change(con: relserve.Connection, engine: ScriptedEngine) -> None:
    con.execute("CREATE MACRO rated(t) AS llm('Rate {}', t)")
    relserve.materialize(con, "tickets", "rate", "rated(message)")
    con.execute("CREATE OR REPLACE MACRO rated(t) AS llm('Rate well {}', t)")
    with pytest.raises(UsageError, match="a macro or view that the expression calls has changed"):
        relserve.refresh(con, "tickets", "rate")


@pytest.mark.parametrize("changed", ["asked(t) AS llm('Rate well {}', t)", "cleaned(t) AS upper(t)"])
def test_so_is_a_changed_macro_inside_a_macro(con: relserve.Connection, changed: str) -> None:
    for macro in ("asked(t) AS llm('Rate {}', t)", "cleaned(t) AS lower(t)", "rated(t) AS asked(cleaned(t))"):
        con.execute(f"CREATE MACRO {macro}")
    relserve.materialize(con, "tickets", "rate", "rated(message)")
    assert relserve.refresh(con, "tickets", "rate").asked == 0
    con.execute(f"CREATE OR REPLACE MACRO {changed}")
    with pytest.raises(UsageError, match="a macro or view that the expression calls has changed"):
        relserve.refresh(con, "tickets", "rate")


def test_a_macro_that_is_named_as_a_word_of_the_expression_is_no_change(con: relserve.Connection) -> None:
    con.raw.execute("CREATE MACRO kind(t) AS upper(t); CREATE MACRO message(t) AS lower(t)")
    assert relserve.refresh(con, "tickets", "kind").asked == 1


def test_postgresqls_catalog_in_a_server_is_no_change(con: relserve.Connection) -> None:
    relserve.materialize(con, "tickets", "rate", "llm('Rate {}', nfc_normalize(message))")
    con.raw.execute("ATTACH ':memory:' AS _pg")
    con.raw.execute("CREATE MACRO _pg.nfc_normalize(t) AS (SELECT count(*) FROM tickets)")
    assert relserve.refresh(con, "tickets", "rate").asked == 0


def test_so_is_one_that_was_changed_on_duckdbs_own_connection(con: relserve.Connection) -> None:
    con.execute("CREATE MACRO rated(t) AS llm('Rate {}', t)")
    relserve.materialize(con, "tickets", "rate", "rated(message)")
    con.raw.execute("CREATE OR REPLACE MACRO rated(t) AS llm('Rate well {}', t)")
    with pytest.raises(UsageError, match="a macro or view that the expression calls has changed"):
        relserve.refresh(con, "tickets", "rate")


def test_so_are_parameters_in_another_order(con: relserve.Connection) -> None:
    con.execute("CREATE MACRO rated(a, b) AS llm('Rate {} by {}', a, b)")
    relserve.materialize(con, "tickets", "rate", "rated(message, 'tone')")
    con.execute("CREATE OR REPLACE MACRO rated(b, a) AS llm('Rate {} by {}', a, b)")
    with pytest.raises(UsageError, match="a macro or view that the expression calls has changed"):
        relserve.refresh(con, "tickets", "rate")


def test_a_change_whose_answers_are_kept_already_needs_no_leave(
    con: relserve.Connection, engine: ScriptedEngine
) -> None:
    con.execute(f"SELECT {SORT} FROM tickets").fetchall()
    assert relserve.materialize(con, "tickets", "kind", SORT).asked == 0


def test_another_type_or_other_inputs_cannot_keep_answers(con: relserve.Connection) -> None:
    for expression in ("llm_score('{}', message, lo := 1, hi := 5)", "llm('{} {}', message, id)"):
        with pytest.raises(UsageError, match="cannot be kept: they are VARCHAR of message, and now"):
            relserve.materialize(con, "tickets", "kind", expression, on_change="keep")


def test_another_type_takes_the_place_of_the_column(con: relserve.Connection, engine: ScriptedEngine) -> None:
    engine.script = ScriptedEngine().script
    relserve.materialize(con, "tickets", "kind", "llm_filter('{}', message)", on_change="ask")
    assert all(isinstance(kind, bool) for kind in kinds(con))


def test_explain_tells_what_a_refresh_would_ask(con: relserve.Connection, engine: ScriptedEngine) -> None:
    (*_, (key, told)) = con.execute("EXPLAIN CALL llm_refresh('tickets', 'kind')").fetchall()
    assert (key, "1 llm call: 1 row" in told) == ("llm_calls", True)
    assert con.explain_llm("CALL llm_refresh($1, 'kind')", ["tickets"]).calls[0].estimate.num_rows == 1
    assert engine.num_prompts == 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("llm_refresh('tickets', 'id')", "nothing is remembered of tickets.id.*made so: kind"),
        ("llm_refresh('nowhere', 'kind')", "there is no table nowhere"),
        (
            "llm_refresh('tickets')",
            r"needs column_name, a text, not None: CALL llm_refresh\('table', 'column'\)",
        ),
        (
            "llm_refresh('tickets', 'kind', on_change := 'drop')",
            "on_change is one of raise, ask, keep, not 'drop'",
        ),
        ("llm_refresh('tickets', 'kind', model := 'tiny')", "takes table_name, column_name, on_change"),
        ("llm_refresh(tickets, kind)", "takes texts and parameters, not columns"),
        ("llm_materialize('tickets', 'id', 'llm(''{}'', message)')", "has a column id already"),
        ("llm_materialize('tickets', 'new', 'llm(''{}'', new)')", "reads new itself"),
        ("llm_materialize('tickets', 'new', 'llm(''x'')')", "reads no column of tickets"),
        ("llm_materialize('tickets', 'new', 'llm(')", "cannot be read"),
        ("llm_materialize('tickets', 'new', 'message AS m')", "leave AS out"),
        ("llm_materialize('tickets', 'new', 'message, id')", "one expression"),
        ("llm_materialize('tickets', 'new', 'llm(''{}'', message || now())')", "another value each time"),
        ("llm_materialize('tickets', 'new', '(SELECT max(id) FROM tickets)')", "leave the SELECT out"),
        ("llm_materialize('tickets', 'new', 'llm_classify(''{}'', message)')", "needs choices"),
    ],
)
def test_a_wrong_call_says_what_and_how_to_mend_it(
    unchanged: relserve.Connection, call: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        unchanged.execute(f"CALL {call}")


def test_inside_another_statement_it_is_refused(con: relserve.Connection) -> None:
    """So a SELECT never changes a table."""
    for text in (
        "FROM llm_refresh('tickets', 'kind')",
        "CREATE VIEW v AS FROM llm_refresh('t', 'c')",
    ):
        with pytest.raises(UsageError, match="a statement of its own"):
            con.execute(text)


def test_a_temporary_table_is_refused(con: relserve.Connection) -> None:
    con.execute("CREATE TEMP TABLE passing AS FROM tickets")
    with pytest.raises(UsageError, match="temporary table"):
        relserve.materialize(con, "temp.main.passing", "rate", KIND)


def test_a_model_that_only_the_database_names_is_sent_nothing(con: relserve.Connection) -> None:
    relserve.materialize(con, "tickets", "rate", "llm('{}', message)")
    remembered = "llm('{}', message, model := 'http://elsewhere.example/v1#m')"
    con.execute("UPDATE relserve.fresh_columns SET expression = ? WHERE column_name = 'rate'", [remembered])
    with pytest.raises(ForbiddenError, match="stands in no statement of yours"):
        con.execute("CALL llm_refresh('tickets', 'rate')")


def test_a_macros_model_is_looked_at_too(con: relserve.Connection) -> None:
    other = ScriptedEngine(echo, model="other", identity="one")
    ENGINES.put("other", other)
    con.execute("CREATE MACRO asked(t) AS llm('Rate {}', t, model := 'other')")
    con.execute("CREATE MACRO rated(t) AS asked(t), (t, u) AS asked(concat(t, u))")
    relserve.materialize(con, "tickets", "rate", "rated(message)")
    assert relserve.refresh(con, "tickets", "rate").asked == 0
    other.identity = "two"
    with pytest.raises(UsageError, match="other has other files or settings than before"):
        relserve.refresh(con, "tickets", "rate")
    ENGINES.close("other")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("concat(t, (SELECT max(message) FROM tickets))", "calls a macro that reads another table"),
        ("concat(t, now())", "gives another value each time"),
        ("concat(t, transaction_timestamp())", "gives another value each time"),
        ("concat(t, localtimestamp)", "gives another value each time"),
    ],
)
def test_what_a_macro_reads_beside_its_values_is_refused(
    con: relserve.Connection, body: str, told: str
) -> None:
    con.execute(f"CREATE MACRO initcap(t) AS {body}")  # sqlglot knows a function of that name
    con.execute("CREATE MACRO rated(t) AS llm('Rate {}', initcap(t))")
    with pytest.raises(UsageError, match=told):
        relserve.materialize(con, "tickets", "rate", "rated(message)")


def test_a_macro_may_read_what_it_makes_itself(con: relserve.Connection) -> None:
    con.execute(
        "CREATE MACRO rated(t) AS llm('Rate {}', (WITH parts AS (SELECT t || i AS part FROM range(2) r(i)) "
        "SELECT string_agg(part, ' ') FROM parts))"
    )
    assert relserve.materialize(con, "tickets", "rate", "rated(message)").failed_rows == 0
