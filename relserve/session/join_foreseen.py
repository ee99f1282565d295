"""How a join will be asked, told before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relserve.call.relquery import CallSite
from relserve.policies.joining.plans import plans
from relserve.session.join_run import join_sizes
from relserve.session.pair_table import pair_table


def foreseen_plans(site: CallSite, inputs: Sequence[Sequence[Any]]) -> str:
    """The plans that a call's option `join` will try, in a sentence without its subject.

    Args:
        inputs: the values of each prompt.
    """
    table = pair_table(site.binding.used, inputs)
    if isinstance(table, str):
        return f"asks all pairs, because {table}"
    if not (tried := plans(site.options.join, join_sizes(table, site.binding.template.text))):
        return f"asks all pairs, because {site.options.join} would take no fewer prompts"
    told = ", then ".join(f"{plan.told} ({plan.num_prompts:,} prompts)" for plan in tried)
    return (
        f"tries {told}, and asks a sample of pairs, until one agrees; all {len(inputs):,} pairs if none does"
    )
