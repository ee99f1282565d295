"""Failed rows told in one line, for warnings and summaries."""

from __future__ import annotations

from collections.abc import Mapping

from relserve.errors import FailureKind

WORDS = {
    FailureKind.OVER_CONTEXT: "over context",
    FailureKind.UNPARSABLE: "unparsable",
    FailureKind.REFUSED: "refused",
    FailureKind.DEADLINE: "past the deadline",
    FailureKind.CAP: "past a cap",
    FailureKind.NO_SQL: "without SQL",
    FailureKind.ENGINE: "engine failed",
}
WHEN = "see llm_batches(), and run the statement again then"


def failures_text(num_rows: int, failed: Mapping[FailureKind, int], where: str, noun: str = "rows") -> str:
    """E.g. "12 of 10,000 rows failed and are NULL: 9 over context, 3 unparsable; see llm_errors()".

    Args:
        num_rows: table rows of the call.
        failed: table rows that failed, by why.
        where: what to call to see them.
        noun: what is counted; "answers" for several calls together.

    Returns:
        The line, "" when no row failed.
    """
    counts = {kind: count for kind, count in failed.items() if count}
    later = counts.pop(FailureKind.IN_BATCH, 0)
    told = f"{later:,} of {num_rows:,} {noun} are NULL until their batch ends; {WHEN}" if later else ""
    if not counts:
        return told
    total = sum(counts.values())
    order = list(FailureKind)
    most_first = sorted(counts.items(), key=lambda each: (-each[1], order.index(each[0])))
    causes = ", ".join(f"{count:,} {WORDS.get(kind, kind.replace('_', ' '))}" for kind, count in most_first)
    verb = "is" if total == 1 else "are"
    said = f"{total:,} of {num_rows:,} {noun} failed and {verb} NULL: {causes}; see {where}"
    return f"{told}. {said}" if told else said
