"""Retrieval: the database's own values that a question means, and the user's examples that are like it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relserve.linking.values import ValueHit
from relserve.linking.words import folded
from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.database import Values
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.prompts.quoting import is_speakable

MOST_WORDS = 6  # of a value that is looked for in a question
SIMILAR, LEAST_LIKENESS = 3, 0.4  # values for a keyword
MOST_VALUES, EXAMPLES = 20, 3


def retrieval(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Look up words and keywords of each question; asks no model.

    A model that answers with handles gets its values by itself, see `relserve.linking`.
    """
    if tools.points:
        return
    index = tools.database.values()

    def look_up(case: QuestionCase) -> None:
        hits = [*_exact(f"{case.question} {case.evidence or ''}", index), *_like(case.keywords, index)]
        seen = [hit for hit in dict.fromkeys(hits) if is_speakable(hit.table) and is_speakable(hit.column)]
        case.values = tuple(seen[:MOST_VALUES])
        case.examples = tuple(tools.database.golden(case.question, EXAMPLES))
        case.note(f"{len(case.values)} values and {len(case.examples)} examples found")

    tools.each("retrieval", cases, look_up)


def _exact(text: str, index: Values) -> Iterator[ValueHit]:
    """Values that stand in a text, the longest first; words of a longer value do not count again."""
    words, taken = folded(text), set[int]()
    for size in range(MOST_WORDS, 0, -1):
        for start in range(len(words) - size + 1):
            places = set(range(start, start + size))
            if places & taken or all(len(words[at]) < 2 for at in places):
                continue
            if hits := index.find(words[start : start + size]):
                taken |= places
                yield from hits


def _like(keywords: Sequence[str], index: Values) -> Iterator[ValueHit]:
    for keyword in keywords:
        yield from (hit for hit, likeness in index.similar(keyword, SIMILAR) if likeness >= LEAST_LIKENESS)
