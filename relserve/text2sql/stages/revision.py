"""Revision: candidates with a problem are written anew, until they have none or the rounds are used up."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.call.answer_types import Answer
from relserve.text2sql.cases.case import ProblemKind, QuestionCase, SqlCandidate
from relserve.text2sql.cases.failures import alone
from relserve.text2sql.cases.tools import StagePrompt, Tools
from relserve.text2sql.prompts.quoting import as_data
from relserve.text2sql.prompts.replies import has_whole_sql, sql_in
from relserve.text2sql.prompts.texts import NOTHING, template_of
from relserve.text2sql.stages.checking import bind, run_all
from relserve.text2sql.stages.constraint import constraint
from relserve.text2sql.stages.hints import MOST_MESSAGE, problem_text
from relserve.text2sql.stages.shown import MOST_TEXT, question_values

STAGE = "revision"
MAX_TOKENS = 1024
FORMER = 3  # queries before that are shown


def revision(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Tell the model what is wrong with each failing candidate, all of a round in one relQuery."""
    if tools.points:
        return
    stuck: set[int] = set()
    for _ in range(tools.options.work.max_revisions):
        todo = [
            (case, candidate)
            for case in cases if case.failure is None
            for candidate in case.candidates
            if candidate.problem is not None and id(candidate) not in stuck
        ]  # fmt: skip
        if not todo:
            break
        stuck |= _round(todo, tools)
    tools.each(STAGE, cases, _end)


def _round(todo: Sequence[tuple[QuestionCase, SqlCandidate]], tools: Tools) -> set[int]:
    """Ask for all of them once; gives those (by id) for which it is not worth asking again."""
    asks: list[StagePrompt] = []
    asked: list[tuple[QuestionCase, SqlCandidate]] = []
    for case, candidate in todo:
        with alone(case, STAGE):
            asks.append(StagePrompt(case, _values(case, candidate, tools), constraint(case, tools)))
            asked.append((case, candidate))
    answers = tools.ask(STAGE, template_of(STAGE), asks, MAX_TOKENS, has_whole_sql)
    stuck: set[int] = set()
    for (case, candidate), answer in zip(asked, answers, strict=True):

        def take(case: QuestionCase, candidate: SqlCandidate = candidate, answer: Answer = answer) -> None:
            if not _revise(candidate, answer):
                stuck.add(id(candidate))
            _check(candidate, tools)

        tools.each(STAGE, [case], take)
    return stuck


def _end(case: QuestionCase) -> None:
    """Say what became of a question's candidates; one without any that is sound fails."""
    num_revised = sum(len(candidate.former) for candidate in case.candidates)
    sound = [candidate for candidate in case.candidates if candidate.problem is None]
    case.note(
        f"{num_revised} revisions; {len(sound)} of {len(case.candidates)} candidates have no problem left"
    )
    if not sound and (best := case.best) is not None and best.problem is not None:
        case.fail("revision", f"no candidate can be used; the last problem: {best.problem.message}")


def _revise(candidate: SqlCandidate, answer: Answer) -> bool:
    """Take a reply; whether it is worth asking again if there is still a problem."""
    problem, sql = candidate.problem, sql_in(answer.value or "")
    assert problem is not None
    if problem.kind is ProblemKind.EMPTY:
        candidate.asked_if_empty = True
        candidate.problem = None
        if sql is not None and sql != candidate.sql:
            candidate.revise(sql, problem)
        return True
    # A greedy model that repeats itself would do so for ever.
    if sql is None or sql == candidate.sql or sql in (former for former, _ in candidate.former):
        return False
    candidate.revise(sql, problem)
    return True


def _check(candidate: SqlCandidate, tools: Tools) -> None:
    """Bind and run a candidate; a query that was to mend an empty result and is worse is given up for it."""
    if candidate.problem is not None:
        return
    bind(candidate, tools, {})
    if tools.options.work.runs:
        run_all([candidate], tools)
    is_worse = candidate.problem is not None or (candidate.result is not None and candidate.result.is_void)
    if candidate.former and candidate.former[-1][1].kind is ProblemKind.EMPTY and is_worse:
        candidate.sql, candidate.problem = candidate.former.pop()[0], None
        candidate.is_bound, candidate.result = True, None
        run_all([candidate], tools)


def _values(case: QuestionCase, candidate: SqlCandidate, tools: Tools) -> dict[str, str]:
    former = [
        f"query: {as_data(sql, MOST_TEXT)}\nproblem: {as_data(problem.message, MOST_MESSAGE)}"
        for sql, problem in candidate.former[-FORMER:]
    ]
    return question_values(case, tools) | dict(
        sql=as_data(candidate.sql, MOST_TEXT), problem=problem_text(candidate, case.schema, tools.database),
        former="\n".join(former) or NOTHING,
    )  # fmt: skip
