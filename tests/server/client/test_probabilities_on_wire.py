"""llm_prob, llm_probs and llm_tags through the server: values, and errors in the words of SQL and frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest

import relserve
from relserve.engines.scripted import ScriptedEngine, mass_by_hash, weights_by_hash
from tests.server.client.conftest import Serve, connect

ROWS = pa.table({"x": ["a"]})
BAD: list[tuple[str, dict[str, Any]]] = [
    ("llm_probs", {}),
    ("llm_probs", {"choices": []}),
    ("llm_probs", {"choices": ["a"]}),
    ("llm_probs", {"choices": ["a", "a"]}),
    ("llm_probs", {"choices": [f"c{i}" for i in range(300)]}),
    ("llm_probs", {"choices": ["a", "b"], "read": "fast"}),
    ("llm_tags", {"choices": ["a"], "threshold": 7}),
    ("llm_score", {"levels": ["calm"]}),
    ("llm_score", {"levels": ["calm", "cross"], "hi": 5}),
    ("llm_prob", {"calibration": "no/name"}),
    ("llm_prob", {"calibration": {"yes": "praise"}}),
    ("llm_tags", {"choices": ["a", "b"], "calibration": "praise"}),
    ("llm_tags", {"choices": ["a", "b"], "calibration": {"c": "praise"}}),
    ("llm_prob", {"debias": 3}),
    ("llm_probs", {"choices": ["a", "b"], "debias": 0}),
    ("llm_probs", {"choices": ["a", "b"], "debias": 1.5}),
    ("llm_tags", {"choices": ["a", "b", "c"], "debias": 3}),
    ("llm_probs", {"choices": ["a", "b"], "prior": "uniform"}),
    ("llm_prob", {"prior": True}),
]
BAD_QUESTIONS = [
    "Is it a complaint?",
    "[]",
    '{"a": {"type": "bool", "instructions": "?"}}',
    '{"a": {"type": "choice", "instructions": "?", "criteria": ["u"]}}',
    '{"a": {"type": "noul", "instructions": "?"}, "a": {"type": "noul", "instructions": "?"}}',
]


def written(options: dict[str, Any]) -> str:
    """The options as SQL writes them."""
    return "".join(f", {name} := {value!r}" for name, value in options.items())


@pytest.fixture
def own() -> Iterator[relserve.Connection]:
    """SQL in this process."""
    with relserve.connect(engine=ScriptedEngine(), progress=False) as con:
        yield con


def check_words(
    own: relserve.Connection, client: psycopg.Connection, sql: str, said: str, *also: type[Exception]
) -> None:
    """SQL in this process and a server's client are told what a dataframe call was."""
    with pytest.raises((relserve.OptionError, *also)) as by_sql:
        own.execute(sql).fetchall()
    with pytest.raises(psycopg.Error) as by_server:
        client.execute(sql)  # type: ignore[call-overload]
    assert said in str(by_sql.value), sql
    assert said in str(by_server.value), sql


def test_bad_calls_are_told_in_the_same_words_everywhere(serve: Serve, own: relserve.Connection) -> None:
    client = connect(serve(), autocommit=True)
    for function, options in BAD:
        with pytest.raises(relserve.OptionError) as by_frame:
            getattr(relserve, function)(ROWS, "Team? {x}", engine=ScriptedEngine(), **options)
        sql = f"SELECT {function}('Team? {{}}', 'a'{written(options)})"
        check_words(own, client, sql, str(by_frame.value), duckdb.Error)


def test_bad_questions_are_told_in_the_same_words_everywhere(serve: Serve, own: relserve.Connection) -> None:
    client = connect(serve(), autocommit=True)
    for questions in BAD_QUESTIONS:
        with pytest.raises(relserve.OptionError) as by_frame:
            relserve.llm_decide(ROWS, questions, engine=ScriptedEngine())
        check_words(own, client, f"SELECT llm_decide('a', '{questions}')", str(by_frame.value))


def test_values_and_null_rows(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    yes = weights_by_hash("Answer with exactly one of: yes, no.\nGood? a", 2)[0]
    asked = con.execute("SELECT llm_prob('Good? {}', x) FROM (VALUES ('a'), (NULL)) t(x)").fetchall()
    assert asked == [(pytest.approx(yes),), (None,)]
    tags = "llm_tags('About? {}', 'a', choices := ['u', 'v'], threshold := 0)"
    probs = "llm_probs('Team? {}', 'a', choices := ['u', 'v'])"
    (row,) = con.execute(f"SELECT {tags}, {probs}['u'] + {probs}['v']").fetchall()
    assert row == (["u", "v"], pytest.approx(1))
    questions = '{"team": {"type": "choice", "instructions": "Team?", "criteria": {"u": null, "v": "last"}}}'
    decided = f"llm_decide(x, '{questions}')"
    texts = "(VALUES ('a'), (NULL)) t(x)"
    rows = con.execute(
        f"SELECT ({decided}).team.choice, ({decided}).team.probability FROM {texts}"
    ).fetchall()
    prompt = "a\nTeam?\nv: last\nAnswer with exactly one of: u, v."
    weights = weights_by_hash(prompt, 2)
    best = max(weights)
    assert rows == [("uv"[weights.index(best)], pytest.approx(best)), (None, None)]


def test_a_client_is_not_told_which_calibrations_there_are(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    with pytest.raises(psycopg.Error, match="there is no calibration 'n'") as raised:
        con.execute("SELECT llm_prob('Good? {}', 'a', calibration := 'n')")
    assert "there are" not in str(raised.value)


def test_a_sample_is_asked_by_explain_where_a_variable_says_so(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("SET VARIABLE llm_explain_sample = 3")
    rows = con.execute("EXPLAIN SELECT llm_prob('Good? {}', i) FROM range(9) t(i)").fetchall()
    said = str(rows).replace("\\n", " ")
    assert "#1, a sample of 3 prompts: the median confidence is 0." in said
    (mass,) = con.execute(
        "SELECT llm_probs('Team? {}', 'a', choices := ['u', 'v'], label_mass := true)['label_mass']"
    ).fetchall()[0]
    assert mass == pytest.approx(mass_by_hash("Answer with exactly one of: u, v.\nTeam? a"))


def test_a_client_keeps_no_calibration(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    table = "WITH t AS (SELECT 'a' AS x, true AS y)"
    with pytest.raises(psycopg.Error, match="writes a file of this server; whoever runs it makes one"):
        con.execute(f"{table} FROM llm_calibrate('t', llm_prob('Good? {{}}', x), y, name := 'n')")
