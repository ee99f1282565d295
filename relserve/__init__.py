"""relserve: LLM functions in SQL, scheduled as relQueries inside the engine.

>>> import relserve
>>> con = relserve.connect(model="scripted")
>>> len(con.sql("SELECT llm('Say {}', i) FROM range(3) t(i)").fetchall())
3

The llm functions for dataframes have the names that they have in SQL, with an a in front to be awaited
(`relserve.llm`, `relserve.allm`):

    df['stars'] = relserve.llm_score(df, 'How many stars would this reviewer give? {review}', lo=1, hi=5)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relserve.call.options import ROW_FUNCTIONS as _FUNCTIONS
from relserve.version import VERSION

if TYPE_CHECKING:
    from relserve_duckdb.user.fresh_functions import Refreshed, materialize, refresh

    from relserve.api import Connection, attach, close_engines, connect
    from relserve.errors import (
        Cancelled,
        ConstantPromptWarning,
        EngineDeadError,
        EngineError,
        EngineStartError,
        HabitWarning,
        ModelError,
        OptionError,
        RelserveError,
        RelserveWarning,
        RowError,
        RowsFailedWarning,
        TemplateError,
        Text2SqlError,
        UnlinkedWordsError,
        UsageError,
    )
    from relserve.frames import (
        allm,
        allm_classify,
        allm_filter,
        allm_score,
        llm,
        llm_classify,
        llm_errors,
        llm_filter,
        llm_queries,
        llm_score,
    )
    from relserve.frames.calibrate import DecisionCalibration, calibrate_decisions
    from relserve.frames.evaluate import evaluate
    from relserve.frames.evaluation_result import Evaluation

_AWAITED = tuple(f"a{name}" for name in _FUNCTIONS)
# Imported on first use: the engine's own process imports this package too, and needs none of it.
_HOMES = {
    "relserve.api": ("Connection", "attach", "close_engines", "connect"),
    "relserve.errors": (
        "Cancelled", "ConstantPromptWarning", "EngineDeadError", "EngineError", "EngineStartError",
        "ModelError", "OptionError", "RelserveError", "RelserveWarning", "RowError", "RowsFailedWarning",
        "HabitWarning", "TemplateError", "Text2SqlError", "UnlinkedWordsError", "UsageError",
    ),
    "relserve.frames.calibrate": ("DecisionCalibration", "calibrate_decisions"),
    "relserve.frames.evaluate": ("evaluate",),
    "relserve.frames.evaluation_result": ("Evaluation",),
    "relserve_duckdb.user.fresh_functions": ("Refreshed", "materialize", "refresh"),
    "relserve.frames": (*_FUNCTIONS, *_AWAITED, "llm_errors", "llm_queries"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__version__ = VERSION
__all__ = [
    "Cancelled", "Connection", "ConstantPromptWarning", "DecisionCalibration", "EngineDeadError",
    "EngineError", "EngineStartError", "Evaluation", "HabitWarning", "ModelError", "OptionError",
    "Refreshed", "RelserveError", "RelserveWarning", "RowError", "RowsFailedWarning", "TemplateError",
    "Text2SqlError", "UnlinkedWordsError", "UsageError",
    "allm", "allm_classify", "allm_filter", "allm_score", "attach", "calibrate_decisions", "close_engines",
    "connect", "evaluate",
    "llm", "llm_classify", "llm_errors", "llm_filter", "llm_queries", "llm_score", "materialize", "refresh",
]  # fmt: skip
__all__ += [name for name in _HOME_OF if name not in __all__]  # a function that is new in FUNCTIONS
__all__.sort()


def __getattr__(name: str) -> Any:
    if name in ("llm_agg", "llm_rank"):
        raise AttributeError(
            f"{name} is an SQL aggregate: relserve.connect().sql('SELECT k, {name}(..) FROM df GROUP BY k')"
        )
    if name not in _HOME_OF:
        raise AttributeError(f"module 'relserve' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext relserve` in IPython and Jupyter: the magic %relserve."""
    import_module("relserve.cli.magic").install(shell)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
