"""Choice: one candidate of each question, by unit tests and by what most candidates say."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.text2sql.cases.case import QuestionCase, SqlCandidate
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.stages.groups import groups_of
from relserve.text2sql.stages.pointing import refuse, refuse_unlinked


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
