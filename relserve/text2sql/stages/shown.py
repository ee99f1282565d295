"""What is known of a question, as its prompts show it."""

from __future__ import annotations

from relserve.text2sql.cases.case import QuestionCase, SqlCandidate
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.prompts.quoting import as_data, name_text
from relserve.text2sql.prompts.schema_text import schema_text
from relserve.text2sql.prompts.texts import NOTHING, naming_text

MOST_TEXT = 4000  # characters of a question, a note or a query


def question_values(case: QuestionCase, tools: Tools) -> dict[str, str]:
    """What the placeholders of a question's prompts stand for, those of single stages apart."""
    naming = naming_text() if tools.constrains else ""
    return dict(
        schema=schema_text(case.schema), naming=naming, examples=examples_text(case),
        evidence=note_text(case), question=as_data(case.question, MOST_TEXT), values=values_text(case),
    )  # fmt: skip


def note_text(case: QuestionCase) -> str:
    """The note on how to understand a question."""
    return NOTHING if case.evidence is None else as_data(case.evidence, MOST_TEXT)


def values_text(case: QuestionCase) -> str:
    """The values of the database that are like words of the question, with their columns."""
    lines = [f"{name_text(hit.table)}.{name_text(hit.column)} = {as_data(hit.value)}" for hit in case.values]
    return "\n".join(lines) or NOTHING


def examples_text(case: QuestionCase) -> str:
    """The user's own examples that are like the question."""
    lines = [
        f"question: {as_data(question, MOST_TEXT)}\nsql: {as_data(sql, MOST_TEXT)}"
        for question, sql in case.examples
    ]
    return "\n".join(lines) or NOTHING


def result_text(candidate: SqlCandidate) -> str:
    """The first rows of a candidate's result."""
    return NOTHING if candidate.result is None else candidate.result.shown or "(no rows)"
