"""What a step that vLLM has scheduled computes, as cost models see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from relserve.policies.budget.state import Work
from relserve.policies.caching.requests import CacheType
from relserve.policies.cost import StepFeatures
from relserve.vllm_plugin.host import HostRequest, StepOutput


def step_features(output: StepOutput, requests: Mapping[str, HostRequest]) -> StepFeatures:
    """What a scheduled step computes."""
    prefill_tokens = num_decodes = 0
    for request_id, tokens in output.num_scheduled_tokens.items():
        request = requests[request_id]
        # vLLM has already added this step's tokens
        if request.num_computed_tokens - tokens >= request.num_prompt_tokens:
            num_decodes += 1
        else:
            prefill_tokens += tokens
    return StepFeatures(prefill_tokens, num_decodes)


def work_of(output: StepOutput, requests: Mapping[str, HostRequest]) -> Work:
    """What a scheduled step computes, as budget policies see it."""
    prefill_tokens = num_prefills = num_decodes = context_tokens = 0
    pairs = 0.0
    for request_id, tokens in output.num_scheduled_tokens.items():
        request = requests[request_id]
        done = request.num_computed_tokens - tokens  # vLLM has already added this step's tokens
        context_tokens += done
        if tokens == 1 and done >= request.num_prompt_tokens:
            num_decodes += 1
        else:
            prefill_tokens += tokens
            num_prefills += 1
            pairs += tokens * done + tokens * (tokens + 1) / 2.0
    return Work(prefill_tokens, num_prefills, num_decodes, context_tokens, pairs)


class TokensRead(NamedTuple):
    """Tokens in memory that a scheduled step reads, as `CacheSample` has them."""

    kv: float
    hidden: float
    made: float


def tokens_read(
    output: StepOutput, requests: Mapping[str, HostRequest], type_of: Callable[[HostRequest], CacheType]
) -> TokensRead:
    """What a step reads: of decodes by the type of their cache, and of hidden prompts that go on."""
    found: dict[CacheType, float] = {"kv": 0.0, "hidden": 0.0}
    made = 0.0
    for request_id, tokens in output.num_scheduled_tokens.items():
        request = requests[request_id]
        if request.num_computed_tokens - tokens >= request.num_prompt_tokens:
            found[type_of(request)] += request.num_computed_tokens
        elif type_of(request) == "hidden":
            made += request.num_computed_tokens - tokens
    return TokensRead(**found, made=made)
