"""What a cascade likely asks of each of its models, told before anything is asked."""

from __future__ import annotations

from relserve.call.options import EMBEDDING
from relserve.call.relquery import CallSite
from relserve.policies.cascading.expected import AUC, SURE, asked_of_filter, asked_of_labels, num_learnt
from relserve.session.cascade_rows import SHARE, targets_of
from relserve.session.estimate import LikelyAsked
from relserve.session.history import History


def likely_asked(site: CallSite, num_prompts: int, history: History) -> LikelyAsked:
    """By the share of the call's latest cascade in this session; before it, by a made-up small model."""
    template = site.binding.template.text
    for record in reversed(history.queries()):
        known = record.cascaded
        if known is not None and record.template == template and known.options == site.options:
            num = round(num_prompts * record.num_distinct / max(1, known.num_prompts))
            return LikelyAsked(min(num_prompts, num), num_prompts, "as its latest run asked")
    num, basis = _made_up(site, num_prompts)
    return LikelyAsked(num, num_prompts, basis)


def _made_up(site: CallSite, num_prompts: int) -> tuple[int, str]:
    options, learnt = site.options, 0
    if options.cascade == EMBEDDING or site.function == "llm_score":
        learnt = num_learnt(num_prompts)
    if site.function == "llm_filter":
        num = asked_of_filter(num_prompts - learnt, targets_of(options))
        return learnt + num, f"if {options.cascade} orders rows with an AUC of {AUC}"
    accuracy, confidence = options.accuracy or SHARE, options.confidence or SHARE
    num = asked_of_labels(num_prompts - learnt, accuracy, confidence)
    return learnt + num, f"if {options.cascade} is right in {SURE:.0%} of the rows"
