"""Every argument of the table macros and of llm_rank given wrongly: the error names it and says what to give.

A table of one row has constants in its columns, which DuckDB treats as such.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pandas as pd
import pytest

import relserve
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import ModelError, OptionError, TemplateError, UsageError

CALLS = {  # each argument by its name, those by position first
    "llm_similar": {"data": "'mails'", "value": "body", "wanted": "'a parcel'", "k": "2", "model": "NULL"},
    "llm_dedup": {"data": "'mails'", "value": "body", "similarity": "0.9", "model": "NULL"},
    "llm_sim_join": {
        "data": "'mails'", "value": "body", "other": "'mails'", "wanted": "body", "k": "1", "model": "NULL",
    },
    "llm_cluster": {"data": "'mails'", "value": "body", "k": "2", "model": "NULL"},
    "llm_topics": {
        "data": "'mails'", "value": "body", "k": "2", "about": "NULL", "named": "'Sum up: {}'",
        "model": "NULL", "embed_model": "NULL",
    },
    "llm_top": {"data": "'mails'", "prompt": "'Which? {}'", "value": "body", "k": "2", "model": "NULL"},
    "llm_rerank": {
        "data": "'mails'", "value": "body", "wanted": "'a parcel'", "k": "2", "among": "2", "model": "NULL",
        "embed_model": "NULL",
    },
    "llm_evaluate": {"data": "'mails'", "answer": "llm('{}', body)", "label": "body"},
    "llm_calibrate": {
        "data": "'mails'", "probability": "llm_prob('{}', body)", "truth": "body", "name": "'p'",
    },
    "llm_rank": {"prompt": "'Which? {}'", "value": "body", "k": "2", "model": "NULL"},
}  # fmt: skip
BY_POSITION = {"data", "value", "wanted", "other", "prompt", "answer", "label", "probability", "truth"}
NO_NUMBERS = ["'two'", "''", "[]", "[1]", "{'a': 1}", "true", "1e400", "'nan'::DOUBLE", "DATE '2020-01-01'"]
COUNTS = ["0", "-1", "1.5", "'two'", "[1]", "true", "1e30", "'nan'::DOUBLE"]
TEXTS = ["5", "''", "[]"]
NO_TEMPLATES = ["5", "''", "[]", "'no placeholder'"]
NO_TEMPLATE = r"must be a template such as 'Sum up: \{{\}}', not "
TABLE = (UsageError, r"{function}\(\) takes the name of a table")
WRONG = {  # by argument: wrong values, and what is told
    "data": (["NULL", "''", "5", "[]", "(SELECT 'mails')"], *TABLE),
    "other": (["NULL", "''", "5", "[]"], *TABLE),
    "k": (COUNTS, OptionError, "k must be "),
    "among": (COUNTS, OptionError, r"llm_rerank\(\): among must be a whole number of 1 or more, not "),
    "similarity": (
        [*NO_NUMBERS, "NULL"], OptionError,
        r"llm_dedup\(\): similarity must be a number such as 0.95, not ",
    ),
    "model": (TEXTS, OptionError, "model must be a text that is not empty"),
    "embed_model": (TEXTS, OptionError, r"{function}\(\): embed_model must be a model's name, not "),
    "about": (NO_TEMPLATES, OptionError, rf"about {NO_TEMPLATE}"),
    "named": ([*NO_TEMPLATES, "NULL"], OptionError, rf"named {NO_TEMPLATE}"),
    "prompt": (["'no placeholder'", "''"], TemplateError, "Put {{}} where the value belongs"),
    "name": (
        ["''", "'a b'", "'../p'", "[]", "(SELECT '2 b')"], OptionError, "name must be a name of letters",
    ),
    "truth": (["'maybe'", "7", "[]"], UsageError, "a label must be true or false"),
    "probability": (["0.5", "body", "NULL"], UsageError, "takes one call of llm_prob or llm_probs"),
}  # fmt: skip


@pytest.fixture(scope="module")
def con() -> Iterator[relserve.Connection]:
    with relserve.connect(engine=ScriptedEngine(), cache=False, progress=False) as con:
        con.execute("CREATE TABLE mails AS FROM (VALUES (1, 'a parcel'), (2, NULL), (3, 'lost')) t(id, body)")
        con.execute("CREATE TABLE one AS SELECT 1 AS id, 'a parcel' AS body")
        yield con


def called(function: str, argument: str, given: str) -> str:
    """The call with one of its arguments changed."""
    arguments = {**CALLS[function], argument: given}
    text = ", ".join(
        value if name in BY_POSITION else f"{name} := {value}" for name, value in arguments.items()
    )
    return f"SELECT {function}({text}) FROM mails" if function == "llm_rank" else f"FROM {function}({text})"


@pytest.mark.cells(4)
@pytest.mark.parametrize("function", CALLS)
def test_each_wrong_argument_is_named(con: relserve.Connection, function: str) -> None:
    for argument in CALLS[function]:
        values, kind, message = WRONG.get(argument, ([], UsageError, ""))
        calls = [called(function, argument, given) for given in values]
        for call in [*calls, *(each.replace("'mails'", "'one'") for each in calls[:1])]:
            with pytest.raises(kind, match=message.format(function=function)):
                con.execute(call).fetchall()
        if argument in ("value", "wanted", "answer", "label", "probability", "truth"):
            with pytest.raises(duckdb.BinderException, match='column "bdy"'):
                con.execute(called(function, argument, "bdy"))
        if argument in ("data", "other"):
            with pytest.raises(
                duckdb.CatalogException, match='name mail does not exist!\nDid you mean "mails"'
            ):
                con.execute(called(function, argument, "'mail'"))
        if argument.endswith("model"):
            with pytest.raises(ModelError, match="no model 'nope'"):
                con.execute(called(function, argument, "'nope'")).fetchall()


def test_a_name_without_quotes_is_told(con: relserve.Connection) -> None:
    with pytest.raises(UsageError, match=r"llm_calibrate\(\) takes a name in quotes: name := 'praise'"):
        con.execute(called("llm_calibrate", "name", "praise"))


def test_vectors_of_two_lengths_are_told_and_lists_of_numbers_are_vectors(con: relserve.Connection) -> None:
    con.execute("CREATE TABLE points AS SELECT [id, 1.0] AS p FROM range(3) t(id)")
    assert con.sql("SELECT p FROM llm_similar('points', p, [0, 1], k := 1)").fetchall() == [([0, 1],)]
    for call in ("llm_similar('points', p, [1.0, 2.0, 3.0])", "llm_sim_join('points', p, 'mails', body)"):
        with pytest.raises(
            UsageError, match=r"vectors of 2 and of (3|256) numbers cannot be compared: make both"
        ):
            con.sql(f"FROM {call}").fetchall()


def test_a_view_over_the_same_macro_is_told(con: relserve.Connection) -> None:
    con.execute("CREATE VIEW apart AS FROM llm_dedup('mails', body)")
    with pytest.raises(UsageError, match=r"llm_dedup\(\) cannot read a view that calls llm_dedup\(\) itself"):
        con.sql("FROM llm_dedup('apart', body)").fetchall()
    inside = "WITH apart AS (FROM llm_dedup('mails', body)) SELECT count(*) FROM llm_dedup('apart', body)"
    assert con.sql(inside).fetchall() == [(3,)]


def test_answers_that_the_label_cannot_hold_are_wrong(con: relserve.Connection) -> None:
    con.execute("CREATE TABLE stars AS FROM (VALUES ('3', 3), ('four', 4), (NULL, 5)) t(said, stars)")
    rows = con.sql("SELECT \"rows\", right_answers, null_answers FROM llm_evaluate('stars', said, stars)")
    assert rows.fetchall() == [(3, 1, 1)]


def test_a_frame_is_a_table_of_its_variable(con: relserve.Connection) -> None:
    frame = pd.DataFrame({"body": ["a parcel", None, "lost"]})
    assert con.sql("SELECT body FROM llm_similar('frame', body, 'parcel', k := 1)").fetchall() == [
        ("a parcel",)
    ]
    for call, message in (
        ("llm_dedup('frame', body, similarity := 'two')", "similarity must be a number"),
        ("llm_topics('frame', body, embed_model := 5)", "embed_model must be a model's name"),
        ("llm_rerank('frame', body, 'x', among := 0)", "among must be a whole number"),
    ):
        with pytest.raises(OptionError, match=message):
            con.sql(f"FROM {call}").fetchall()
    assert len(frame) == 3
