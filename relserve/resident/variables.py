"""Variables of the environment that a resident process is to have from its beginning.

Its engine is forked off it, which saves importing vLLM twice, so what C libraries read when they are loaded
has to be there before that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from relserve.engines.local import cpu
from relserve.engines.local.cpu import is_cpu_build


def variables_of(path: str, engine_args: Mapping[str, Any]) -> dict[str, str]:
    """Variables that the user left unset; none where the engine's process is not forked off (`forks`)."""
    if not forks(path):
        return {}
    return cpu.variables_for(path, engine_args)


def forks(path: str) -> bool:
    """Whether the engine's process is forked off the resident one: of models in a folder here, on a CPU.

    Of a hub's model the size, which decides the variables, may have to be fetched first.
    """
    return os.path.isdir(path) and sys.platform == "linux" and is_cpu_build()
