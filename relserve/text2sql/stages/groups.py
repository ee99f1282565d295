"""Which candidates of a question say the same."""

from __future__ import annotations

from relserve.linking.words import folded
from relserve.text2sql.cases.case import Candidate, Case

_ORDER = frozenset(
    "order ordered sort sorted rank ranked ranking alphabetical alphabetically ascending descending "
    "chronological chronologically top bottom highest lowest first last".split()
)


def groups_of(case: Case) -> list[list[Candidate]]:
    """The candidates without a problem, those together that say the same; in the order of their first.

    Candidates agree whose results have the same rows, in the same order where the question asks for one;
    where they were not run, whose SQL is the same.
    """
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
    if candidate.result is None:
        return candidate.sql
    return candidate.result.in_order if in_order else candidate.result.as_set
