"""What this CPU can do, of what matters to products."""

from __future__ import annotations

import torch


def instructions() -> list[str]:
    """The sets of instructions that the kernels of this package and of vLLM choose by."""
    asked = {
        "AVX2": torch.cpu._is_avx2_supported,
        "AVX-512": torch.cpu._is_avx512_supported,
        "AVX-512 bf16": torch.cpu._is_avx512_bf16_supported,
        "AMX": torch.cpu._is_amx_tile_supported,
    }
    return [name for name, has in asked.items() if has()]


def multiplies(dtype: torch.dtype) -> bool:
    """Whether this CPU has products of a short number type: without them torch's are slow."""
    if dtype == torch.bfloat16:
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return dtype == torch.float16 and torch.cpu._is_amx_fp16_supported()
