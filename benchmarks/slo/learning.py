"""How well and how quickly both step models learn: NexusSched's Figures 10 and 11, a tenfold change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, cast

import numpy as np

from benchmarks.slo.systems import TIMES, V1, engine_of
from benchmarks.slo.workloads import requests
from lab.simulator.budget.engine import StepTimeChange
from lab.simulator.budget.run import serve
from relserve.policies.budget.state import Budget, BudgetView, EndedRequest
from relserve.policies.budget.static import within
from relserve.policies.budget.variants import make
from relserve.policies.model.structured import OURS, PUBLISHED, StepModel
from relserve.policies.model.work import Work


@dataclass
class Explorer:
    """Another budget in each step, at random, while both models listen.

    Attributes:
        models: that learn from each step, by name.
    """

    seed: int
    name: str = "random"
    model: None = None
    token_s: None = None
    models: dict[str, StepModel] = field(
        default_factory=lambda: {"LENS": StepModel(PUBLISHED), "ours": StepModel(OURS)}
    )

    def __post_init__(self) -> None:
        self._random = np.random.default_rng([11, self.seed])

    def choose(self, view: BudgetView) -> Budget:
        """See `BudgetPolicy.choose`."""
        return within(view, float(np.exp(self._random.uniform(np.log(64), np.log(V1)))), reason="random")

    def measured(self, work: Work, seconds: float) -> None:
        """See `BudgetPolicy.measured`."""
        for model in self.models.values():
            model.add(work, seconds)

    def ended(self, request: EndedRequest) -> None:
        """See `BudgetPolicy.ended`."""


class Accuracy(NamedTuple):
    """Of the last 512 predictions, each made before its step."""

    r2: float
    error: float


def accuracy(scenario: str, rate: float, seed: int) -> dict[str, Accuracy]:
    """Figure 11(a): both models on the steps of random budgets."""
    explorer = Explorer(seed)
    serve(requests(scenario, rate, seed), engine_of("ours"), explorer, seed)
    return {name: Accuracy(model.r2(), model.error()) for name, model in explorer.models.items()}


def cold_start(
    system: str, scenario: str, rate: float, seed: int, seconds: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Figure 10: arrivals, and end-to-end latencies from nothing learnt and with a model learnt before."""
    specs, engine = requests(scenario, rate, seed, seconds), engine_of(system)
    cold, warm = make(system), make(system)
    serve(requests(scenario, rate, seed + 1000, seconds), engine, warm, seed)
    first, second = serve(specs, engine, cold, seed), serve(specs, engine, warm, seed)
    return first.arrival_s, first.e2e_s, second.e2e_s


class Learner(Protocol):
    """A budget policy with a model."""

    name: str
    model: StepModel
    token_s: float | None

    def choose(self, view: BudgetView) -> Budget: ...
    def measured(self, work: Work, seconds: float) -> None: ...
    def ended(self, request: EndedRequest) -> None: ...


@dataclass
class Listener:
    """Notes how far each prediction of a policy's model is off, and when it was made."""

    inner: Learner
    now_s: float = 0.0
    errors: list[tuple[float, float]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """See `BudgetPolicy.name`."""
        return self.inner.name

    @property
    def model(self) -> StepModel:
        """See `BudgetPolicy.model`."""
        return self.inner.model

    @property
    def token_s(self) -> float | None:
        """See `BudgetPolicy.token_s`."""
        return self.inner.token_s

    def choose(self, view: BudgetView) -> Budget:
        """See `BudgetPolicy.choose`."""
        self.now_s = view.now_s
        return self.inner.choose(view)

    def measured(self, work: Work, seconds: float) -> None:
        """See `BudgetPolicy.measured`."""
        if self.inner.model.is_ready:
            predicted = self.inner.model.seconds(work)
            self.errors.append((self.now_s, abs(predicted / seconds - 1.0)))
        self.inner.measured(work, seconds)

    def ended(self, request: EndedRequest) -> None:
        """See `BudgetPolicy.ended`."""
        self.inner.ended(request)


def followed_s(system: str, factor: float, seed: int, seconds: float = 60.0) -> float:
    """Seconds from a change of the speed until eight predictions in a row have a median error below 15 %.

    Infinite where that does not happen.
    """
    scenario, at_s, rate = "ShareGPT", seconds / 6, 18.0 if factor < 1 else 1.5
    listener = Listener(cast(Learner, make(system)))
    engine = engine_of(system, replace(TIMES, changes=(StepTimeChange(at_s, factor),)))
    serve(requests(scenario, rate, seed, seconds), engine, listener, seed, may_jump=False)
    after = [(now_s, error) for now_s, error in listener.errors if now_s >= at_s]
    for i in range(8, len(after)):
        if float(np.median([error for _, error in after[i - 8 : i]])) < 0.15:
            return after[i][0] - at_s
    return float("inf")
