"""How long a step takes, and how that is learnt: the two protocols that all models of a step keep.

| model | how a step's seconds hang on its work |
|---|---|
| `linear.CostModel` | RelServe, Eq. 9: linear in prompt tokens and in decoding requests |
| `structured.StepModel` | LENS, Eq. 1 and 2: work over a throughput that saturates, and overheads; and ours |
| `lab.simulator.roofline.Roofline` | a GPU's roofline: weights are read while tokens are computed |
| `cache_costs.CacheCosts` | Eq. 9, and tokens in memory by the type of their cache (Apt-Serve, Eq. 6) |
| `admission.scalability.Fit` | SABER, section IV-B: a decode step by how many requests decode |
"""

from __future__ import annotations

from typing import Protocol

from relserve.policies.model.work import Work


class StepTime(Protocol):
    """How long steps take."""

    def seconds(self, work: Work, /) -> float:
        """Seconds of a step of this work."""


class OnlineFit(Protocol):
    """A model of steps that is kept fresh from measured steps.

    One thread adds steps. Others may read `model` meanwhile: it is replaced as a whole.
    """

    @property
    def model(self) -> StepTime:
        """What is known now."""

    def add(self, work: Work, seconds: float) -> None:
        """Take one measured step; a time that is no positive number is no measurement."""
