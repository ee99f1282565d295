"""relserve: LLM functions in SQL, scheduled as relQueries inside the engine.

>>> import relserve
>>> con = relserve.connect(model="scripted")
>>> len(con.sql("SELECT llm('Say {}', i) FROM range(3) t(i)").fetchall())
3
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relserve.api import Connection, attach, connect
    from relserve.errors import (
        Cancelled,
        EngineDeadError,
        EngineError,
        EngineStartError,
        ModelError,
        OptionError,
        RelserveError,
        RowError,
        RowsFailedWarning,
        TemplateError,
        UsageError,
    )

# Imported on first use: the engine's own process imports this package too, and needs none of it.
_HOMES = {
    "relserve.api": ("Connection", "attach", "connect"),
    "relserve.errors": (
        "Cancelled", "EngineDeadError", "EngineError", "EngineStartError", "ModelError", "OptionError",
        "RelserveError", "RowError", "RowsFailedWarning", "TemplateError", "UsageError",
    ),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "Cancelled", "Connection", "EngineDeadError", "EngineError", "EngineStartError", "ModelError",
    "OptionError", "RelserveError", "RowError", "RowsFailedWarning", "TemplateError", "UsageError", "attach",
    "connect",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'relserve' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
