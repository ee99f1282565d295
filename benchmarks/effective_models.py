"""The models and GPUs of the Apt-Serve paper (Table 2) by a roofline, with each way to attend to a cache.

Published figures of the A100 (312 TFLOP/s fp16 dense, 1.555 TB/s, 39.4 GiB that a program can use) and shares
of them that serving reaches; nothing is measured. Memory for the cache is what vLLM's 0.9 leaves: 14,100
tokens of OPT-13B (vLLM's paper has 15,700 on the same GPU).

Ways: `kv`; `fp8`, keys and values of half the bytes; `reproject`, the paper's: K and V of all cached tokens
by GEMM in every step, 4 L d^2 FLOPs a token; `absorbed`: 4 L H d FLOPs a token and X read twice, once for
scores and once for their sum (`absorbed-once`: by one fused kernel). With 2 and 4 GPUs X is taken to be split
by its columns, which neither the paper says nor relserve does: each GPU then adds up its part of the scores
(absorbed) or gathers X (reproject) over NVLink, 300 GB/s.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.simulator.requests.engine import RequestsEngineSpec
from lab.simulator.roofline import Roofline
from relserve.policies.caching.state import BatchLimits, BlockMemory

PEAK_FLOPS, BANDWIDTH, NVLINK = 312e12, 1.555e12, 300e9
USABLE_BYTES, UTILISATION, ACTIVATION_BYTES = 39.4 * 2**30, 0.9, 0.8e9
GEMM_SHARE = 0.7  # of the peak, that the GEMMs over cached tokens reach
BLOCK = 16
WAYS = ("kv", "fp8", "reproject", "absorbed", "absorbed-once")
CONTEXT = 2048
KEYS_AND_VALUES = ("kv", "fp8")


@dataclass(frozen=True)
class GpuModel:
    """A model on its GPUs.

    Attributes:
        compute_share, memory_share: of the peaks that prompts and decodes reach, tensor parallelism included.
    """

    gpus: int
    parameters: float
    layers: int
    width: int
    heads: int
    compute_share: float
    memory_share: float

    @property
    def kv_bytes(self) -> int:
        """Keys and values of a token, in 16 bits."""
        return 4 * self.layers * self.width

    @property
    def kv_tokens(self) -> int:
        """Tokens whose keys and values fit beside the weights."""
        free = self.gpus * (USABLE_BYTES * UTILISATION - ACTIVATION_BYTES) - 2 * self.parameters
        return int(free / self.kv_bytes)

    @property
    def bandwidth(self) -> float:
        """Bytes a second that decodes read."""
        return self.gpus * BANDWIDTH * self.memory_share

    def token_s(self, way: str) -> float:
        """Seconds that a decode step takes longer for a cached token.

        Raises:
            ValueError: there is no such way.
        """
        kv_s, gemm = self.kv_bytes / self.bandwidth, self.gpus * PEAK_FLOPS * GEMM_SHARE
        x_s, is_split = kv_s / 2, self.gpus > 1
        gathered_s = self.kv_bytes / 2 / NVLINK if is_split else 0.0
        scores_s = 2 * 4 * self.layers * self.heads / NVLINK if is_split else 0.0
        flops = {
            "reproject": 4 * self.layers * self.width**2,
            "absorbed": 4 * self.layers * self.heads * self.width,
        }
        seconds = {
            "kv": kv_s, "fp8": kv_s / 2,
            "reproject": x_s + flops["reproject"] / gemm + gathered_s,
            "absorbed": max(2 * x_s, flops["absorbed"] / gemm) + scores_s,
            "absorbed-once": max(x_s, flops["absorbed"] / gemm) + scores_s,
        }  # fmt: skip
        if way not in seconds:
            raise ValueError(f"no way to attend is called {way!r}; there are {', '.join(seconds)}")
        return seconds[way]

    def times(self, way: str) -> Roofline:
        """Step times with this way to attend to what is hidden, or to all that is cached."""
        flops = self.gpus * PEAK_FLOPS * self.compute_share
        is_kv = way in KEYS_AND_VALUES
        return Roofline(
            base_s=3e-3,
            weights_s=2 * self.parameters / self.bandwidth,
            token_s=2 * self.parameters / flops,
            pair_s=4 * self.layers * self.width / flops,
            request_s=3e-5,
            kv_token_s=self.token_s(way if is_kv else "kv"),
            hidden_token_s=self.token_s("reproject" if is_kv else way),
        )

    def engine(self, way: str, tokens_a_step: int = CONTEXT, exclusive: bool = True) -> RequestsEngineSpec:
        """An engine with the limits that vLLM had: 256 requests, prompts of up to 2,048 tokens a step."""
        per_block = 2 * BLOCK if way == "fp8" else BLOCK
        memory = BlockMemory(
            self.kv_tokens // BLOCK, per_block, per_block if way in KEYS_AND_VALUES else 2 * BLOCK
        )
        return RequestsEngineSpec(self.times(way), memory, BatchLimits(256, tokens_a_step), exclusive)


MODELS = {
    "OPT-13B": GpuModel(1, 12.85e9, 40, 5120, 40, 0.6, 0.85),
    "OPT-30B": GpuModel(2, 29.97e9, 48, 7168, 56, 0.55, 0.8),
    "OPT-66B": GpuModel(4, 65.72e9, 64, 9216, 72, 0.5, 0.75),
}
