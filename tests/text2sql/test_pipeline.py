"""The pipeline end to end on the scripted engine, with recorded replies."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from relserve.cache.cache import AnswerCache
from relserve.errors import UsageError
from relserve.session.session import Session
from relserve.text2sql.cases.case import QuestionCase, SqlCandidate
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import STAGES, replaced, run
from tests.text2sql.databases import MemoryDatabase
from tests.text2sql.replies import engine_of, fenced, session_of

QUESTION = "How many beers are IPA?"
COUNT = "SELECT count(*) FROM beers WHERE style = 'IPA'"
WRONG = "SELECT count(*) FROM beers WHERE stile = 'IPA'"
ALL = "SELECT count(*) FROM beers"
QUICK, THOROUGH = Text2SqlOptions(effort="quick"), Text2SqlOptions(effort="thorough")

REPLIES = {
    "keywords": '["IPA", "beers"]',
    "candidates/direct": fenced(ALL),
    "candidates/divide_and_conquer": "The IPA.\n" + fenced(WRONG),
    "candidates/query_plan": "none",
    "candidates/result_first": fenced("SELECT count(DISTINCT name) FROM beers WHERE style = 'ipa'"),
    "candidates/word_by_word": fenced(COUNT.replace("count(*)", "sum(1)")),
    "revision": lambda prompt: fenced(COUNT),
    "unit_tests": '["Only IPAs are counted.", "The result has one row."]',
    "evaluation": lambda prompt: "[true, true]" if "IPA'" in prompt.split("query: ")[-1] else "[false, true]",
}


def test_a_question_becomes_the_sql_that_most_candidates_agree_on() -> None:
    engine = engine_of(
        {
            "candidates/direct": fenced(COUNT),
            "candidates/divide_and_conquer": "Part: IPA\n" + fenced(COUNT.replace("count(*)", "sum(1)")),
            "candidates/query_plan": ALL,
        }
    )
    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(engine))
    assert outcome.failure is None
    assert outcome.sql == COUNT
    assert [candidate.votes for candidate in outcome.candidates] == [2, 2, 1]
    assert [s.stage for s in engine.submissions] == ["candidates"]


def test_thorough_goes_through_the_stages_of_the_papers_figure_1() -> None:
    engine = engine_of(REPLIES)
    session = session_of(engine)
    (outcome,) = run([QUESTION], MemoryDatabase(), session, THOROUGH)
    assert outcome.sql == COUNT
    asked = [(s.stage, len(s.prompts)) for s in engine.submissions]
    # An empty result and a wrong name are revised in one round; two results are left to judge.
    assert asked == [
        ("keywords", 1), ("candidates", 5), ("revision", 2), ("unit_tests", 1), ("evaluation", 2),
    ]  # fmt: skip
    assert {s.workflow_id for s in engine.submissions} == {outcome.workflow_id}
    assert [(step.stage, step.calls) for step in outcome.steps] == [
        ("keywords", 1), ("retrieval", 0), ("schema_selection", 0), ("candidates", 5), ("validation", 0),
        ("execution", 0), ("revision", 2), ("unit_tests", 1), ("evaluation", 2), ("choice", 0),
    ]  # fmt: skip
    assert [candidate.num_passed for candidate in outcome.candidates] == [1, 2, 2, 2]


def test_records_tell_calls_tokens_and_stages() -> None:
    session = session_of(engine_of(REPLIES))
    (outcome,) = run([QUESTION], MemoryDatabase(), session, Text2SqlOptions(effort="thorough", deadline_s=60))
    (record,) = session.history.workflows.workflows()
    steps, queries = session.history.workflows.steps(), session.history.queries()
    assert [step.rel_id for step in steps] == [query.rel_id for query in queries]
    assert (record.workflow_id, record.sql, record.calls) == (outcome.workflow_id, COUNT, 11)
    assert record.stages == tuple(stage.name for stage in STAGES)
    assert record.usage is not None
    assert record.usage.prompt_tokens == sum(query.usage.prompt_tokens for query in queries) > 1000
    assert record.usage.output_tokens == sum(step.usage.output_tokens for step in steps) > 0
    assert (record.met, record.deadline_s, record.error) == (True, 60, None)


def test_quick_asks_once_and_runs_nothing() -> None:
    engine, database = engine_of(REPLIES), MemoryDatabase()
    (outcome,) = run([QUESTION], database, session_of(engine), QUICK)
    assert outcome.sql == ALL
    assert [(s.stage, len(s.prompts)) for s in engine.submissions] == [("candidates", 1)]
    assert (database.explained, database.ran) == ([ALL], [])


def test_a_hundred_questions_are_one_relquery_a_stage() -> None:
    engine = engine_of(REPLIES)
    session = session_of(engine)
    questions = [f"{QUESTION} ({number})" for number in range(100)]
    outcomes = run(questions, MemoryDatabase(), session, THOROUGH)
    assert {outcome.sql for outcome in outcomes} == {COUNT}
    assert [outcome.question for outcome in outcomes] == questions
    assert [(s.stage, len(s.prompts)) for s in engine.submissions] == [
        ("keywords", 100), ("candidates", 500), ("revision", 200), ("unit_tests", 100), ("evaluation", 200),
    ]  # fmt: skip
    records = session.history.workflows.workflows()
    assert {record.workflow_id for record in records} == {outcomes[0].workflow_id}
    assert [record.number for record in records] == list(range(1, 101))
    assert {(record.calls, record.usage) for record in records} == {(11, None)}


def test_prompts_share_their_beginning() -> None:
    engine = engine_of(REPLIES)
    run(["How many beers?", QUESTION], MemoryDatabase(), session_of(engine), THOROUGH)
    for submission in engine.submissions[1:]:
        heads = {prompt[: prompt.index("Questions of before")] for prompt in submission.prompts}
        assert len(heads) == 1
        assert "CREATE TABLE beers" in heads.pop()


def test_a_repeated_question_is_free(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.db", 10_000_000, pytest.fail)
    engine = engine_of(REPLIES, identity="recorded")
    session = Session(lambda model: engine, cache=cache)
    first, again = (run([QUESTION], MemoryDatabase(), session, THOROUGH)[0] for _ in range(2))
    assert engine.num_prompts == 11
    assert first.sql == again.sql
    steps = session.history.workflows.steps(again.workflow_id)
    assert sum(step.num_cached for step in steps) == sum(step.calls for step in steps) == 11


def test_the_evidence_of_a_question_reaches_its_prompt_alone() -> None:
    engine = engine_of(REPLIES)
    run(
        [QUESTION, "How many?"],
        MemoryDatabase(),
        session_of(engine),
        QUICK,
        evidence=["IPA is a style", None],
    )
    noted = {
        QUESTION in prompt: 'note: "IPA is a style"' in prompt for prompt in engine.submissions[0].prompts
    }
    assert noted == {True: True, False: False}


@pytest.mark.parametrize("name", [stage.name for stage in STAGES])
def test_each_stage_can_be_replaced(name: str) -> None:
    seen: list[str] = []
    (own,) = (stage.run for stage in STAGES if stage.name == name)

    def another(cases: Sequence[QuestionCase], tools: Tools) -> None:
        seen.extend(case.question for case in cases)
        own(cases, tools)

    engine = engine_of(REPLIES)
    (outcome,) = run(
        [QUESTION], MemoryDatabase(), session_of(engine), THOROUGH, stages=replaced(name, another)
    )
    assert (seen, outcome.sql) == ([QUESTION], COUNT)


def test_a_stage_of_ones_own_decides() -> None:
    def mine(cases: Sequence[QuestionCase], tools: Tools) -> None:
        for case in cases:
            case.candidates = [SqlCandidate("SELECT 42", "mine")]

    (outcome,) = run(["?"], MemoryDatabase(), session_of(engine_of({})), stages=replaced("candidates", mine))
    assert outcome.sql == "SELECT 42"


def test_a_stage_that_there_is_not_cannot_be_replaced() -> None:
    with pytest.raises(UsageError, match=r"no stage 'linking'; there are: keywords, retrieval, "):
        replaced("linking", STAGES[0].run)


def test_the_users_examples_are_in_the_prompt() -> None:
    engine = engine_of(REPLIES)
    database = MemoryDatabase(golden=[("How many stouts?", "SELECT 7")])
    run([QUESTION], database, session_of(engine), QUICK)
    assert 'question: "How many stouts?"\nsql: "SELECT 7"' in engine.submissions[0].prompts[0]


def test_a_question_that_stands_twice_is_asked_once() -> None:
    engine = engine_of(REPLIES)
    session = session_of(engine)
    first, second = run([QUESTION, QUESTION], MemoryDatabase(), session, THOROUGH)
    assert first.sql == second.sql == COUNT
    assert sum(step.calls for step in session.history.workflows.steps()) == engine.num_prompts == 11
