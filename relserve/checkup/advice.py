"""What to set for a model, from what was found of it: decisions alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from relserve.checkup.page import CheckResult, FunctionSample, LocalModel, ServedModel, Speed
from relserve.engines.local.engine import NO_TEMPLATE

LONG_ROWS = 4  # rows of the whole context that should fit the KV cache at once
SENSIBLE_CONTEXT = 8192  # tokens, enough for a row of a table
SLOW_PREFILL = 200  # tokens a second: a table of 1,000 reviews takes ten minutes
SCHEDULER_ARGS = "--scheduler-cls relserve.vllm_plugin.scheduler.make"


def advise(
    local: LocalModel | None,
    served: ServedModel | None,
    grammars: Iterable[CheckResult],
    logprobs: CheckResult,
    speed: Speed,
    samples: Iterable[FunctionSample],
) -> list[str]:
    """What to set or to know, a line each; none where all is well."""
    found: list[str] = []
    if local is not None:
        found += _of_local(local)
    if served is not None:
        found += _of_server(served)
    loose = [probe.name for probe in grammars if not probe.ok]
    if loose:
        found.append(
            f"grammars are not held ({', '.join(loose)}): typed answers are checked instead, and what is no "
            "value of the type is NULL and in llm_errors(); vLLM and llama.cpp servers hold them"
        )
    if not logprobs.ok:
        found.append("no probabilities are told: leave min_confidence out")
    if speed.busy_cores:
        cores = "a core" if speed.busy_cores == 1 else f"{speed.busy_cores} cores"
        found.append(f"other programs kept {cores} busy, so the speeds are too low: measure when it is quiet")
    elif speed.prefill is not None and speed.prefill < SLOW_PREFILL:
        found.append(
            f"{speed.prefill:.0f} tokens of prompts a second is slow for tables: take a smaller model, one "
            "with 4-bit weights behind llama.cpp or ollama by its URL, or a machine with a GPU"
        )
    return found + list(_of_samples(list(samples)))


def _of_samples(samples: Sequence[FunctionSample]) -> Iterator[str]:
    if failed := [sample.function for sample in samples if sample.problem]:
        yield f"no answer from {', '.join(failed)}: the reasons stand beside the samples"
    if wrong := [sample.function for sample in samples if sample.is_right is False and not sample.problem]:
        yield (
            f"wrong answers from {', '.join(wrong)}: measure 50 rows of your own before you trust them "
            "(relserve evaluate), or take another model"
        )


def _of_local(local: LocalModel) -> Iterator[str]:
    if not local.template.present:
        yield f"this model {NO_TEMPLATE}"
    if local.kv_tokens and local.kv_tokens < LONG_ROWS * local.context and local.context > SENSIBLE_CONTEXT:
        args = json.dumps({"max_model_len": SENSIBLE_CONTEXT})
        yield (
            f"the KV cache holds {local.kv_tokens:,} tokens, {local.kv_tokens / local.context:.1f} rows of "
            f"the whole context: RELSERVE_ENGINE_ARGS='{args}' where your rows are shorter"
        )
    if local.users_own:
        yield f"set by you, so not chosen by relserve: {', '.join(local.users_own)}"


def _of_server(served: ServedModel) -> Iterator[str]:
    if served.is_vllm:
        yield f"on the server, for relserve's scheduling, if it has not got it yet: {SCHEDULER_ARGS}"
    if served.endpoint == "/completions":
        yield (
            "the server has no chat endpoint for this model, or no chat template: prompts go to it as they "
            "are, and typed answers may be no better than chance; give the server a template"
        )
    if "temperature" in served.refused:
        yield "it refuses temperature: answers differ from time to time, and none are kept"
