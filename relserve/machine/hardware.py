"""What this machine computes with: its processor, the number formats that it knows, and its GPUs."""

from __future__ import annotations

import functools
import json
import os
import platform
from pathlib import Path

_NUMBER_FORMATS = frozenset(("amx_bf16", "amx_tile", "avx512_bf16", "bf16"))


def machine_key() -> str:
    """The hardware: processor and how many cores, and the GPUs; not its name, which containers make up."""
    return json.dumps([platform.machine(), _processor(), os.cpu_count(), gpus()])


def gpus() -> list[str]:
    """The GPUs' names. NVIDIA's driver lists them here, without the seconds that CUDA takes to start."""
    found = []
    for path in Path("/proc/driver/nvidia/gpus").glob("*/information"):
        try:
            found.append(path.read_text(encoding="utf-8").partition("\n")[0].partition(":")[2].strip())
        except OSError:
            continue
    return sorted(found)


@functools.cache
def number_formats() -> list[str]:
    """What the processor can compute in besides float32, as the kernel names it; none where it does not."""
    lines = _cpuinfo() or []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return sorted(_NUMBER_FORMATS.intersection(flags.split()))


def _processor() -> str:
    lines = _cpuinfo()
    if lines is None:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _cpuinfo() -> list[str] | None:
    """The kernel's lines on the processors; None where there are none."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
