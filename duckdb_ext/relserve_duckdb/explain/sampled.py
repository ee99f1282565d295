"""What a sample of each call's prompts tells of how sure the model is, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.call.hosts import BATCH
from relserve_duckdb.explain.call_estimate import CallEstimate


def sampled_notes(calls: Sequence[CallEstimate], num: int) -> list[str]:
    """That a sample of so many prompts was asked, and a sentence for each call of which it was to be."""
    by_number: dict[int, list[CallEstimate]] = {}
    for call in calls:
        by_number.setdefault(call.number, []).append(call)
    notes = [_note(each, num) for each in by_number.values()]
    if any(call.sampled is not None for call in calls):
        notes.insert(0, f"Up to {num:,} prompts of each call were asked for a sample; caps count them.")
    return notes


def _note(estimates: Sequence[CallEstimate], num: int) -> str:
    """Of one call: one estimate, or those of a cascade, whose last model answers the sample, all of it."""
    call = estimates[-1]
    known = (each.estimate for each in estimates if each.estimate is not None)
    num_distinct = max((each.num_distinct for each in known), default=0)
    if not num_distinct:
        return f"#{call.number} was not sampled: no prompt of it is known."
    if call.untold:
        return f"#{call.number} was not sampled: {call.untold}."
    if call.sampled is None and call.estimate is not None and call.estimate.model.startswith(BATCH):
        return f"#{call.number} was not sampled: a batch does not answer at once."
    if call.sampled is None:
        return f"#{call.number} was not sampled: {call.function}() has no probabilities."
    asked = f"#{call.number}, a sample of {min(num, num_distinct):,} prompts"
    if not call.sampled.num:
        return f"{asked}: none was answered; llm_errors() says why."
    p10, p50, p90 = call.sampled.quantiles().values()
    return (
        f"{asked}: the median confidence is {p50:.2f}, a tenth is below {p10:.2f}, and a tenth from "
        f"{p90:.2f} on ({call.sampled.num:,} questions)."
    )
