"""Which candidates of a question say the same."""

from __future__ import annotations

import re

from relserve.text2sql.cases.case import QuestionCase, SqlCandidate

_ORDER = re.compile(
    r"\b(sort(ed|ing)?|ordered|order (it |them |all )?by|in [\w ]{0,30}order|rank(ed|ing)?"
    r"|alphabetical(ly)?|chronological(ly)?|ascending|descending)\b",
    re.IGNORECASE,
)


def groups_of(case: QuestionCase) -> list[list[SqlCandidate]]:
    """The candidates without a problem, those together that say the same; in the order of their first.

    Candidates agree whose results have the same rows, in the same order where the question asks for one;
    where they were not run, or their results were cut, whose SQL is the same.
    """
    in_order = wants_order(case.question)
    groups: dict[str, list[SqlCandidate]] = {}
    for candidate in case.candidates:
        if candidate.problem is None:
            groups.setdefault(_sameness(candidate, in_order), []).append(candidate)
    return list(groups.values())


def wants_order(question: str) -> bool:
    """Whether a question asks for rows in an order."""
    return _ORDER.search(question) is not None


def _sameness(candidate: SqlCandidate, in_order: bool) -> str:
    result = candidate.result
    seen = None if result is None else result.in_order if in_order else result.as_set
    return f"sql {candidate.sql}" if seen is None else f"result {seen}"
