"""How many threads, and how much memory for the KV cache, an engine on a CPU gets: decisions alone."""

from __future__ import annotations

import math
from typing import NamedTuple

from relserve.engines.local.model_files import ModelSize

GIB = 2**30
ONE_THREAD_BELOW = 40e6  # parameters; smaller models lose more at the end of each operation than they gain
ROW_TOKENS = 1024  # of prompt and answer, that a row is expected to have at most
MAX_ROWS = 256  # that vLLM runs at once where nothing else is said
KV_SHARE = 0.5  # of the memory that the weights leave free
KV_GIB = 2  # where nothing is known


class CpuPlan(NamedTuple):
    """What an engine on a CPU gets: OpenMP threads of each worker, and GiB of KV cache."""

    threads: int
    kv_gib: int


def plan(
    size: ModelSize | None, num_cores: int, free_bytes: int | None, max_rows: int | None, num_workers: int
) -> CpuPlan:
    """What an engine gets.

    Args:
        size: of the model; None where it is not known.
        num_cores: that the process may use.
        free_bytes: of memory; None where it is not known.
        max_rows: rows that run at once, where the user set it.
        num_workers: processes among which the model is split.
    """
    if size is None:
        return CpuPlan(1, KV_GIB)
    share = max(1, num_cores // num_workers)
    return CpuPlan(num_threads(size.parameters / num_workers, share), kv_gib(size, free_bytes, max_rows))


def num_threads(parameters: float, num_cores: int) -> int:
    """Threads with which a model of this size prefills fastest (measured by benchmarks.threads)."""
    return 1 if parameters < ONE_THREAD_BELOW else num_cores


def kv_gib(size: ModelSize, free_bytes: int | None, max_rows: int | None) -> int:
    """GiB with which all rows can run, and one of the longest; no more than a share of the free memory.

    At least one: vLLM takes whole ones.
    """
    tokens = max(size.context, (max_rows or MAX_ROWS) * min(size.context, ROW_TOKENS))
    wanted = math.ceil(tokens * size.kv_bytes / GIB)
    if free_bytes is None:
        return max(1, min(wanted, KV_GIB))
    return max(1, min(wanted, int((free_bytes - size.weight_bytes) * KV_SHARE / GIB)))
