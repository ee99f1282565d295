"""Choice: one candidate of each question, by unit tests and by what most candidates say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relserve.text2sql.cases.case import QuestionCase, SqlCandidate
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.stages.pointing import refuse, refuse_unlinked

_ORDER = re.compile(
    r"\b(sort(ed|ing)?|ordered|order (it |them |all )?by|in [\w ]{0,30}order|rank(ed|ing)?"
    r"|alphabetical(ly)?|chronological(ly)?|ascending|descending)\b",
    re.IGNORECASE,
)


def choice(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Choose the candidate that passes most tests; then that with which most candidates agree.

    Without tests every candidate passes none, and the vote decides alone. Among equals a result with rows
    comes first, then the earlier candidate. A model that answers with handles must agree with itself.
    """

    def choose(case: QuestionCase) -> None:
        groups = groups_of(case)
        for group in groups:
            for candidate in group:
                candidate.votes = len(group)
        best = max(groups, key=_worth, default=None)
        if tools.points and (best is None or 2 * len(best) <= tools.num_candidates):
            refuse(case, 0 if best is None else len(best), tools)
        elif best is not None and case.unlinked:
            refuse_unlinked(case, best[0].sql)
        elif best is None:
            case.fail("choice", "there is no candidate without a problem")
        else:
            case.chosen = best[0]
            case.note(f"{best[0].method}: {len(best)} of {sum(map(len, groups))} candidates agree")

    tools.each("choice", cases, choose)


def _worth(group: Sequence[SqlCandidate]) -> tuple[int, int, bool]:
    result = group[0].result
    return group[0].num_passed, len(group), result is None or not result.is_void


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
