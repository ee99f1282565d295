"""What a step that vLLM has scheduled computes, as models of steps see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relserve.policies.caching.requests import CacheType
from relserve.policies.model.work import Work
from relserve.vllm_plugin.host import HostRequest, StepOutput

TypeOf = Callable[[HostRequest], CacheType]


def work_of(output: StepOutput, requests: Mapping[str, HostRequest], type_of: TypeOf | None = None) -> Work:
    """What a scheduled step computes.

    Args:
        type_of: what a request keeps in memory; None where all of them keep keys and values.
    """
    prefill_tokens = num_prefills = num_decodes = context_tokens = kv_tokens = 0
    cached_pairs = pairs = 0.0
    for request_id, tokens in output.num_scheduled_tokens.items():
        request = requests[request_id]
        done = request.num_computed_tokens - tokens  # vLLM has already added this step's tokens
        context_tokens += done
        if tokens == 1 and done >= request.num_prompt_tokens:
            num_decodes += 1
            kv_tokens += done
        else:
            prefill_tokens += tokens
            num_prefills += 1
            cached_pairs += tokens * done
            pairs += tokens * done + tokens * (tokens + 1) / 2.0
    work = Work(prefill_tokens, num_prefills, num_decodes, context_tokens, pairs, cached_pairs, kv_tokens)
    return work if type_of is None else _told_apart(work, output, requests, type_of)


def coarse_work_of(output: StepOutput) -> Work:
    """The same without a look at any row: one that is not new counts as decoding one token."""
    num_rows, num_new = len(output.num_scheduled_tokens), len(output.scheduled_new_reqs)
    num_decodes = num_rows - num_new
    return Work(output.total_num_scheduled_tokens - num_decodes, num_new, num_decodes)


def _told_apart(work: Work, output: StepOutput, requests: Mapping[str, HostRequest], type_of: TypeOf) -> Work:
    """The work with what it reads of hidden states counted as such."""
    hidden = made = 0
    for request_id, tokens in output.num_scheduled_tokens.items():
        request = requests[request_id]
        if type_of(request) == "hidden":
            done = request.num_computed_tokens - tokens
            if tokens == 1 and done >= request.num_prompt_tokens:
                hidden += done
            else:
                made += done
    return work._replace(kv_tokens=work.kv_tokens - hidden, hidden_tokens=hidden, made_tokens=made)
