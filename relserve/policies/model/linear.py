"""Step times that are linear in tokens and requests (RelServe, Eq. 9), and their fit to measured steps."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from relserve.policies.model.work import MeasuredStep, Work

MIN_SLOPE_S, MIN_BASE_S = 1e-8, 1e-6
HUBER = 1.345  # residuals beyond so many robust standard deviations lose weight
FEW_STEPS = 8  # so many are measured before slopes are told from bases


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

    def seconds(self, work: Work) -> float:
        """See `StepTime.seconds`; Eq. 9 looks at two of the numbers."""
        return self.step(work.prefill_tokens, work.num_decodes)

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


def fit(samples: Sequence[MeasuredStep] | np.ndarray, prior: CostModel | None = None) -> CostModel:
    """Fit a cost model robustly: Huber weights by iterated least squares, coefficients kept positive.

    Args:
        samples: measured steps of any kind; or a row a step, of prompt tokens, decodes and seconds.
        prior: gives the coefficients, or combinations of them, that the samples say nothing about.

    Raises:
        ValueError: too few samples and no prior.
    """
    if len(samples) < FEW_STEPS:
        if prior is None:
            raise ValueError(
                f"a cost model needs at least {FEW_STEPS} measured steps, there are {len(samples)}"
            )
        return prior
    return fit_with(samples, np.zeros((len(samples), 0)), prior, np.zeros(0))[0]


def fit_with(
    samples: Sequence[MeasuredStep] | np.ndarray, more: np.ndarray, prior: CostModel | None, known: np.ndarray
) -> tuple[CostModel, np.ndarray]:
    """Fit a cost model as `fit` does, together with what a unit of some other features costs.

    Args:
        more: those features, a row a step.
        known: seconds a unit of each, taken where too few samples have it; found ones are 0 at least.
    """
    data = samples if isinstance(samples, np.ndarray) else _table(samples)
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


def _table(samples: Sequence[MeasuredStep]) -> np.ndarray:
    rows = [(work.prefill_tokens, work.num_decodes, seconds) for work, seconds in samples]
    return np.array(rows, dtype=float).reshape(-1, 3)


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
