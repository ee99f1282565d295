"""Whose kernels a setting may ask for, and where they run; without torch."""

from __future__ import annotations

import os
from importlib.util import find_spec

KERNELS = ("cpu", "triton")
INTERPRETER = "TRITON_INTERPRET"  # the variable with which Triton runs its kernels on a CPU


def what_forbids(device_type: str, kernels: str) -> str:
    """Why tensors on a type of device cannot go through kernels of that name; "" where they can."""
    if kernels not in KERNELS:
        return f"there are {', '.join(KERNELS)}"
    if kernels == "cpu":
        return "" if device_type == "cpu" else f"the tensors are on {device_type}; leave the setting out"
    if find_spec("triton") is None:
        return "Triton is not installed: pip install triton"
    if device_type == "cpu" and os.environ.get(INTERPRETER) != "1":
        return f"on a CPU Triton has an interpreter alone: start the engine with {INTERPRETER}=1"
    return "" if device_type in ("cpu", "cuda") else f"Triton's run on cuda, not on {device_type}"
