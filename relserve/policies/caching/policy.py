"""What a caching policy is: one pure decision a step."""

from __future__ import annotations

from typing import Protocol

from relserve.policies.caching.state import CachePlan, CacheView


class CachingPolicy(Protocol):
    """Decides one step at a time; owns no queue, no clock and no memory, and writes nothing into the view."""

    @property
    def name(self) -> str:
        """The variant's name."""

    def plan(self, view: CacheView) -> CachePlan:
        """What the next step computes, what holds memory, and as what.

        Never more memory than there is: the blocks of all that hold something after the step, each with all
        its tokens, are at most the pool's, as long as any single request fits it.
        """
