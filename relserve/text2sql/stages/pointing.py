"""Candidates of a model that points at columns, tables and values by handles; code writes the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from relserve.call.answer_types import Grammar
from relserve.call.template import Template
from relserve.linking.pointer import PointerPrompt, linked_question, pointer_prompt, sql_of
from relserve.linking.sql import PointerError
from relserve.text2sql.cases.case import QuestionCase, SqlCandidate
from relserve.text2sql.cases.tools import StagePrompt, Tools
from relserve.text2sql.stages.suggestions import nearest_questions

MAX_TOKENS = 64
TEMPLATE = Template.parse("{prompt}")


def point(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Ask each question under several shuffles of the handles, each with its own grammar, in one relQuery."""
    prompts = [(case, prompt) for case in cases for prompt in _prompts(case, tools)]
    asks = [
        StagePrompt(case, {"prompt": prompt.text}, Grammar(ebnf=prompt.grammar)) for case, prompt in prompts
    ]
    answers = tools.ask("candidates", TEMPLATE, asks, MAX_TOKENS)
    for (case, prompt), answer in zip(prompts, answers, strict=True):
        try:
            if answer.value is not None:
                case.candidates.append(SqlCandidate(sql_of(answer.value, prompt), "handles"))
        except PointerError as error:
            case.note(f"an answer has no meaning: {error}")
    for case in cases:
        if case.failure is None:
            case.note(f"{len(case.candidates)} of {tools.num_candidates} shuffles of handles gave SQL")


def _prompts(case: QuestionCase, tools: Tools) -> list[PointerPrompt]:
    """A prompt for each shuffle; none where the question or the schema does not fit into one."""
    seed, index = tools.options.seed or 0, tools.database.values()
    try:
        if not linked_question(case.schema, case.question, index).named(case.schema):
            raise PointerError(f"the question names nothing of the tables.{_examples(case)}")
        return [
            pointer_prompt(case.schema, case.question, index, Random(f"{seed} {number}"))
            for number in range(tools.num_candidates)
        ]
    except PointerError as error:
        case.fail("candidates", str(error), error)
        return []


def refuse(case: QuestionCase, most: int, tools: Tools) -> None:
    """Fail a question on which the model's answers do not agree, with questions that it can answer."""
    why = f"at most {most} of its {tools.num_candidates} answers agree" if most else "it has no answer to it"
    case.fail("choice", f"the model does not understand the question: {why}.{_examples(case)}")


def _examples(case: QuestionCase) -> str:
    """Questions that the model can answer, for the end of an error."""
    shown = "".join(f"\n  {each}" for each in nearest_questions(case.schema, case.question))
    return f" It can answer, for example:{shown}"
