"""The llm functions for dataframes: pandas, polars, pyarrow, and DuckDB relations.

Every function of `relserve.call.options.ROW_FUNCTIONS` is here by its name (`llm`), and to be awaited with an
a in front (`allm`).
"""

from __future__ import annotations

from relserve.call.options import ROW_FUNCTIONS
from relserve.frames.functions import FrameFunction, asynchronous, llm_errors, llm_queries, synchronous

__all__ = ["llm_errors", "llm_queries"]

_MADE = {name: synchronous(name) for name in ROW_FUNCTIONS} | {
    f"a{name}": asynchronous(name) for name in ROW_FUNCTIONS
}


def __getattr__(name: str) -> FrameFunction:
    if name not in _MADE:
        raise AttributeError(f"module 'relserve.frames' has no attribute {name!r}")
    return _MADE[name]
