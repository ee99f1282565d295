"""con.text2sql(): the SQL, how it was found, and the rows in every form."""

from __future__ import annotations

import duckdb
import pytest
from questions.recorded_answers import ANSWERS, asking

from relserve.errors import OptionError, Text2SqlError, UsageError


def test_the_answer_gives_its_sql_and_rows_in_every_form() -> None:
    asked = asking()
    answer = asked.con.text2sql("Strong?", tables=["beers"], deadline=3)
    assert (answer.question, answer.sql) == ("Strong?", ANSWERS["Strong?"])
    assert (answer.candidates, answer.trace, answer.workflow_id) == ((), [], "wf-1")
    rows = [(2, "Dark", 7), (1, "Amber", 5.5), (3, "Pale", 4.5)]
    assert answer.fetchall() == rows
    assert answer.arrow().column("name").to_pylist() == ["Dark", "Amber", "Pale"]
    assert list(answer.df()["id"]) == list(answer.pl()["id"]) == [2, 1, 3]
    assert answer.relation().filter("id < 3").fetchall() == rows[:2]
    ((_, options),) = asked.pipeline.asked
    assert (options.tables, options.deadline_s) == (("beers",), 3)


def test_it_shows_question_sql_and_rows() -> None:
    answer = asking().con.text2sql("Count?")
    assert repr(answer).startswith("-- Count?\nSELECT count(*) AS n FROM beers\n\n┌")
    assert "<pre>SELECT count(*) AS n FROM beers</pre>" in answer._repr_html_()


@pytest.mark.parametrize(
    ("question", "options", "kind", "message"),
    [
        ("Who?", {}, Text2SqlError, "no table fits"),
        (" ", {}, UsageError, "needs a question"),
        (3, {}, UsageError, "needs a question"),
        ("Who?", {"modle": "x"}, OptionError, "Did you mean model"),
        ("Who?", {"deadline": -1}, OptionError, "deadline"),
    ],
)
def test_a_failure_says_why(
    question: str, options: dict[str, object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        asking().con.text2sql(question, **options)


def test_an_open_result_is_left_alone_as_by_sql() -> None:
    asked = asking()
    asked.con.execute("SELECT i FROM range(5000) t(i)")
    assert asked.con.fetchone() == (0,)
    with pytest.raises(duckdb.ResourceInUseException):
        asked.con.text2sql("Count?")
    assert asked.con.fetchone() == (1,)
