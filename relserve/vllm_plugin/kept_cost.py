"""What an engine learns of its steps' times, kept on disk from one engine to the next."""

from __future__ import annotations

from pathlib import Path

from relserve.policies.model.online import CostSource
from relserve.vllm_plugin.background_file import EVERY_S, kept_file


class KeptCost:
    """The file of the cost model that an engine fits to its steps.

    Args:
        path: None: what is learnt is kept nowhere.
        cost: holds the model that the engine begins with, which is no news.
    """

    def __init__(self, path: Path | None, cost: CostSource, every_s: float = EVERY_S) -> None:
        self._told = cost.model
        self._file = kept_file(path, every_s, "step times will be learnt anew")

    def tick(self, cost: CostSource) -> None:
        """To be called after every step: have a new model written that foresees the steps."""
        model = cost.model
        if self._file is not None and model is not self._told and cost.is_sure:
            self._told = model
            self._file.put(model.as_text)

    def close(self) -> None:
        """Write what is not written yet, and no more."""
        if self._file is not None:
            self._file.close()
            self._file = None
