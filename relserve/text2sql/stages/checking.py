"""Validation and execution: what DuckDB says of candidates. Nothing runs that was not bound before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relserve.text2sql.cases.case import Problem, ProblemKind, QuestionCase, SqlCandidate
from relserve.text2sql.cases.failures import is_of_all, told
from relserve.text2sql.cases.results import ResultSet
from relserve.text2sql.cases.tools import Tools


def validation(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Have DuckDB bind every candidate, which runs nothing; equal ones once."""
    known: dict[str, Problem | None] = {}

    def bind_all(case: QuestionCase) -> None:
        for candidate in case.candidates:
            bind(candidate, tools, known)
        num_bound = sum(candidate.is_bound for candidate in case.candidates)
        case.note(f"{num_bound} of {len(case.candidates)} candidates bind")

    tools.each("validation", cases, bind_all)


def execution(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Run the candidates that bind, within the database's limits; equal ones once."""
    if not tools.options.work.runs or tools.points:
        return

    def run_case(case: QuestionCase) -> None:
        run_all(case.candidates, tools)
        num_run = sum(candidate.result is not None for candidate in case.candidates)
        case.note(f"{num_run} of {len(case.candidates)} candidates run")

    tools.each("execution", cases, run_case)


def bind(candidate: SqlCandidate, tools: Tools, known: dict[str, Problem | None]) -> None:
    """Bind a candidate that was not; what DuckDB finds wrong becomes its problem.

    Args:
        known: what was found of SQL texts before; what is found now is added.
    """
    if candidate.is_bound:
        return
    if candidate.sql not in known:
        known[candidate.sql] = _bind(candidate.sql, tools)
    candidate.problem = known[candidate.sql]
    candidate.is_bound = candidate.problem is None


def _bind(sql: str, tools: Tools) -> Problem | None:
    try:
        tools.explain(sql)
    except Exception as error:
        if is_of_all(error):
            raise
        return Problem(ProblemKind.REFUSED, told(error))
    return None


def run_all(candidates: Iterable[SqlCandidate], tools: Tools) -> None:
    """Run candidates of one question that bind and were not run; see `run`."""
    outcomes: dict[str, ResultSet | Problem] = {}
    for candidate in candidates:
        if not candidate.is_bound or candidate.result is not None or candidate.problem is not None:
            continue
        if candidate.sql not in outcomes:
            outcomes[candidate.sql] = _run(candidate.sql, tools)
        _take(candidate, outcomes[candidate.sql])


def _run(sql: str, tools: Tools) -> ResultSet | Problem:
    try:
        return ResultSet.of(tools.rows(sql))
    except Exception as error:
        if is_of_all(error):
            raise
        return Problem(ProblemKind.FAILED, told(error))


def _take(candidate: SqlCandidate, outcome: ResultSet | Problem) -> None:
    if isinstance(outcome, Problem):
        candidate.problem = outcome
        return
    candidate.result = outcome
    if outcome.is_void and not candidate.asked_if_empty:
        candidate.problem = Problem(ProblemKind.EMPTY, "it gives no row, or nothing but NULL and 0")
