"""What a text2sql_query() call would ask, as far as it can be told before its first stage has asked."""

from __future__ import annotations

from relserve.session.estimate import Estimate
from relserve_duckdb.rehearse.probe import Reached


def question_estimate(reached: Reached) -> Estimate:
    """Its rows and distinct questions; tokens and time are not known."""
    counts = reached.tally.counts
    return Estimate(
        reached.site.function, reached.site.binding.template.text, reached.site.options.model or "",
        num_rows=counts.total(), num_null=counts[None], num_distinct=len(counts.keys() - {None}),
        num_cached=None, prompt_tokens=0, is_counted=False, shared=0.0, max_output_tokens=0, seconds=None,
        basis="",
    )  # fmt: skip
