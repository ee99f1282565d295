"""What in an engine's configuration does not go with the hidden cache, in words."""

from __future__ import annotations

from typing import Any

from relserve_kernels.choice import what_forbids

from relserve.errors import EngineStartError
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import vllm_parts
from relserve.vllm_plugin.cache.spec_sizes import hidden_tokens_per_block
from relserve.vllm_plugin.settings import read

# vLLM's architectures whose attention can keep X, and the names of ours in their place.
HYBRID_NAMES = {"OPTForCausalLM": "RelserveHybridOPT", "LlamaForCausalLM": "RelserveHybridLlama"}
UNTRIED = (
    "a GPU: there it was tried only through Triton's interpreter; who wants to try it says"
    ' "kernels": "triton" beside "cache"'
)
OWN_SCHEDULERS = ("relserve.vllm_plugin.",)


def what_forbids_hidden(config: Any) -> list[str]:
    """The reasons why requests cannot hold X under vLLM's configuration of an engine; [] where they can."""
    version = host.version()
    if ".".join(version.split(".")[:2]) != vllm_parts.TESTED:
        return [f"vLLM {version} (tested with {vllm_parts.TESTED} alone)"]
    return [*_of_the_model(config), *_of_the_device(config), *_of_the_engine(config)]


def _of_the_model(config: Any) -> list[str]:
    model = config.model_config
    [architecture, *_] = model.hf_config.architectures or [""]
    if architecture not in HYBRID_NAMES:
        return [f"the architecture {architecture} (only {', '.join(HYBRID_NAMES)})"]
    x_width, head_dim = model.get_hidden_size(), model.get_head_size()
    num_kv_heads = model.get_total_num_kv_heads()
    kv_width = 2 * num_kv_heads * head_dim
    reasons = {
        f"{num_kv_heads} heads of keys: a token's keys and values are {kv_width} numbers, a layer's input is"
        f" {x_width}, not half as many or fewer": hidden_tokens_per_block(1, kv_width, x_width) < 2,
        "weights quantised": model.quantization is not None,
        "sliding windows": model.get_sliding_window() is not None,
        "multi-head latent attention": model.use_mla,
        "an engine that embeds": model.runner_type != "generate",
    }
    return [name for name, present in reasons.items() if present]


def _of_the_device(config: Any) -> list[str]:
    kernels = read(config.additional_config).kernels
    if host.runs_on_cpu():
        reason = kernels and what_forbids("cpu", kernels)
        return [f"kernels {kernels!r}: {reason}"] if reason else []
    if not vllm_parts.runs_on_cuda():
        return ["a device that is neither a CPU nor NVIDIA's GPU"]
    if kernels != "triton":
        return [UNTRIED]
    reasons = {
        f"kernels 'triton': {what_forbids('cuda', kernels)}": what_forbids("cuda", kernels) != "",
        "CUDA graphs (enforce_eager is needed)": not config.model_config.enforce_eager,
    }
    return [name for name, present in reasons.items() if present]


def _of_the_engine(config: Any) -> list[str]:
    parallel, cache = config.parallel_config, config.cache_config
    scheduler = config.scheduler_config.scheduler_cls
    reasons = {
        "tensor parallelism": parallel.tensor_parallel_size > 1,
        "pipeline parallelism": parallel.pipeline_parallel_size > 1,
        "context parallelism": max(
            parallel.decode_context_parallel_size, parallel.prefill_context_parallel_size
        ) > 1,
        f"a KV cache in {cache.cache_dtype}": cache.cache_dtype not in ("auto", _name_of(config)),
        f"blocks of {cache.block_size} tokens (a multiple of 32 is needed)": cache.block_size % 32 != 0,
        "speculative decoding": config.speculative_config is not None,
        "a KV connector": config.kv_transfer_config is not None,
        "events of the KV cache": config.kv_events_config is not None,
        "LoRA": config.lora_config is not None,
        f"the scheduler {scheduler}": not (
            scheduler is None or (isinstance(scheduler, str) and scheduler.startswith(OWN_SCHEDULERS))
        ),
    }  # fmt: skip
    return [name for name, present in reasons.items() if present]


def check_pool(num_blocks: int, tokens_per_block: int, max_model_len: int) -> None:
    """See that the longest request fits the blocks, whatever it holds.

    Raises:
        EngineStartError: it would wait for ever.
    """
    needed = -(-max_model_len // tokens_per_block)
    if num_blocks < needed:
        raise EngineStartError(
            f"the KV cache has {num_blocks} blocks of {tokens_per_block} tokens, a request of max_model_len"
            f" ({max_model_len} tokens) needs {needed} (any request may ask to keep"
            f" keys and values); give it more memory, or lower max_model_len to"
            f" {num_blocks * tokens_per_block}"
        )


def _name_of(config: Any) -> str:
    return str(config.model_config.dtype).removeprefix("torch.")
