"""Workflows as they are given to a simulation."""

from __future__ import annotations

from typing import NamedTuple


class StepSpec(NamedTuple):
    """One step: a request to the model.

    Attributes:
        hashes: of the prompt's full blocks, each of all that comes before it too; empty: nothing is shared.
    """

    stage: str
    prompt_tokens: int
    output_tokens: int
    hashes: tuple[int, ...] = ()


class WorkflowSpec(NamedTuple):
    """A workflow.

    Attributes:
        deadline_s: when it is to be done; None: as soon as may be.
        levels: its steps one after the other; those of one level run side by side.
        tenant: whose it is.
    """

    name: str
    arrival_s: float
    deadline_s: float | None
    levels: tuple[tuple[StepSpec, ...], ...]
    tenant: str = ""
