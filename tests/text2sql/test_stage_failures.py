"""What goes wrong at a stage: an error that says which and what was tried, the best candidate attached."""

import re
import threading
import time
from collections.abc import Sequence

import duckdb
import pytest

from relserve.errors import (
    Cancelled,
    EngineDeadError,
    Failure,
    FailureKind,
    ModelError,
    Text2SqlError,
    UsageError,
)
from relserve.linking.schema import Schema
from relserve.session.session import Session
from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import QuestionOutcome, replaced, run
from tests.text2sql.databases import MemoryDatabase
from tests.text2sql.replies import Told, engine_of, fenced, session_of
from tests.waiting import act_when, with_time_enough

QUESTION = "How many beers are IPA?"
WRONG = "SELECT count(*) FROM beers WHERE stile = 'IPA'"
THOROUGH = Text2SqlOptions(effort="thorough")


def failure_of(outcome: QuestionOutcome) -> Text2SqlError:
    assert outcome.sql is None
    assert outcome.failure is not None
    return outcome.failure


def ask(replies: dict[str, Told], options: Text2SqlOptions | None = None, **engine: object) -> Text2SqlError:
    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(engine_of(replies, **engine)), options)
    return failure_of(outcome)


def test_nonsense_is_no_sql() -> None:
    error = ask({"candidates": "Beer is a drink."})
    assert (error.stage, error.candidate) == ("candidates", None)
    assert "stage candidates: the model wrote no SQL" in str(error)
    assert "candidates: direct: a reply without SQL" in error.tried


def test_where_no_table_fits_the_model_may_say_so() -> None:
    error = ask({"candidates": "none"})
    assert error.stage == "candidates"
    assert "no table that has what is asked for" in error.problem


def test_without_tables_nothing_is_asked() -> None:
    engine = engine_of({})
    (outcome,) = run(["?"], MemoryDatabase(Schema(())), session_of(engine))
    assert failure_of(outcome).stage == "schema_selection"
    assert engine.num_prompts == 0


def test_a_prompt_over_the_context_says_so() -> None:
    error = ask({"candidates": "SELECT 1"}, max_prompt_chars=100)
    assert error.stage == "candidates"
    assert any("context holds 100" in line for line in error.tried)


def test_revisions_that_do_not_help_end_with_the_candidate_and_duckdbs_words() -> None:
    numbers = iter(range(100))
    error = ask({"candidates": fenced(WRONG), "revision": lambda prompt: fenced(f"SELECT x{next(numbers)}")})
    assert error.stage == "revision"
    assert error.candidate is not None
    assert error.candidate.startswith("SELECT x")
    assert "not found" in error.problem
    assert any("9 revisions; 0 of 3 candidates" in line for line in error.tried)


def test_a_model_that_repeats_itself_is_not_asked_for_ever() -> None:
    engine = engine_of({"candidates": fenced(WRONG), "revision": fenced(WRONG)})
    (outcome,) = run([QUESTION], MemoryDatabase(), session_of(engine), THOROUGH)
    assert failure_of(outcome).candidate == WRONG
    assert [s.stage for s in engine.submissions] == ["keywords", "candidates", "revision"]


@pytest.mark.parametrize(
    ("dies_after", "stage", "candidate"),
    [(0, "keywords", None), (1, "candidates", None), (6, "revision", WRONG)],
)
def test_an_engine_that_dies_leaves_what_was_found(
    dies_after: int, stage: str, candidate: str | None
) -> None:
    replies: dict[str, Told] = {"keywords": "[]", "candidates": fenced(WRONG)}
    error = ask(replies, THOROUGH, dies_after=dies_after)
    assert (error.stage, error.candidate) == (stage, candidate)
    assert isinstance(error.__cause__, EngineDeadError)
    assert f"stage {stage}: the scripted engine died" in str(error)


def test_the_error_of_a_dead_engine_is_on_record() -> None:
    session = session_of(engine_of({}, dies_after=0))
    run([QUESTION], MemoryDatabase(), session, Text2SqlOptions(deadline_s=60))
    (step,) = session.history.workflows.steps()
    (record,) = session.history.workflows.workflows()
    assert (step.stage, step.error) == ("candidates", "the scripted engine died, as it was told to")
    assert record.met is False
    assert record.error is not None
    assert record.stages[-1] == "candidates"


def test_a_deadline_passes_while_the_model_is_asked() -> None:
    def asked(seconds: float) -> Text2SqlError:
        replies: dict[str, Told] = {"candidates": fenced(WRONG)}
        return ask(replies, Text2SqlOptions(deadline_s=seconds), chunk=1, stalls_after=1)

    error = with_time_enough(asked, lambda told: told.candidate)
    assert error.stage == "candidates"
    assert re.search(r"the deadline of \d+ seconds passed", error.problem)
    assert error.candidate == WRONG  # that came in time


def test_a_deadline_that_passed_in_a_stage_without_a_model_stops_the_next() -> None:
    def slow(cases: Sequence[QuestionCase], tools: Tools) -> None:
        time.sleep(0.2)

    engine = engine_of({"candidates": fenced("SELECT 1")})
    options = Text2SqlOptions(deadline_s=0.1)
    (outcome,) = run(
        [QUESTION], MemoryDatabase(), session_of(engine), options, stages=replaced("retrieval", slow)
    )
    assert failure_of(outcome).stage == "schema_selection"
    assert engine.num_prompts == 0


def test_one_question_that_fails_leaves_the_others_alone() -> None:
    def reply(prompt: str) -> str | Failure:
        return Failure(FailureKind.REFUSED, "too rude") if "rude" in prompt else fenced("SELECT 1")

    session = session_of(engine_of({"candidates": reply}))
    bad, good = run(["a rude question", QUESTION], MemoryDatabase(), session)
    assert (good.sql, good.failure) == ("SELECT 1", None)
    assert "candidates: direct: too rude" in failure_of(bad).tried
    assert [record.error is None for record in session.history.workflows.workflows()] == [False, True]


def test_a_database_that_fails_is_a_failure_of_its_stage() -> None:
    class Broken(MemoryDatabase):
        def golden(self, question: str, k: int) -> Sequence[tuple[str, str]]:
            raise duckdb.CatalogException("no table of examples")

    (outcome,) = run([QUESTION], Broken(), session_of(engine_of({})))
    assert failure_of(outcome).stage == "retrieval"
    assert "no table of examples" in failure_of(outcome).problem


def test_a_mistake_of_the_caller_is_no_failure_of_a_stage() -> None:
    class Wrong(MemoryDatabase):
        def golden(self, question: str, k: int) -> Sequence[tuple[str, str]]:
            raise UsageError("examples must have columns question and sql")

    def find(model: str | None) -> object:
        raise ModelError("no model")

    with pytest.raises(UsageError, match="must have columns"):
        run([QUESTION], Wrong(), session_of(engine_of({})))
    with pytest.raises(ModelError):
        run([QUESTION], MemoryDatabase(), Session(find))  # type: ignore[arg-type]


def test_who_cancels_gets_cancelled() -> None:
    engine = engine_of({"candidates": "SELECT 1"}, stalls_after=1, chunk=1)
    session, cancel = session_of(engine), threading.Event()
    act_when(lambda: engine.submissions, cancel.set)
    with pytest.raises(Cancelled):
        run([QUESTION] * 50, MemoryDatabase(), session, cancel=cancel)
    assert session.history.workflows.workflows()[0].seconds is not None


def test_an_empty_question_is_told_apart() -> None:
    engine = engine_of({"candidates": fenced("SELECT 1")})
    empty, good = run(["  ", QUESTION], MemoryDatabase(), session_of(engine))
    assert failure_of(empty).problem == "the question is empty"
    assert good.sql == "SELECT 1"


def test_no_question_asks_nothing() -> None:
    assert run([], MemoryDatabase(), session_of(engine_of({}))) == []
