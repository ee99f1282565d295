"""What an engine of single requests is asked of its step times."""

from __future__ import annotations

from typing import Protocol

from relserve.policies.model.cache_costs import CacheCosts
from relserve.policies.model.step_time import StepTime
from relserve.policies.model.work import Column, Work


class EngineTimes(StepTime, Protocol):
    """How long steps take, also those in which nothing but the contexts' length changes."""

    @property
    def costs(self) -> CacheCosts:
        """What a policy is told."""

    def of_decodes(self, work: Work, growth: tuple[int, int], num_steps: int) -> Column:
        """Seconds of each of some decode steps in a row; both contexts grow by `growth` a step."""
