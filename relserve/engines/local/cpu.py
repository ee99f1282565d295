"""What an engine on a machine without a GPU is started with: arguments of vLLM, variables of its process."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Mapping
from typing import Any

from relserve.engines.local.cpu_plan import CpuPlan, FreeMemory, ModelWorkers, plan
from relserve.engines.local.model_files import NUMBER_BYTES, size_of_model
from relserve.machine import capacity
from relserve.vllm_plugin import host

WORKER = "relserve.vllm_plugin.cpu_worker.Worker"
BLOCK_SIZE = 32  # tokens that the prefix cache keeps together
FLOAT32_BELOW = 1e9  # parameters; smaller models run in float32 on a CPU that has no bfloat16 arithmetic
THREADS, BIND = "OMP_NUM_THREADS", "VLLM_CPU_OMP_THREADS_BIND"
KV_GIB = "VLLM_CPU_KVCACHE_SPACE"  # the user's alone: vLLM takes it before the argument that is set here
VARIABLES = (THREADS, KV_GIB, BIND)
# A step's intermediate results are megabytes each. glibc takes them anew from the kernel in every operation
# (150 page faults a row); with these it keeps what it has. Other C libraries do not read them.
ALLOCATOR = {
    "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),  # the most that glibc allows
    "MALLOC_TRIM_THRESHOLD_": str(2**40),
    "MALLOC_TOP_PAD_": str(64 * 2**20),
}


def arguments_for(path: str, engine_args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of vLLM for a model; the user's may replace them."""
    found = dict(dtype=cpu_dtype(path), enforce_eager=True, block_size=BLOCK_SIZE, worker_cls=WORKER)
    if workers_of(engine_args).number == 1:
        # The class, because vLLM turns the name "uni" into "mp" on a CPU (for its thread binding, which
        # is off here): a further process, which takes 10 s to start and a detour on every step.
        found["distributed_executor_backend"] = host.UniProcExecutor
    return found | {"kv_cache_memory_bytes": plan_of(path, {**found, **engine_args}).kv_bytes}


def variables_for(path: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Environment variables of an engine's process that the user left unset.

    Args:
        arguments: of vLLM, with which it is started.
    """
    # vLLM's own binding of threads is ten times slower on a shared machine.
    ours = {THREADS: str(plan_of(path, arguments).threads), BIND: "nobind", **ALLOCATOR}
    return {name: value for name, value in ours.items() if not os.environ.get(name)}


def plan_of(path: str, arguments: Mapping[str, Any]) -> CpuPlan:
    """Threads and KV memory for a model on this machine as it is now."""
    size = size_of_model(path, NUMBER_BYTES.get(str(arguments.get("dtype"))), arguments.get("max_model_len"))
    free = FreeMemory(capacity.free_bytes(), capacity.free_bytes_of_node())
    return plan(size, capacity.num_idle_cores(), free, arguments.get("max_num_seqs"), workers_of(arguments))


def workers_of(engine_args: Mapping[str, Any]) -> ModelWorkers:
    """The processes of an engine with these arguments."""
    tensor, pipeline, data = (
        engine_args.get(f"{kind}_parallel_size") or 1 for kind in ("tensor", "pipeline", "data")
    )
    return ModelWorkers(tensor * pipeline, data)


def cpu_dtype(path: str) -> str:
    """The number format in which a model runs fastest on this CPU, as vLLM names it."""
    import torch

    if torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported():
        return "auto"  # 1.8 times as many tokens a second as float32, and the same answers (classify_beer)
    size = size_of_model(path, None, None)
    return "float32" if size is not None and size.parameters < FLOAT32_BELOW else "auto"


def is_cpu_build() -> bool:
    """Whether the installed vLLM computes on a CPU, as its package tells; importing it takes seconds."""
    try:
        importlib.metadata.version("vllm-cpu")
        return True
    except importlib.metadata.PackageNotFoundError:
        pass
    try:
        return "cpu" in importlib.metadata.version("vllm") or sys.platform == "darwin"
    except importlib.metadata.PackageNotFoundError:
        return False
