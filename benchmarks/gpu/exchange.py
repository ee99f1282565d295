"""One vLLM engine whose scheduler is exchanged between runs: variants share weights, graphs and KV memory.

An engine of 13 B parameters takes a minute to start, and a lease has fifteen. Each variant's scheduler is
made once, with a block pool of its own over the same memory, and keeps what it learns; the engine serves with
one of them at a time, and changes only when it has nothing to do.
"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.clocks import WallClock
from benchmarks.relquery_engines import STATIC, STOCK, scheduler_of
from benchmarks.relquery_hooks import end_at_true_lengths, plan_ahead_on_cpu
from benchmarks.relquery_worker import ServedEngine


def start(arguments: dict[str, Any], on_cpu: bool) -> Any:
    """An LLMEngine in this process, which plans steps ahead as vLLM does by default."""
    from vllm import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine
    from vllm.v1.executor.uniproc_executor import UniProcExecutor

    end_at_true_lengths()
    if on_cpu:
        plan_ahead_on_cpu()
    return LLMEngine.from_engine_args(EngineArgs(distributed_executor_backend=UniProcExecutor, **arguments))


class SchedulerExchange:
    """The schedulers of an engine by the names of `relquery_engines`' variants."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self._core = engine.engine_core.engine_core
        self._served: dict[str, ServedEngine] = {}

    def limits(self) -> dict[str, int]:
        """Rows and tokens of a step, tokens of the KV memory and of one of its blocks."""
        config = self._core.vllm_config
        block_size = int(config.cache_config.block_size)
        return {
            "max_num_seqs": config.scheduler_config.max_num_seqs,
            "max_tokens": config.scheduler_config.max_num_batched_tokens,
            "kv_tokens": int(self._core.scheduler.kv_cache_config.num_blocks) * block_size,
            "block_size": block_size,
        }

    def use(self, variant: str) -> ServedEngine:
        """The engine with that variant's scheduler."""
        self._drain()
        if variant not in self._served:
            self._core.scheduler = self._scheduler(variant)
            name = "vllm priority" if variant == STATIC else variant
            self._served[variant] = ServedEngine(self.engine, self._core.scheduler, name, WallClock())
        served = self._served[variant]
        self._core.scheduler = served.scheduler
        return served

    def _drain(self) -> None:
        """Have the workers hear of the last rows' ends, which the next step would tell them."""
        while self._core.scheduler.has_requests() or self._core.batch_queue:
            self._core.step_fn()

    def _scheduler(self, variant: str) -> Any:
        config, old = self._core.vllm_config, self._core.scheduler
        steps = config.scheduler_config
        steps.policy, steps.scheduler_cls, config.additional_config = "fcfs", None, {}
        if variant == STATIC:
            steps.policy = "priority"
        elif variant != STOCK:
            name, settings = scheduler_of(variant)
            steps.scheduler_cls = "relserve.vllm_plugin.scheduler.make"
            config.additional_config = {"relserve": {"variant": name, **json.loads(json.dumps(settings))}}
        return steps.get_scheduler_cls()(
            vllm_config=config, kv_cache_config=old.kv_cache_config,
            structured_output_manager=self._core.structured_output_manager, include_finished_set=False,
            log_stats=self._core.log_stats, block_size=old.block_size,
            **({"hash_block_size": old.hash_block_size} if hasattr(old, "hash_block_size") else {}),
        )  # fmt: skip
