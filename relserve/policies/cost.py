"""What a step costs: the linear model (RelServe, Eq. 9), fitted from measured steps."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

MIN_SLOPE_S, MIN_BASE_S = 1e-8, 1e-6
HUBER = 1.345  # residuals beyond so many robust standard deviations lose weight
FEW_STEPS = 8  # below so many the start is scaled as a whole, for their shapes tell slopes from bases badly
SURE = 0.7  # mean error of lately measured steps, as a natural logarithm: a factor of two
NEWS = 0.125  # weight of the latest step in that mean


class StepFeatures(NamedTuple):
    """What a step computes, as Eq. 9 counts it: uncached prompt tokens, and requests that decode a token."""

    prefill_tokens: float = 0
    num_decodes: float = 0


class StepSample(NamedTuple):
    """One measured step: uncached prompt tokens computed, requests that decoded, seconds."""

    prefill_tokens: float
    num_decodes: float
    seconds: float


@dataclass(frozen=True)
class CostModel:
    """Linear step times in seconds (Eq. 9), with an intercept of its own for mixed steps.

    L_prefill(p) = prefill_per_token_s * utok(p) + prefill_base_s
    L_decode(d) = decode_per_request_s * req(d) + decode_base_s
    A mixed step pays both slopes and one base: the weights are read once.
    """

    prefill_per_token_s: float
    prefill_base_s: float
    decode_per_request_s: float
    decode_base_s: float
    mixed_base_s: float | None = None

    def prefill(self, tokens: float) -> float:
        """Seconds of a prefill step over `tokens` uncached tokens."""
        return self.prefill_per_token_s * tokens + self.prefill_base_s

    def decode(self, requests: float) -> float:
        """Seconds of a decode step of `requests` requests."""
        return self.decode_per_request_s * requests + self.decode_base_s

    def step(self, tokens: float, requests: float) -> float:
        """Seconds of any step: prefill, decode, or both mixed."""
        if not tokens:
            return self.decode(requests) if requests else 0.0
        if not requests:
            return self.prefill(tokens)
        slopes = self.prefill_per_token_s * tokens + self.decode_per_request_s * requests
        return slopes + self.shared_base_s

    @property
    def shared_base_s(self) -> float:
        """Intercept of a mixed step."""
        return (
            max(self.prefill_base_s, self.decode_base_s) if self.mixed_base_s is None else self.mixed_base_s
        )

    def scaled(self, factor: float) -> CostModel:
        """The model of a machine on which every step takes so many times as long."""
        times = {name: value and value * factor for name, value in asdict(self).items()}
        return CostModel(**times)

    def as_text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), indent=1) + "\n"

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.as_text())

    @classmethod
    def load(cls, path: Path) -> CostModel:
        """Read what `save` wrote.

        Raises:
            OSError, TypeError, ValueError: there is none, or it holds something else than times above 0.
        """
        found = cls(**json.loads(path.read_text()))
        for name, value in asdict(found).items():
            if value is not None and not (isinstance(value, (int, float)) and 0 < value < math.inf):
                raise ValueError(f"{name} is a number of seconds above 0, not {value!r}")
        return found


def fit(samples: Sequence[StepSample] | np.ndarray, prior: CostModel | None = None) -> CostModel:
    """Fit a cost model robustly: Huber weights by iterated least squares, coefficients kept positive.

    Args:
        samples: measured steps of any kind; or an array of them, a row a step.
        prior: gives the coefficients, or combinations of them, that the samples say nothing about.

    Raises:
        ValueError: too few samples and no prior.
    """
    if len(samples) < 8:
        if prior is None:
            raise ValueError(f"a cost model needs at least 8 measured steps, there are {len(samples)}")
        return prior
    return fit_with(samples, np.zeros((len(samples), 0)), prior, np.zeros(0))[0]


def fit_with(
    samples: Sequence[StepSample] | np.ndarray, more: np.ndarray, prior: CostModel | None, known: np.ndarray
) -> tuple[CostModel, np.ndarray]:
    """Fit a cost model as `fit` does, together with what a unit of some other features costs.

    Args:
        more: those features, a row a step.
        known: seconds a unit of each, taken where too few samples have it; found ones are 0 at least.
    """
    data = np.asarray(samples, dtype=float)
    tokens, decodes, seconds = data.T
    has_prefill, has_decode = tokens > 0, decodes > 0
    kinds = [has_prefill & ~has_decode, ~has_prefill & has_decode, has_prefill & has_decode]
    features = np.column_stack([tokens, decodes, *kinds, more]).astype(float)
    used = np.flatnonzero(np.count_nonzero(features, axis=0) >= 4)
    start = np.concatenate([np.zeros(5) if prior is None else _coefficients(prior), known])
    solution = _robust(features[:, used], seconds, start[used])
    found = dict(zip(used.tolist(), solution.tolist(), strict=True))
    units = [max(found.get(5 + i, seconds_a_unit), 0.0) for i, seconds_a_unit in enumerate(known.tolist())]
    return _model(found, prior), np.array(units)


def _robust(columns: np.ndarray, seconds: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Coefficients by iterated least squares with Huber weights; where several fit, those near `known`."""
    scale = columns.max(axis=0)
    columns, start = columns / scale, known * scale
    solution, weights = start, np.ones(len(seconds))
    for _ in range(8):
        weighted = columns.T * weights  # normal equations: a few numbers instead of all rows
        missing = weighted @ (seconds - columns @ start)
        solution = start + np.linalg.lstsq(weighted @ columns, missing, rcond=1e-9)[0]
        residuals = np.abs(seconds - columns @ solution)
        spread = max(1.4826 * float(np.median(residuals)), 1e-9)
        weights = np.minimum(1.0, HUBER * spread / np.maximum(residuals, 1e-12))
    found: np.ndarray = solution / scale
    return found


def _coefficients(cost: CostModel) -> np.ndarray:
    """In the order of the features of `fit`."""
    slopes = (cost.prefill_per_token_s, cost.decode_per_request_s)
    return np.array([*slopes, cost.prefill_base_s, cost.decode_base_s, cost.shared_base_s])


def _model(found: dict[int, float], prior: CostModel | None) -> CostModel:
    """Fill what was not found from the prior, or from its neighbours."""
    base = found.get(2, found.get(4, found.get(3, MIN_BASE_S)))
    old = prior or CostModel(found.get(0, MIN_SLOPE_S), base, found.get(1, MIN_SLOPE_S), found.get(3, base))
    mixed = found.get(4, old.mixed_base_s)
    return CostModel(
        max(found.get(0, old.prefill_per_token_s), MIN_SLOPE_S),
        max(found.get(2, old.prefill_base_s), MIN_BASE_S),
        max(found.get(1, old.decode_per_request_s), MIN_SLOPE_S),
        max(found.get(3, old.decode_base_s), MIN_BASE_S),
        None if mixed is None else max(mixed, MIN_BASE_S),
    )


class CostSource(Protocol):
    """Where a scheduler takes its cost model from, step by step.

    Attributes:
        is_sure: whether lately measured steps took about what the model says; what rests on seconds, such as
            a promise to each relQuery, waits until it does.
    """

    model: CostModel

    @property
    def is_sure(self) -> bool: ...

    def add(self, sample: StepSample) -> None:
        """Take one measured step."""


class FixedCost:
    """A cost model that stays as it is, whatever is measured."""

    is_sure = True

    def __init__(self, model: CostModel) -> None:
        self.model = model

    def add(self, sample: StepSample) -> None:
        """See `CostSource.add`."""


class OnlineCost:
    """A cost model kept fresh from measured steps.

    It is fitted to the latest `window` steps: after 1, 2, 4, 8 .. of them and then after every `every`. It is
    robust to hiccups (see `fit`). The first few steps scale the start as a whole: what is first taken for
    another model or another machine is wrong by one factor above all.
    """

    def __init__(self, start: CostModel, window: int = 512, every: int = 64) -> None:
        self.model, self.every = start, every
        self._start = start
        self._samples = np.zeros((window, 3))
        self._num, self._error = 0, float("inf")

    @property
    def is_sure(self) -> bool:
        """See `CostSource.is_sure`; nothing is known of the first steps."""
        return self._error <= SURE

    def add(self, sample: StepSample) -> None:
        """Take one measured step."""
        if sample.seconds <= 0:
            return
        window = len(self._samples)
        self._samples[self._num % window] = sample
        self._num += 1
        self._note_error(sample)
        is_early = self._num < self.every and self._num.bit_count() == 1
        if is_early or self._num % self.every == 0:
            self._fit(self._samples[: min(self._num, window)])

    def _note_error(self, sample: StepSample) -> None:
        foreseen_s = self.model.step(sample.prefill_tokens, sample.num_decodes)
        if foreseen_s > 0:
            error = abs(math.log(sample.seconds / foreseen_s))
            known = 0.0 if math.isinf(self._error) else self._error
            self._error = known + max(1.0 / self._num, NEWS) * (error - known)

    def _fit(self, samples: np.ndarray) -> None:
        if len(samples) < FEW_STEPS:
            self.model = _scaled(self._start, samples)
        else:
            self.model = fit(samples, self.model)


def _scaled(cost: CostModel, samples: np.ndarray) -> CostModel:
    """The model with all its times multiplied by the median of what steps took over what it says."""
    foreseen_s = np.array([cost.step(tokens, decodes) for tokens, decodes, _ in samples])
    is_any = foreseen_s > 0
    if not is_any.any():
        return cost
    factor = float(np.median(samples[is_any, 2] / foreseen_s[is_any]))
    return cost.scaled(factor)
