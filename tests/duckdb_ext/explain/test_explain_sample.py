"""explain_llm(.., sample := n): how sure the model is, by asking a few prompts of each call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sql_fixtures import Made

from relserve.engines.batch.engine import BatchEngine
from relserve.engines.http.engine import HttpEngine
from relserve.errors import Failure, FailureKind, UsageError
from relserve.prices.price import Rates, TokenPrice
from relserve.prices.prices import Prices
from relserve.session.caps import Limits
from relserve.session.sureness import QUANTILES


def sampled(made: Made, sql: str, sample: int = 20) -> tuple[list[dict[str, Any]], str]:
    """The table's rows, and what is printed."""
    found = made.con.explain_llm(sql, sample=sample)
    return found.table.to_pylist(), str(found).replace("\n", " ")


def test_without_a_sample_nothing_is_asked(made: Made) -> None:
    (row,) = made.con.explain_llm("SELECT llm_prob('Good? {}', body) FROM p").table.to_pylist()
    assert made.engine.num_prompts == 0
    assert (row["sampled"], *(row[name] for name in QUANTILES)) == (None,) * 4


def test_a_sample_is_asked_all_over_and_told(made: Made) -> None:
    (row,), said = sampled(made, "SELECT llm_prob('Good? {}', body) FROM p")
    assert made.engine.num_prompts == 20
    assert row["sampled"] == 20
    assert 0.5 <= row["sure_p10"] <= row["sure_p50"] <= row["sure_p90"] <= 1
    assert "#1, a sample of 20 prompts: the median confidence is 0." in said
    (told,) = made.con.session.history.query_rows()
    assert [told[name] for name in QUANTILES] == [row[name] for name in QUANTILES]
    assert [told["distinct_prompts"], told["function"]] == [20, "llm_prob"]


def test_filters_and_labels_are_weighed_by_their_own_prompts(made: Made) -> None:
    rows, _ = sampled(
        made,
        "SELECT llm_classify('b {}', body, choices := ['x', 'y']) FROM p WHERE llm_filter('a {}', title)",
        3,
    )
    assert [row["sampled"] for row in rows] == [3, 3]
    assert made.engine.num_prompts == 6
    prompts = [prompt for each in made.engine.submissions for prompt in each.prompts]
    assert prompts[0].startswith("Answer with exactly one of: yes, no.\na ")


def test_few_prompts_are_all_asked_and_each_question_counts(made: Made) -> None:
    questions = json.dumps({name: {"type": "noul", "instructions": f"{name}?"} for name in "ab"})
    sql = f"SELECT llm_decide(body, '{questions}') FROM p WHERE id < 4"
    (row,), said = sampled(made, sql)
    assert row["sampled"] == 2 * row["distinct_prompts"] == 8
    assert "a sample of 4 prompts" in said
    assert "(8 questions)" in said


def test_a_sample_of_a_cascade_is_of_all_rows_and_not_of_those_that_the_large_model_gets(made: Made) -> None:
    few = "cascade := 'small', precision := 0.6, recall := 0.6"
    sql = f"SELECT llm_filter('Good? {{}}', body, model := 'large', {few}) FROM p"
    rows, said = sampled(made, sql, 500)
    assert [row["sampled"] for row in rows] == [500, 500]
    assert rows[1]["distinct_prompts"] < rows[0]["distinct_prompts"] == 500
    assert "#1, a sample of 500 prompts" in said


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT llm('s {}', body) FROM p", "#1 was not sampled: llm() has no probabilities."),
        (
            "SELECT llm_prob('{}', llm('s {}', body)) FROM p",
            "#2 was not sampled: its prompts hold another call's answers.",
        ),
    ],
)
def test_what_cannot_be_sampled_is_said(made: Made, sql: str, why: str) -> None:
    _, said = sampled(made, sql)
    assert why in said
    assert made.engine.num_prompts == 0


def test_a_sample_of_which_no_row_is_answered_says_so(made: Made) -> None:
    made.engine.script = lambda prompt, submission: Failure(FailureKind.REFUSED, "no")
    rows, said = sampled(made, "SELECT llm_prob('Good? {}', body, on_error := 'raise') FROM p")
    assert rows[0]["sampled"] == 0
    assert "none was answered; llm_errors() says why." in said


def test_a_variable_has_explain_ask_a_sample(made: Made) -> None:
    sql = "EXPLAIN SELECT llm_prob('Good? {}', body) FROM p"
    assert "sample" not in explained(made, sql)
    assert made.engine.num_prompts == 0
    made.con.execute("SET VARIABLE llm_explain_sample = 7")
    said = explained(made, sql)
    assert "Up to 7 prompts of each call were asked for a sample; caps count them." in said
    assert "#1, a sample of 7 prompts: the median confidence is 0." in said
    assert made.engine.num_prompts == 7
    assert "a sample of 7 prompts" in made.con.sql(sql.removeprefix("EXPLAIN ")).explain().replace("\n", " ")
    made.con.execute("RESET VARIABLE llm_explain_sample")
    assert "sample" not in explained(made, sql)


@pytest.mark.parametrize("value", ["'many'", "true", "-1", "1000000"])
def test_a_variable_that_is_no_such_number_is_told(made: Made, value: str) -> None:
    made.con.execute(f"SET VARIABLE llm_explain_sample = {value}")
    said = explained(made, "EXPLAIN SELECT llm_prob('Good? {}', body) FROM p")
    assert "llm_explain_sample is a whole number of prompts of each call, such as 20, at most 1,000," in said
    assert made.engine.num_prompts == 0


@pytest.mark.long
def test_a_sample_over_a_cap_is_not_asked_and_the_rest_is_told(made: Made) -> None:
    made.con.session.spending.statement = Limits(rows=10)
    sql = "SELECT llm_prob('a {}', body), llm_prob('b {}', title) FROM p"
    rows, said = sampled(made, sql, 8)
    assert made.engine.num_prompts == 0
    assert [row["sampled"] for row in rows] == [None, None]
    assert "No sample was asked: this would ask about 16 rows" in said
    assert [row["sampled"] for row in sampled(made, sql, 5)[0]] == [5, 5]


def test_a_sample_is_held_to_the_caps_of_its_own_call(made: Made) -> None:
    _, said = sampled(made, "SELECT llm_filter('Good? {}', body, max_rows := 5) FROM p")
    assert made.engine.num_prompts == 0
    assert "No sample was asked: this would ask about 20 rows" in said


def test_a_sample_that_costs_is_confirmed_before(made: Made) -> None:
    questions: list[str] = []
    spending = made.con.session.spending
    spending.prices = Prices({"scripted": TokenPrice(Rates(1.0, 1.0, 1.0))})
    spending.confirm, spending.confirm_above = lambda told: bool(questions.append(told)), 0.0
    _, said = sampled(made, "SELECT llm_prob('Good? {}', body) FROM p")
    assert questions[0].startswith("about 20 rows")
    assert made.engine.num_prompts == 0
    assert "No sample was asked: nothing was asked: about 20 rows" in said


def test_no_batch_is_sent_for_a_sample(made: Made, tmp_path: Path) -> None:
    made.con.session.find_engine = lambda model: BatchEngine(HttpEngine("http://127.0.0.1:9/v1"), tmp_path)
    _, said = sampled(made, "SELECT llm_prob('Good? {}', body) FROM p")
    assert "#1 was not sampled: a batch does not answer at once." in said


def explained(made: Made, sql: str) -> str:
    return str(made.rows(sql)).replace("\\n", " ")


def test_the_number_of_a_sample_is_checked(made: Made) -> None:
    with pytest.raises(UsageError, match="sample is a whole number of prompts of each call"):
        made.con.explain_llm("SELECT llm('s {}', body) FROM p", sample=-1)
