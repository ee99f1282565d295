"""How many threads, and how much memory for the KV cache, an engine on a CPU gets: decisions alone."""

from __future__ import annotations

import math
from typing import NamedTuple

from relserve.engines.local.model_files import ModelSize

GIB = 2**30
ONE_THREAD_BELOW = 40e6  # parameters; smaller models lose more at the end of each operation than they gain
ROW_TOKENS = 512  # of prompt and answer, that a row is expected to have at most
MAX_ROWS = 256  # that vLLM runs at once where nothing else is said
KV_SHARE = 0.5  # of the memory that the weights leave free
KV_GIB = 2  # where nothing is known


class CpuPlan(NamedTuple):
    """What each worker of an engine on a CPU gets: OpenMP threads, and GiB of KV cache."""

    threads: int
    kv_gib: int


class ModelWorkers(NamedTuple):
    """The processes of an engine: a model split into `parts` (tensor, pipeline), `copies` times (data)."""

    parts: int = 1
    copies: int = 1

    @property
    def number(self) -> int:
        """Of all processes."""
        return self.parts * self.copies


class FreeMemory(NamedTuple):
    """Bytes that are free in all, and on the NUMA node that has the least; None where it is not known.

    Where there is one node, `node` is None.
    """

    total: int | None = None
    node: int | None = None


def plan(
    size: ModelSize | None, num_cores: int, free: FreeMemory, max_rows: int | None, workers: ModelWorkers
) -> CpuPlan:
    """What each worker gets.

    Args:
        size: of the model; None where it is not known.
        num_cores: that the process may use and other programs leave idle.
        max_rows: rows that run at once, where the user set it.
    """
    if size is None:
        return CpuPlan(1, KV_GIB)
    cores = max(1, num_cores // workers.number)
    return CpuPlan(num_threads(size.parameters / workers.parts, cores), kv_gib(size, free, max_rows, workers))


def num_threads(parameters: float, num_cores: int) -> int:
    """Threads with which a model of this size prefills fastest (measured by benchmarks.threads)."""
    return 1 if parameters < ONE_THREAD_BELOW else num_cores


def kv_gib(size: ModelSize, free: FreeMemory, max_rows: int | None, workers: ModelWorkers) -> int:
    """GiB of each worker with which all rows can run, and one of the longest; no more than there is room for.

    A part of a model keeps its part of every token. At least one: vLLM takes whole ones.
    """
    tokens = max(size.context, (max_rows or MAX_ROWS) * min(size.context, ROW_TOKENS))
    wanted = KV_GIB
    if size.kv_bytes is not None:
        wanted = math.ceil(tokens * size.kv_bytes / workers.parts / GIB)
    return max(1, min(wanted, _most_kv_gib(size, free, workers)))


def _most_kv_gib(size: ModelSize, free: FreeMemory, workers: ModelWorkers) -> int:
    """GiB of a share of what the weights leave free, for each worker.

    vLLM starts no worker whose KV cache is larger than what is free on one NUMA node.
    """
    if free.total is None:
        return KV_GIB
    most = (free.total - workers.copies * size.weight_bytes) / workers.number
    if free.node is not None:
        most = min(most, free.node - size.weight_bytes / workers.parts)
    return int(most * KV_SHARE / GIB)
