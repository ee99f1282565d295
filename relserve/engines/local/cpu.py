"""What an engine on a machine without a GPU is started with: arguments of vLLM, variables of its process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from typing import Any

from relserve.engines.local.cpu_plan import CpuPlan, plan
from relserve.engines.local.model_files import num_parameters, read_config, size_of_model
from relserve.machine import capacity
from relserve.vllm_plugin import host

WORKER = "relserve.vllm_plugin.cpu_worker.Worker"
BLOCK_SIZE = 32  # tokens that the prefix cache keeps together
FLOAT32_BELOW = 1e9  # parameters; smaller models run in float32 on a CPU that has no bfloat16 arithmetic
NUMBER_BYTES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2}
THREADS, KV_GIB, BIND = "OMP_NUM_THREADS", "VLLM_CPU_KVCACHE_SPACE", "VLLM_CPU_OMP_THREADS_BIND"
VARIABLES = (THREADS, KV_GIB, BIND)


def arguments_for(path: str, engine_args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of vLLM for a model; the user's may replace them."""
    found = dict(dtype=cpu_dtype(path), enforce_eager=True, block_size=BLOCK_SIZE, worker_cls=WORKER)
    if num_workers(engine_args) == 1:
        # The class, because vLLM turns the name "uni" into "mp" on a CPU (for its thread binding, which
        # is off here): a further process, which takes 10 s to start and a detour on every step.
        found["distributed_executor_backend"] = host.UniProcExecutor
    return found


def variables_for(path: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Environment variables of an engine's process that the user left unset.

    Args:
        arguments: of vLLM, with which it is started.
    """
    chosen = plan_of(path, arguments)
    # vLLM's own binding of threads is ten times slower on a shared machine.
    ours = {THREADS: str(chosen.threads), BIND: "nobind"}
    if not arguments.get("kv_cache_memory_bytes"):
        ours[KV_GIB] = str(chosen.kv_gib)
    return {name: value for name, value in ours.items() if not os.environ.get(name)}


def plan_of(path: str, arguments: Mapping[str, Any]) -> CpuPlan:
    """Threads and KV memory for a model on this machine as it is now."""
    size = size_of_model(path, NUMBER_BYTES.get(str(arguments.get("dtype"))), arguments.get("max_model_len"))
    return plan(
        size, capacity.num_cores(), capacity.free_bytes(), arguments.get("max_num_seqs"),
        num_workers(arguments),
    )  # fmt: skip


def num_workers(engine_args: Mapping[str, Any]) -> int:
    """Processes among which a model is split."""
    return prod(engine_args.get(f"{kind}_parallel_size") or 1 for kind in ("tensor", "pipeline", "data"))


def cpu_dtype(path: str) -> str:
    """The number format in which a model runs fastest on this CPU, as vLLM names it."""
    import torch

    if torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported():
        return "auto"  # 1.8 times as many tokens a second as float32, and the same answers (classify_beer)
    try:
        return "float32" if num_parameters(read_config(path)) < FLOAT32_BELOW else "auto"
    except Exception:  # vLLM will say what is wrong with the model, and better
        return "auto"
