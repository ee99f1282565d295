"""The seam to vLLM, continued: its features that are in use, and what they do not allow."""

from __future__ import annotations

import importlib
from typing import Any

from relserve.vllm_plugin.host import Host, plans_ahead


def what_forbids_hiding(scheduler: Host) -> list[str]:
    """The features in use that do not allow rows to be held back from a step, in words."""
    config = scheduler.vllm_config
    reasons = {
        "speculative decoding": config.speculative_config is not None,
        "LoRA": config.lora_config is not None,
        "data parallel ranks that step together": config.parallel_config.data_parallel_size > 1,
        "pipeline parallelism": config.parallel_config.pipeline_parallel_size > 1,
        "a KV connector": getattr(scheduler, "connector", None) is not None,
        "--scheduling-policy priority": config.scheduler_config.policy != "fcfs",
    }
    return [name for name, present in reasons.items() if present]


def what_forbids_budgets(scheduler: Host) -> list[str]:
    """The features in use that do not allow a step to have fewer tokens than there are, in words."""
    config = scheduler.vllm_config
    steps = config.scheduler_config
    reasons = {
        "speculative decoding": config.speculative_config is not None,
        "prompts that are computed whole (no chunked prefill)": not steps.enable_chunked_prefill,
        "images that are computed whole": bool(getattr(steps, "disable_chunked_mm_input", False)),
        "Mamba states that are kept at the ends of blocks": splits_at_blocks(scheduler),
        "data parallel ranks that step together": config.parallel_config.data_parallel_size > 1,
        "pipeline parallelism": config.parallel_config.pipeline_parallel_size > 1,
    }
    return [name for name, present in reasons.items() if present]


def splits_at_blocks(scheduler: Host) -> bool:
    """Whether prompts are computed up to block boundaries only, where Mamba states are kept."""
    return bool(getattr(scheduler, "need_mamba_block_aligned_split", False))


def diffusion_class(vllm_config: Any) -> Any:
    """vLLM's own scheduler for a diffusion model, which ours is none of; None for every other model."""
    if not getattr(vllm_config.model_config, "is_diffusion", False):
        return None
    module = importlib.import_module("vllm.v1.core.sched.diffusion_scheduler")
    return module.DiffusionAsyncScheduler if plans_ahead(vllm_config) else module.DiffusionScheduler
