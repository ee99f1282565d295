"""llm_decide, levels and described choices in SQL: types, values, what is asked, what fails."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pytest
from sql_fixtures import Made, make

from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine, mass_by_hash, weights_by_hash
from relserve.errors import Failure, FailureKind, OptionError, RowError

QUESTIONS: dict[str, Any] = {
    "complaint": {"type": "noul", "instructions": "Is it a complaint?"},
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"sales": "prices", "it's else": None},
    },
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "cross", "furious"]},
}
AS_JSON = json.dumps(QUESTIONS).replace("'", "''")
TEXTS = "(VALUES ('a'), (NULL), ('b'), ('a')) t(x)"
_MAP = "MAP(VARCHAR, DOUBLE)"
TYPE = (
    f"STRUCT(complaint DOUBLE, team STRUCT(choice VARCHAR, probability DOUBLE, probabilities {_MAP}), "
    f"anger STRUCT(score DOUBLE, probability DOUBLE, probabilities {_MAP}))"
)


@pytest.fixture
def made() -> Made:
    return make(tables=False)


def decided(state: str) -> dict[str, Any]:
    """What the scripted engine's made-up probabilities make of a state."""
    yes, _ = weights_by_hash(f"{state}\nIs it a complaint?\nAnswer with exactly one of: yes, no.", 2)
    teams = ("sales", "it's else")
    asked = f"{state}\nWhich team?\nsales: prices\nAnswer with exactly one of: sales, it's else."
    team = dict(zip(teams, weights_by_hash(asked, 2), strict=True))
    levels = ("calm", "cross", "furious")
    asked = f"{state}\nHow angry?\nAnswer with exactly one of: calm, cross, furious."
    anger = dict(zip(levels, weights_by_hash(asked, 3), strict=True))
    return {
        "complaint": yes,
        "team": {
            "choice": max(team, key=team.__getitem__), "probability": max(team.values()),
            "probabilities": team,
        },
        "anger": {
            "score": pytest.approx(anger["cross"] + 2 * anger["furious"]), "probability": max(anger.values()),
            "probabilities": anger,
        },
    }  # fmt: skip


def test_each_question_is_a_field_of_its_type(made: Made) -> None:
    call = f"llm_decide(x, '{AS_JSON}')"
    wanted = [(decided("a"),), (None,), (decided("b"),), (decided("a"),)]
    assert made.rows(f"SELECT {call} FROM {TEXTS}") == wanted
    assert made.asked == (6, 1)  # three questions about two states
    assert made.rows(f"SELECT typeof({call}), ({call}).team.choice FROM {TEXTS} LIMIT 1") == [
        (TYPE, decided("a")["team"]["choice"])
    ]
    assert made.rows("SELECT distinct_prompts FROM llm_queries() ORDER BY ALL DESC LIMIT 1") == [(2,)]
    ordered = made.engine.submissions[0].prompts
    assert [prompt[0] for prompt in ordered] == ["a"] * 3 + ["b"] * 3  # a state's questions follow each other


@pytest.mark.parametrize(
    "given",
    [
        f"questions := '{AS_JSON}'",
        "{'complaint': {'type': 'noul', 'instructions': 'Is it a complaint?'}, "
        "'team': {'type': 'choice', 'instructions': 'Which team?', "
        "'criteria': MAP {'sales': 'prices', 'it''s else': NULL}}, "
        "'anger': {'type': 'score', 'instructions': 'How angry?', 'criteria': ['calm', 'cross', 'furious']}}",
        '\'[{"name": "complaint", "type": "predicate", "instructions": "Is it a complaint?"}, '
        '{"name": "team", "type": "choice", "instructions": "Which team?", "choices": '
        '[{"value": "sales", "description": "prices"}, {"value": "it\'\'s else"}]}, '
        '{"name": "anger", "type": "score", "instructions": "How angry?", '
        '"levels": ["calm", "cross", "furious"]}]\'',
        "$1",
    ],
)
def test_questions_come_in_any_form(made: Made, given: str) -> None:
    parameters = [json.dumps(QUESTIONS)] if given == "$1" else None
    sql = f"SELECT typeof(d), d FROM (SELECT llm_decide('a', {given}) AS d)"
    assert made.rows(sql, parameters) == [(TYPE, decided("a"))]


def test_label_masses_are_a_field_with_an_entry_a_question(made: Made) -> None:
    call = f"llm_decide('a', '{AS_JSON}', label_mass := true)"
    ((found, kind),) = made.rows(f"SELECT d, typeof(d) FROM (SELECT {call} AS d)")
    masses = found.pop("label_mass")
    assert found == decided("a")
    assert kind == f"{TYPE[:-1]}, label_mass {_MAP})"
    assert list(masses) == list(QUESTIONS)
    assert masses["complaint"] == mass_by_hash("a\nIs it a complaint?\nAnswer with exactly one of: yes, no.")
    assert made.rows(f"SELECT typeof(llm_decide('a', '{AS_JSON}', label_mass := false))") == [(TYPE,)]


def test_a_question_with_the_name_of_label_masses_is_told(made: Made) -> None:
    call = "llm_decide('a', {'Label_Mass': {'type': 'noul', 'instructions': 'Good?'}}, label_mass := %s)"
    with pytest.raises(OptionError, match="label_mass is told under the name 'label_mass'"):
        made.rows("SELECT " + call % "true")
    assert list(made.rows("SELECT " + call % "false")[0][0]) == ["Label_Mass"]


def test_explain_counts_every_question_and_shows_the_call(made: Made) -> None:
    shown = str(made.rows(f"EXPLAIN SELECT llm_decide(x, '{AS_JSON}') FROM {TEXTS}"))
    assert "2 distinct prompts, " in shown
    assert "at most 6 output tokens" in shown
    assert "llm_decide(" in shown
    assert made.asked[0] == 0


def test_a_question_that_fails_is_null_in_its_field_and_on_record() -> None:
    def script(prompt: str, submission: Submission) -> str | Failure:
        if prompt.startswith("b\nWhich team?") or prompt.startswith("c\n"):
            return Failure(FailureKind.REFUSED, "too rude")
        return "yes"

    made = make(tables=False, script=script)
    call = f"llm_decide(x, '{AS_JSON}')"
    rows = made.rows(f"SELECT {call} FROM (VALUES ('a'), ('b'), ('c')) t(x)")
    assert rows == [(decided("a"),), ({**decided("b"), "team": None},), (None,)]
    assert made.rows("SELECT kind, message, rows FROM llm_errors() ORDER BY message") == [
        ("refused", "question 'complaint': too rude", 1), ("refused", "question 'team': too rude", 1),
    ]  # fmt: skip
    with pytest.raises(RowError, match="question 'team': too rude"):
        made.rows(f"SELECT llm_decide('b', '{AS_JSON}', on_error := 'raise')")


def test_a_state_longer_than_the_context_is_null_and_on_record() -> None:
    made = make(tables=False, max_prompt_chars=200)
    assert made.rows(f"SELECT llm_decide(repeat('x', 300), '{AS_JSON}')") == [(None,)]
    assert made.rows("SELECT kind, message FROM llm_errors()") == [
        ("over_context", "question 'complaint': the prompt has 356 characters, the model's context holds 200")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'x'", r"llm_decide\(\) needs questions := "),
        ("'x', 'Is it good?'", "questions is no JSON"),
        ("'x', '{}'", "questions has no question"),
        ('\'x\', \'{"a": {"type": "bool", "instructions": "?"}}\'', "question 'a': type must be"),
        (
            "'x', {'a': {'type': 'choice', 'instructions': '?', 'criteria': ['u']}}",
            "needs two choices or more",
        ),
        (
            '\'x\', \'{"a\\u0000b": {"type": "noul", "instructions": "?"}}\'',
            r"holds 'a\\x00b', which is no name in SQL",
        ),
        ("'x', questions := '[]', temperature := 1", r"llm_decide\(\) has no option 'temperature'"),
    ],
)
def test_wrong_questions_are_told_before_anything_is_asked(
    refusing: Made, arguments: str, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        refusing.rows(f"SELECT llm_decide({arguments})")
    assert refusing.asked[0] == 0


def test_a_column_cannot_say_the_type_of_the_answers(made: Made) -> None:
    for call in ("llm_decide(x, x)", "llm_extract('{}', x, schema := x)"):
        with pytest.raises(OptionError, match="no column can give them; write them out"):
            made.rows(f"SELECT {call} FROM {TEXTS}")
    with pytest.raises(duckdb.BinderException, match="must be a constant expression"):
        made.rows(f"SELECT from_json(x, x), llm_prob('{{}}', x) FROM {TEXTS}")
    assert made.asked[0] == 0


def test_dataframes_and_relations_give_the_same(made: Made) -> None:
    import pyarrow as pa

    import relserve

    table = pa.table({"id": [1, 2, 3], "x": ["a", None, "b"]})
    wanted = [decided("a"), None, decided("b")]
    for given in (QUESTIONS, json.dumps(QUESTIONS)):
        found = relserve.llm_decide(table, given, columns=["x"], engine=ScriptedEngine())
        assert [as_dicts(each) for each in found.to_pylist()] == wanted
    relation = made.con.sql(f"SELECT x FROM {TEXTS} WHERE x = 'b'")
    ((_, answer),) = relserve.llm_decide(relation, questions=QUESTIONS).fetchall()
    assert answer == decided("b")
    with pytest.raises(OptionError, match="questions is no JSON"):
        relserve.llm_decide(table, "Is it good?", columns=["x"], engine=ScriptedEngine())
    with pytest.raises(TypeError, match="takes 2 arguments by position"):
        relserve.llm_decide(table, QUESTIONS, "x", engine=ScriptedEngine())


def as_dicts(row: dict[str, Any] | None) -> dict[str, Any] | None:
    """A row of Arrow, whose maps are lists of pairs."""
    return row and {
        name: {**each, "probabilities": dict(each["probabilities"])} if isinstance(each, dict) else each
        for name, each in row.items()
    }


def test_a_score_of_levels_is_the_expected_one(made: Made) -> None:
    levels = "levels := ['calm', 'cross', 'furious']"
    asked = "Answer with exactly one of: calm, cross, furious.\nHow angry? a"
    calm, cross, furious = weights_by_hash(asked, 3)
    wanted = pytest.approx(cross + 2 * furious)
    assert made.rows(f"SELECT llm_score('How angry? {{}}', 'a', {levels})") == [(wanted,)]
    choices = levels.replace("levels", "choices")
    (probabilities,) = made.rows(f"SELECT llm_probs('How angry? {{}}', 'a', {choices})")[0]
    assert list(probabilities.values()) == [calm, cross, furious]


@pytest.mark.parametrize("given", ["MAP {'sales': 'prices', 'it': NULL}", "{'sales': 'prices', 'it': NULL}"])
def test_described_choices_are_a_map_or_a_struct(made: Made, given: str) -> None:
    made.rows(f"SELECT llm_probs('Team? {{}}', 'a', choices := {given})")
    (prompt,) = made.engine.submissions[-1].prompts
    assert prompt == "Answer with exactly one of: sales, it.\nsales: prices\nTeam? a"
