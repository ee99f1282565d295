"""Evaluation: the model writes unit tests for a question, and says which of them each candidate passes."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.tools import StagePrompt, Tools
from relserve.text2sql.prompts.quoting import as_data
from relserve.text2sql.prompts.replies import json_in
from relserve.text2sql.prompts.texts import template_of
from relserve.text2sql.stages.choice import groups_of
from relserve.text2sql.stages.shown import MOST_TEXT, question_values, result_text

MOST_TESTS = 5
TESTS_TOKENS, VERDICT_TOKENS = 512, 64


def unit_tests(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Have tests written for each question whose candidates do not agree."""
    if not tools.options.work.tests or tools.points:
        return
    split = [case for case in cases if len(groups_of(case)) > 1]
    asks = [
        StagePrompt(case, question_values(case, tools) | {"candidates": _candidates_text(case)})
        for case in split
    ]
    answers = tools.ask("unit_tests", template_of("unit_tests"), asks, TESTS_TOKENS)
    for case, answer in zip(split, answers, strict=True):
        found = json_in(answer.value or "", list) or ()
        case.tests = tuple(each for each in found if isinstance(each, str))[:MOST_TESTS]
        case.note(f"{len(case.tests)} unit tests written")


def evaluation(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Have the first candidate of each result judged by the tests; the others get what it gets."""
    judged = [(case, group) for case in cases if case.tests for group in groups_of(case)]
    asks = [
        StagePrompt(case, question_values(case, tools) | dict(
            sql=as_data(group[0].sql, MOST_TEXT), result=result_text(group[0]),
            tests=_tests_text(case),
        ))
        for case, group in judged
    ]  # fmt: skip
    answers = tools.ask("evaluation", template_of("evaluation"), asks, VERDICT_TOKENS)
    for (case, group), answer in zip(judged, answers, strict=True):
        verdicts = json_in(answer.value or "", list)
        if verdicts is None or len(verdicts) != len(case.tests):
            case.note(f"{group[0].method}: no verdict on each of {len(case.tests)} tests")
            continue
        for candidate in group:
            candidate.num_passed = sum(verdict is True for verdict in verdicts)
        case.note(f"{group[0].method}: passes {group[0].num_passed} of {len(case.tests)} tests")


def _tests_text(case: QuestionCase) -> str:
    return "\n".join(f"{number}. {as_data(test, MOST_TEXT)}" for number, test in enumerate(case.tests, 1))


def _candidates_text(case: QuestionCase) -> str:
    return "\n".join(
        f"query: {as_data(group[0].sql, MOST_TEXT)}\nresult:\n{result_text(group[0])}"
        for group in groups_of(case)
    )
