"""How many threads, and how much memory for the KV cache, an engine on a CPU gets: decisions alone."""

from __future__ import annotations

import math
from typing import NamedTuple

from relserve.engines.local.model_files import ModelSize

GIB, MIB = 2**30, 2**20
ONE_THREAD_BELOW = 40e6  # parameters; smaller models lose more at the end of each operation than they gain
ROW_TOKENS = 512  # of prompt and answer, that a row is expected to have at most
MAX_ROWS = 256  # that vLLM runs at once where nothing else is said
KV_SHARE = 0.5  # of the memory that the weights leave free
UNKNOWN_BYTES = 2 * GIB  # of KV cache, where nothing is known
LEAST_BYTES = 256 * MIB  # of KV cache; where not even the weights fit, vLLM says so
SMALL_BYTES = GIB  # that any model may take: weights, as stored and as packed for the processor, and KV cache
TIMES_WEIGHTS = 2  # of KV cache that rows may take beyond that


class CpuPlan(NamedTuple):
    """What each worker of an engine on a CPU gets: OpenMP threads, and bytes of KV cache."""

    threads: int
    kv_bytes: int


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
        return CpuPlan(1, UNKNOWN_BYTES)
    cores = max(1, num_cores // workers.number)
    threads = num_threads(size.parameters / workers.parts, cores)
    return CpuPlan(threads, kv_bytes(size, free, max_rows, workers))


def num_threads(parameters: float, num_cores: int) -> int:
    """Threads with which a model of this size prefills fastest (measured by benchmarks.threads)."""
    return 1 if parameters < ONE_THREAD_BELOW else num_cores


def kv_bytes(size: ModelSize, free: FreeMemory, max_rows: int | None, workers: ModelWorkers) -> int:
    """Whole MiB of each worker, in bytes, as far as there is room. A part has its part of each token."""
    wanted = min(_wanted_bytes(size, max_rows) / workers.parts, _most_bytes(size, free, workers))
    return math.ceil(max(LEAST_BYTES, wanted) / MIB) * MIB


def _wanted_bytes(size: ModelSize, max_rows: int | None) -> float:
    """Of one copy of a model: enough for one row of the whole context, and for all rows as far as they pay.

    A decode step reads the weights and the tokens of its rows. Where these take twice the weights, more rows
    at once add at most half to the tokens a second, and a small model would take ten times its own size.
    """
    if size.kv_bytes is None:
        return UNKNOWN_BYTES
    rows = (max_rows or MAX_ROWS) * min(size.context, ROW_TOKENS) * size.kv_bytes
    paying = min(rows, TIMES_WEIGHTS * size.weight_bytes)
    return max(SMALL_BYTES - 2 * size.weight_bytes, paying, size.context * size.kv_bytes)


def _most_bytes(size: ModelSize, free: FreeMemory, workers: ModelWorkers) -> float:
    """A share of what the weights leave free, for each worker.

    vLLM starts no worker whose KV cache is larger than what is free on one NUMA node.
    """
    if free.total is None:
        return UNKNOWN_BYTES
    most = (free.total - workers.copies * size.weight_bytes) / workers.number
    if free.node is not None:
        most = min(most, free.node - size.weight_bytes / workers.parts)
    return most * KV_SHARE
