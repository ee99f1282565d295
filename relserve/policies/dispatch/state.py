"""What a router knows: a request that is to be sent somewhere, the members of a fleet, what they report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from relserve.policies.model.linear import CostModel

Column = np.ndarray[tuple[int], np.dtype[np.float64]]
NOBODY: Mapping[str, float] = {}


@dataclass(slots=True, frozen=True)
class Request:
    """A request, or several that go together.

    Attributes:
        prompt_tokens: of it, those included that a member may hold.
        output_tokens: that are expected to be generated.
        ttft_slo_s, tpot_slo_s: its limits on the first token and on the mean of the others.
        cached_tokens: how much of the prompt a member is taken to hold, by name; 0 where it is missing.
    """

    prompt_tokens: float
    output_tokens: float
    ttft_slo_s: float = inf
    tpot_slo_s: float = inf
    cached_tokens: Mapping[str, float] = field(default_factory=lambda: NOBODY)


class Member(NamedTuple):
    """A member of a fleet, as its file and its calibration tell it.

    Attributes:
        cost: what its steps cost, until it reports what it has learnt.
        token_budget: tokens of a step at most.
        kv_tokens: that its memory holds.
        weight: its throughput beside others', measured beforehand.
    """

    name: str
    cost: CostModel
    token_budget: int
    kv_tokens: float
    weight: float = 1.0


class Report(NamedTuple):
    """What a member says of itself; the first six are those of Eq. 8, or what they are made of.

    Attributes:
        step_s: L_e of Eq. 8: seconds of the step that runs, as predicted by the step model of the member's
            budget policy (LENS's Eq. 1), or by `cost` where it has none, or it has learnt nothing yet.
        prompt_tokens: still to be computed, of all that it has; with the numbers of requests it makes W_e.
        num_running, num_waiting: requests that hold memory, and that do not yet.
        free_tokens: memory left after what those that wait will need, M_e; may be below 0.
        peak_tokens_per_s: P_e,max, of the same model.
        waiting_tokens: of `prompt_tokens`, those of requests that wait.
        output_tokens: that all it has are expected to generate.
        budget_tokens: tokens of its latest step that could have had more.
        incarnation, sequence: a process that starts again has a higher incarnation, and each report a
            higher sequence number than the one before.
        seen: the number of the latest dispatch of this router's that the report counts; -1: none.
        yours: how many of its requests are this router's.
        cost: what its steps cost as it has learnt; None: nothing new.
    """

    step_s: float = 0.0
    prompt_tokens: float = 0.0
    num_running: int = 0
    num_waiting: int = 0
    free_tokens: float = inf
    peak_tokens_per_s: float = 0.0
    waiting_tokens: float = 0.0
    output_tokens: float = 0.0
    budget_tokens: float = 0.0
    incarnation: int = 0
    sequence: int = 0
    seen: int = -1
    yours: int = 0
    cost: CostModel | None = None


@dataclass(slots=True)
class EngineLoad:
    """What an engine has to do, as whoever keeps its queue counts it.

    Attributes:
        budget_tokens: of a step.
        num_waiting, num_running: requests that wait, and those that hold memory.
        prompt_tokens: still to be computed, of both.
        output_tokens: still expected to be generated, of both; below 0 where more was generated.
        waiting_s: work of those that wait, t_queue of HexGen-Text2SQL's Eq. 3.
    """

    budget_tokens: float
    num_waiting: int = 0
    num_running: int = 0
    prompt_tokens: float = 0.0
    output_tokens: float = 0.0
    waiting_s: float = 0.0
