"""Candidates: SQL for each question, made by several prompts, or by handles that code turns into SQL."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.call.answer_types import Answer
from relserve.errors import FailureKind
from relserve.text2sql.cases.case import QuestionCase, SqlCandidate
from relserve.text2sql.cases.tools import StagePrompt, Tools
from relserve.text2sql.prompts.replies import has_whole_sql, says_none, sql_in
from relserve.text2sql.prompts.texts import METHODS, method_text, template_of
from relserve.text2sql.stages.constraint import constraint
from relserve.text2sql.stages.pointing import point
from relserve.text2sql.stages.shown import question_values

MAX_TOKENS = 1024


def candidates(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Write SQL by as many methods as the options say, all in one relQuery.

    The prompts of a question differ at their ends only, those of a schema after it, so that the engine's
    prefix cache serves what they share.
    """
    if tools.points:
        point(cases, tools)
        return
    methods = METHODS[: tools.num_candidates]
    asked = [(case, method) for case in cases for method in methods]
    asks = [
        StagePrompt(
            case,
            question_values(case, tools) | {"method": method_text(method)},
            constraint(case, tools, method),
        )
        for case, method in asked
    ]
    answers = tools.ask("candidates", template_of("candidates"), asks, MAX_TOKENS, has_whole_sql)
    num_none = dict.fromkeys(map(id, cases), 0)
    for (case, method), answer in zip(asked, answers, strict=True):
        reply = answer.value or ""
        if sql := sql_in(reply):
            case.candidates.append(SqlCandidate(sql, method))
        elif says_none(reply):
            num_none[id(case)] += 1
        else:
            case.note(f"{method}: {_why_none(answer)}")
    for case in cases:
        case.note(f"{len(case.candidates)} of {len(methods)} prompts gave SQL")
        if not case.candidates:
            no_table = num_none[id(case)] == len(methods)
            case.fail("candidates", NO_TABLE if no_table else "the model wrote no SQL")


def _why_none(answer: Answer) -> str:
    if answer.failure is None:
        return "a reply without SQL"
    if answer.failure.kind is FailureKind.UNPARSABLE:  # of free text, and of SQL under a grammar: it was cut
        return f"no whole SQL in the first {MAX_TOKENS:,} tokens, where the reply was cut"
    return answer.failure.message


NO_TABLE = (
    "the model found no table that has what is asked for; name others by tables or schema, or ask otherwise"
)
