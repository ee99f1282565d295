"""Choice: one candidate of each question, by unit tests and by what most candidates say."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.linking.words import folded
from relserve.text2sql.cases.case import Candidate, Case
from relserve.text2sql.cases.tools import Tools

_ORDER = frozenset(
    "order ordered sort sorted rank ranked ranking alphabetical alphabetically ascending descending "
    "chronological chronologically top bottom highest lowest first last".split()
)


def choice(cases: Sequence[Case], tools: Tools) -> None:
    """Choose the candidate that passes most tests; then that whose result most candidates have.

    Without tests every candidate passes none, and the vote decides alone. Among equals a result with rows
    comes first, then the earlier candidate.
    """
    for case in cases:
        if case.chosen is not None:  # a stage before this one has chosen
            continue
        groups = groups_of(case)
        if not groups:
            case.fail("choice", "there is no candidate without a problem")
            continue
        for group in groups:
            for candidate in group:
                candidate.votes = len(group)
        best = max(groups, key=lambda group: (group[0].num_passed, len(group), _has_rows(group[0])))
        case.chosen = best[0]
        case.note(f"{best[0].method}: {len(best)} of {sum(map(len, groups))} candidates agree")


def groups_of(case: Case) -> list[list[Candidate]]:
    """The candidates without a problem, those together that say the same; in the order of their first."""
    in_order = wants_order(case.question)
    groups: dict[str, list[Candidate]] = {}
    for candidate in case.candidates:
        if candidate.problem is None:
            groups.setdefault(_sameness(candidate, in_order), []).append(candidate)
    return list(groups.values())


def wants_order(question: str) -> bool:
    """Whether a question asks for rows in an order."""
    return not _ORDER.isdisjoint(folded(question))


def _sameness(candidate: Candidate, in_order: bool) -> str:
    """What is equal for candidates that agree: their results, or their SQL where they were not run."""
    if candidate.result is None:
        return candidate.sql
    return candidate.result.in_order if in_order else candidate.result.as_set


def _has_rows(candidate: Candidate) -> bool:
    return candidate.result is None or not candidate.result.is_void
