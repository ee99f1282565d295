"""The ways that are compared: who schedules, and what is kept in memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.effective.attainment import Slo
from benchmarks.made_up_opt import Shape, folder_of
from benchmarks.relquery_engines import BLOCK_SIZE, Engine
from relserve.policies.scheduling.variants import DEFAULT

# Weights are read once a step, whoever runs in it: 8 ms here, as much as 32 requests add. So a pool for ten
# leaves half of what the processor could do, which is what bounds large models on GPUs as well.
SHAPE = Shape(1024, 2)


class Way(NamedTuple):
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
    STOCK: Way(),
    "stock FCFS, fp8 KV": Way(kv_dtype="fp8"),
    "smallest first, KV": Way({"cache": "kv", "caching": "smallest-kv"}),
    "Apt-Serve, KV": Way({"cache": "kv", "caching": "apt-kv"}),
    PUBLISHED: Way({"cache": "hybrid", "caching": "apt", "absorbs": False}),
    "absorbed + FCFS": Way({"cache": "hidden", "variant": "stock"}),
    OURS: Way({"cache": "hybrid", "caching": "ours"}),
}


def settings_of(way: Way, slo: Slo) -> dict[str, Any]:
    """The way's settings, with the limits where its policy reads them."""
    settings = dict(way.settings or {})
    if "caching" in settings:
        settings |= {"ttft_slo_s": slo.ttft_s, "tbt_slo_s": slo.tbt_s}
    return settings


def engine_of(way: Way, num_blocks: int, **limits: Any) -> Engine:
    """The engine of a way with the bytes of so many blocks of bfloat16 keys and values."""
    factor = 2 if way.kv_dtype == "fp8" else 1
    return Engine(
        own_model=str(folder_of(SHAPE)), own_kv_tokens=factor * num_blocks * BLOCK_SIZE, own_threads=1,
        kv_dtype=way.kv_dtype, clock="busy", **limits,
    )  # fmt: skip
