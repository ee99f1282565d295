"""What a sample of each call's prompts tells of how sure the model is, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from relserve_duckdb.explain.call_estimate import CallEstimate


def sampled_notes(calls: Sequence[CallEstimate], num: int) -> list[str]:
    """A sentence for each call of which a sample of so many prompts was to be asked."""
    return [_note(call, num) for call in {call.number: call for call in calls}.values()]


def _note(call: CallEstimate, num: int) -> str:
    found = call.estimate
    if found is None or not found.num_distinct:
        return f"#{call.number} was not sampled: no prompt of it is known."
    if call.untold:
        return f"#{call.number} was not sampled: {call.untold}."
    if call.sampled is None:
        return f"#{call.number} was not sampled: {call.function}() has no probabilities."
    asked = f"#{call.number}, a sample of {min(num, found.num_distinct):,} prompts"
    if not call.sampled.num:
        return f"{asked}: none was answered; llm_errors() says why."
    p10, p50, p90 = call.sampled.quantiles().values()
    return (
        f"{asked}: the median confidence is {p50:.2f}, a tenth is below {p10:.2f}, and a tenth from "
        f"{p90:.2f} on ({call.sampled.num:,} questions)."
    )
