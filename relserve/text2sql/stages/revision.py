"""Revision: candidates with a problem are written anew, until they have none or the rounds are used up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

import sqlglot
from sqlglot import exp

from relserve.call.answer_types import Answer
from relserve.linking.schema import Schema
from relserve.text2sql.cases.case import ProblemKind, QuestionCase, SqlCandidate
from relserve.text2sql.cases.database import Database
from relserve.text2sql.cases.failures import alone
from relserve.text2sql.cases.tools import StagePrompt, Tools
from relserve.text2sql.prompts.quoting import as_data
from relserve.text2sql.prompts.replies import has_whole_sql, sql_in
from relserve.text2sql.prompts.texts import NOTHING, template_of
from relserve.text2sql.stages.checking import bind, run_all
from relserve.text2sql.stages.constraint import constraint
from relserve.text2sql.stages.shown import MOST_TEXT, question_values

STAGE = "revision"
MAX_TOKENS = 1024
FORMER = 3  # queries before that are shown
_MOST_MESSAGE, MOST_LITERALS, SIMILAR, NEAREST = 600, 6, 5, 5


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
        f"query: {as_data(sql, MOST_TEXT)}\nproblem: {as_data(problem.message, _MOST_MESSAGE)}"
        for sql, problem in candidate.former[-FORMER:]
    ]
    return question_values(case, tools) | dict(
        sql=as_data(candidate.sql, MOST_TEXT), problem=_problem_text(candidate, case.schema, tools.database),
        former="\n".join(former) or NOTHING,
    )  # fmt: skip


def _problem_text(candidate: SqlCandidate, schema: Schema, database: Database) -> str:
    """What is wrong with a candidate, and what may help to mend it."""
    problem = candidate.problem
    assert problem is not None
    if problem.kind is ProblemKind.EMPTY:
        return (
            "It runs, but gives no row, or nothing but NULL and 0. Is a value in its filters spelled "
            "otherwise in the database, or does it stand in another column? If the query is right as it is, "
            "repeat it unchanged. Values of the database like those of the query:\n"
            f"<data>\n{_similar_values(candidate.sql, database)}\n</data>"
        )
    words = "DuckDB cannot bind it" if problem.kind is ProblemKind.REFUSED else "It failed when it ran"
    return (
        f"{words}. What was said, and the names of the schema that are like those in it:\n<data>\n"
        f"{as_data(problem.message, _MOST_MESSAGE)}\nnames: {_near_names(problem.message, schema)}\n</data>"
    )


def _similar_values(sql: str, database: Database) -> str:
    try:
        literals = [
            each.this for each in sqlglot.parse_one(sql, "duckdb").find_all(exp.Literal) if each.is_string
        ]
    except (sqlglot.errors.SqlglotError, RecursionError):
        literals = re.findall(r"'((?:[^']|'')+)'", sql)
    lines = [
        f"{as_data(literal)}: {as_data(hit.table)}.{as_data(hit.column)} = {as_data(hit.value)}"
        for literal in list(dict.fromkeys(literals))[:MOST_LITERALS]
        for hit, _ in database.values().similar(literal, SIMILAR)
    ]
    return "\n".join(lines) or NOTHING


def _near_names(message: str, schema: Schema) -> str:
    """Names of the schema that are like one in quotes, or after "name", in an error message."""
    named = re.findall(r'"([^"\n]+)"|with name (\S+)', message)
    full = {
        f"{table.name}.{column.name}".lower(): f"{table.name}.{column.name}"
        for table, column in schema.columns
    }
    full |= {table.name.lower(): table.name for table in schema.tables}
    by_last = [*full, *(column.name.lower() for _, column in schema.columns)]
    found: dict[str, None] = {}
    for quoted, plain in named:
        for near in get_close_matches((quoted or plain).lower(), by_last, NEAREST, 0.5):
            at_home = [text for low, text in full.items() if low == near or low.endswith(f".{near}")]
            found |= dict.fromkeys(at_home)
    return ", ".join(as_data(name) for name in list(found)[: 2 * NEAREST]) or NOTHING
