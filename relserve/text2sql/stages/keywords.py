"""Keywords: what of a question is looked up in the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relserve.linking.words import tokens
from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.tools import StagePrompt, Tools
from relserve.text2sql.prompts.quoting import as_data
from relserve.text2sql.prompts.replies import json_in
from relserve.text2sql.prompts.schema_text import schema_text
from relserve.text2sql.prompts.texts import template_of
from relserve.text2sql.stages.shown import MOST_TEXT, note_text

MOST_KEYWORDS = 24
MAX_TOKENS = 256
_QUOTES = "\"'“”‘’"


def keywords(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Find quoted texts and names by code; a thorough run asks the model as well."""
    tools.each("keywords", cases, _find)
    cases = [case for case in cases if case.failure is None]
    if not tools.options.work.asks_keywords or tools.points:
        return
    asks = [
        StagePrompt(case, dict(
            schema=schema_text(case.schema), question=as_data(case.question, MOST_TEXT),
            evidence=note_text(case),
        ))
        for case in cases
    ]  # fmt: skip
    for case, answer in zip(
        cases, tools.ask("keywords", template_of("keywords"), asks, MAX_TOKENS), strict=True
    ):
        found = json_in(answer.value or "", list)
        if found is None:
            case.note("the model named no keywords; those that code finds are used")
            continue
        named = [each.strip() for each in found if isinstance(each, str) and each.strip()]
        case.keywords = tuple(dict.fromkeys((*case.keywords, *named)))[:MOST_KEYWORDS]


def _find(case: QuestionCase) -> None:
    case.keywords = tuple(dict.fromkeys(_seen_in(f"{case.question} {case.evidence or ''}")))


def _seen_in(text: str) -> Iterator[str]:
    """Quoted texts, and runs of words that begin with capitals, but for a question's first word."""
    run: list[str] = []
    for at, word in enumerate(tokens(text)):
        if len(word) > 2 and word[0] in _QUOTES:
            yield word.strip(_QUOTES)
        elif word[:1].isupper() and at:
            run.append(word)
            continue
        if run:
            yield " ".join(run)
            run = []
    if run:
        yield " ".join(run)
