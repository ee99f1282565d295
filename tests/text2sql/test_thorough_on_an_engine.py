"""The thorough pipeline on a real engine whose model says nothing sensible.

Random weights end no SELECT, so the model's candidates and revisions are cut or "none": none of them is used.
Recorded candidates and unit tests join them, for the later stages to have something to ask about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb
import pytest

from benchmarks.zoo import build
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.errors import Text2SqlError
from relserve.session.history import QueryRecord
from relserve.session.session import Session
from relserve.session.workflows import StepRecord, WorkflowRecord
from relserve.text2sql.cases.case import QuestionCase, SqlCandidate
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.duckdb_database import DuckDBDatabase, library_in
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import STAGES, QuestionOutcome, Stage, replaced, run
from relserve.text2sql.stages import candidates as candidates_stage
from relserve.text2sql.stages import evaluation as evaluation_stage
from relserve.text2sql.stages import keywords as keywords_stage
from relserve.text2sql.stages import revision as revision_stage
from tests.text2sql.databases import FILL
from tests.waiting import PATIENCE_S

# The engine starts within the first test's time.
pytestmark = [pytest.mark.vllm, pytest.mark.long, pytest.mark.timeout(600)]

MODEL = "qwen3"
MAX_TOKENS = {"keywords": 32, "candidates": 96, "revision": 96, "unit_tests": 32, "evaluation": 16}
JUDGED, VOTED, WRONG, BARE = (
    "How many beers are IPA?", "Which brewery in Oslo has the strongest beer?",
    "Which styles are there?", "List all cities.",
)  # fmt: skip
REFUSED = {
    JUDGED: ["SELECT count(*) FROM beers WHERE stile = 'IPA'"],
    VOTED: ["SELECT nome FROM breweries WHERE city = 'Oslo'"],
    WRONG: ["SELECT DISTINCT stile FROM beers"],
    BARE: [],
}
VALID = {
    JUDGED: ["SELECT count(*) FROM beers WHERE style = 'IPA'", "SELECT count(*) FROM beers"],
    VOTED: [
        "SELECT max(abv) FROM beers",
        "SELECT name FROM breweries WHERE city = 'Oslo'",
        "SELECT min(name) FROM breweries WHERE city = 'Oslo'",
    ],
    WRONG: [],
    BARE: [],
}
VOTES = {JUDGED: [1, 1], VOTED: [1, 2, 2]}
TESTS = {JUDGED: ("Only IPAs are counted.", "The result has one row.")}
ASKED = {"keywords": 4, "candidates": 20, "revision": 3, "unit_tests": 2, "evaluation": 2}
NAMES = [stage.name for stage in STAGES]


class Done(NamedTuple):
    """What one run left: outcomes by question, and the session's records."""

    outcomes: dict[str, QuestionOutcome]
    steps: list[StepRecord]
    queries: list[QueryRecord]
    workflows: list[WorkflowRecord]
    session: Session


def _candidates(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Recorded candidates stand before those of the engine, of which a case must have one at least."""
    for case in cases:
        recorded = REFUSED[case.question] + VALID[case.question]
        case.candidates += [SqlCandidate(sql, "recorded") for sql in recorded]
    candidates_stage.candidates(cases, tools)


def _unit_tests(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """The engine is asked; recorded tests take the place of those that it did not write."""
    evaluation_stage.unit_tests(cases, tools)
    for case in cases:
        case.tests = case.tests or TESTS.get(case.question, ())


def _stages() -> list[Stage]:
    return [
        Stage(stage.name, _unit_tests) if stage.name == "unit_tests" else stage
        for stage in replaced("candidates", _candidates)
    ]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    """One run of all questions together, which the tests look at."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    folder = tmp_path_factory.mktemp("thorough")
    engine = LocalEngine(
        MODEL, str(build(MODEL)), engine_args={"dtype": "float32"}, log_path=folder / "engine.log"
    )
    session = Session(lambda model: engine)
    options = Text2SqlOptions(effort="thorough", grammar=True, seed=1)
    try:
        with duckdb.connect() as con, pytest.MonkeyPatch.context() as patch:
            patch.setattr(keywords_stage, "MAX_TOKENS", MAX_TOKENS["keywords"])
            patch.setattr(candidates_stage, "MAX_TOKENS", MAX_TOKENS["candidates"])
            patch.setattr(revision_stage, "MAX_TOKENS", MAX_TOKENS["revision"])
            patch.setattr(evaluation_stage, "TESTS_TOKENS", MAX_TOKENS["unit_tests"])
            patch.setattr(evaluation_stage, "VERDICT_TOKENS", MAX_TOKENS["evaluation"])
            con.execute(FILL)
            database = DuckDBDatabase(con, options, library=library_in(folder))
            outcomes = run([JUDGED, VOTED, WRONG, BARE], database, session, options, stages=_stages())
        history = session.history
        yield Done(
            {outcome.question: outcome for outcome in outcomes},
            history.workflows.steps(), history.queries(), history.workflows.workflows(), session,
        )  # fmt: skip
    finally:
        spawn(engine.close()).result(timeout=PATIENCE_S)


def test_stages_run_in_order_and_a_question_stops_at_the_one_that_fails(done: Done) -> None:
    assert [step.stage for step in done.steps] == [name for name in NAMES if name in ASKED]
    last = {JUDGED: "choice", VOTED: "choice", WRONG: "revision", BARE: "candidates"}
    for question, outcome in done.outcomes.items():
        gone_through = NAMES[: NAMES.index(last[question]) + 1]
        assert [trace.stage for trace in outcome.steps] == gone_through, question


def test_a_stage_asks_once_for_all_questions(done: Done) -> None:
    """A cut revision is not asked for again, so there is one round of them."""
    assert {step.stage: step.calls for step in done.steps} == ASKED
    asked = [(trace.stage, trace.calls) for each in done.outcomes.values() for trace in each.steps]
    assert {name: sum(calls for stage, calls in asked if stage == name) for name in ASKED} == ASKED


def test_steps_agree_with_the_relqueries_on_record(done: Done) -> None:
    assert len({step.workflow_id for step in done.steps}) == 1
    for step, query in zip(done.steps, done.queries, strict=True):
        assert (step.rel_id, step.calls, step.usage) == (query.rel_id, query.num_distinct, query.usage)
        assert (query.state, step.error, step.num_cached) == ("done", None, 0)
        assert step.usage.prompt_tokens > 0
        assert 0 < step.usage.output_tokens <= step.calls * MAX_TOKENS[step.stage]
        assert (step.seconds or 0) > 0
    steps = done.session.history.workflows.steps_table()
    queries = done.session.history.queries_table()
    for name in ("rel_id", "prompt_tokens", "cached_tokens", "output_tokens"):
        assert steps[name].to_pylist() == queries[name].to_pylist()


def test_no_cut_reply_becomes_a_candidate(done: Done) -> None:
    """What was refused keeps its problem, for its revision was cut."""
    for question, outcome in done.outcomes.items():
        assert [candidate.sql for candidate in outcome.candidates] == REFUSED[question] + VALID[question]
        assert not any(candidate.former for candidate in outcome.candidates)
        with_problem = [candidate.sql for candidate in outcome.candidates if candidate.problem is not None]
        assert with_problem == REFUSED[question]


def test_cut_replies_are_on_record_as_failed_rows(done: Done) -> None:
    """But for candidates that are the word "none", which is whole; revisions keep to the grammar of SQL."""
    failed = {step.stage: query.num_failed for step, query in zip(done.steps, done.queries, strict=True)}
    notes = [note for outcome in done.outcomes.values() for trace in outcome.steps for note in trace.notes]
    num_cut = sum("where the reply was cut" in note for note in notes)
    assert num_cut > 0
    assert failed == dict.fromkeys(ASKED, 0) | {"candidates": num_cut, "revision": ASKED["revision"]}
    (revision,) = [step.rel_id for step in done.steps if step.stage == "revision"]
    errors = done.session.history.errors()
    messages = [error.failure.message for error in errors if error.rel_id == revision]
    assert len(messages) == ASKED["revision"]
    assert all("max_tokens ended the reply '```sql" in message for message in messages)


@pytest.mark.parametrize("question", [JUDGED, VOTED])
def test_a_valid_candidate_is_chosen_by_tests_and_else_by_vote(done: Done, question: str) -> None:
    outcome = done.outcomes[question]
    sound = [candidate for candidate in outcome.candidates if candidate.problem is None]
    assert [candidate.votes for candidate in sound] == VOTES[question]
    best = max(sound, key=lambda each: (each.num_passed, each.votes))  # the first of equals
    assert (outcome.sql, outcome.failure) == (best.sql, None)


def test_evaluation_says_what_came_of_each_test(done: Done) -> None:
    notes = {question: {t.stage: t.notes for t in done.outcomes[question].steps} for question in VOTES}
    assert len(notes[JUDGED]["evaluation"]) == 2
    assert all("tests" in note for note in notes[JUDGED]["evaluation"])
    assert notes[VOTED]["evaluation"] == ()


@pytest.mark.parametrize(
    ("question", "stage", "best"), [(WRONG, "revision", *REFUSED[WRONG]), (BARE, "candidates", None)]
)
def test_a_question_without_a_sound_candidate_has_an_error_that_names_the_stage(
    done: Done, question: str, stage: str, best: str | None
) -> None:
    outcome = done.outcomes[question]
    assert outcome.sql is None
    assert isinstance(outcome.failure, Text2SqlError)
    assert (outcome.failure.stage, outcome.failure.candidate) == (stage, best)
    assert stage in str(outcome.failure)


def test_the_workflow_is_on_record_whole(done: Done) -> None:
    assert [record.question for record in done.workflows] == [JUDGED, VOTED, WRONG, BARE]
    for number, record in enumerate(done.workflows, start=1):
        outcome = done.outcomes[record.question]
        assert (record.number, record.workflow_id, record.model) == (number, outcome.workflow_id, MODEL)
        assert record.sql == outcome.sql
        assert record.error == (None if outcome.failure is None else str(outcome.failure))
        assert record.stages == tuple(trace.stage for trace in outcome.steps)
        assert record.calls == sum(trace.calls for trace in outcome.steps)
        assert (record.seconds or 0) > 0
    assert sum(record.calls for record in done.workflows) == sum(ASKED.values())
