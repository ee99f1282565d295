"""The ways that are compared: who schedules, what is kept in memory, and the model for this CPU."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from benchmarks.made_up_opt import OptShape, folder_of
from benchmarks.relquery_engines import BLOCK_SIZE, EngineSetup
from relserve.engines.local.cpu import cpu_dtype
from relserve.policies.scheduling.variants import DEFAULT

# Weights are read once a step, whoever runs in it: 6 to 8 ms, as much as 32 requests add where the CPU
# multiplies bfloat16, as much as 12 where it does not and float32 is served. So a pool for ten leaves half of
# what the former could do, which is what bounds large models on GPUs as well; and less of the latter.
WIDE, NARROW = OptShape(1024, 2), OptShape(512, 2)


class HybridWay(NamedTuple):
    """One side of a comparison.

    Attributes:
        settings: of relserve's scheduler; None: vLLM's own.
        kv_dtype: of keys and values; in fp8 the same bytes hold twice as many tokens.
    """

    settings: dict[str, Any] | None = None
    kv_dtype: str = "auto"

    @property
    def variant(self) -> str:
        """As `relquery_worker` names it."""
        return "vllm" if self.settings is None else self.settings.get("variant", DEFAULT)


STOCK, OURS, PUBLISHED = "stock FCFS", "absorbed + ours", "Apt-Serve, reproject"
WAYS = {
    STOCK: HybridWay(),
    "stock FCFS, fp8 KV": HybridWay(kv_dtype="fp8"),
    "ours, fp8 KV": HybridWay({"cache": "kv", "caching": "steady-kv"}, "fp8"),
    "ours, KV": HybridWay({"cache": "kv", "caching": "steady-kv"}),
    "Apt-Serve, KV": HybridWay({"cache": "kv", "caching": "apt-kv"}),
    PUBLISHED: HybridWay({"cache": "hybrid", "caching": "apt", "absorbs": False}),
    "absorbed + FCFS": HybridWay({"cache": "hidden", "variant": "stock"}),
    OURS: HybridWay({"cache": "hybrid", "caching": "steady"}),
}


class Numbers(NamedTuple):
    """What engines here compute with.

    Attributes:
        shape: of the model.
        dtype: of weights, and of keys and values.
        kv_bytes: of one number of theirs.
        has_fp8: whether vLLM can keep keys and values in fp8 on this CPU.
    """

    shape: OptShape
    dtype: str
    kv_bytes: int
    has_fp8: bool


@cache
def numbers() -> Numbers:
    """As relserve would choose for this CPU."""
    import torch

    has_fp8 = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    if cpu_dtype(str(folder_of(NARROW))) == "float32":
        return Numbers(NARROW, "float32", 4, has_fp8)
    return Numbers(WIDE, "bfloat16", 2, has_fp8)


def ways_here() -> dict[str, HybridWay]:
    """The ways that this CPU can go."""
    return {name: way for name, way in WAYS.items() if way.kv_dtype != "fp8" or numbers().has_fp8}


def engine_of(way: HybridWay, num_blocks: int, **limits: Any) -> EngineSetup:
    """The engine of a way with the bytes of so many blocks of keys and values of the model's numbers."""
    factor = numbers().kv_bytes if way.kv_dtype == "fp8" else 1
    return EngineSetup(
        own_model=str(folder_of(numbers().shape)), own_kv_tokens=factor * num_blocks * BLOCK_SIZE,
        own_threads=1, kv_dtype=way.kv_dtype, clock="busy", **limits,
    )  # fmt: skip
