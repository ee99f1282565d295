"""The cost model of measured steps, and how well it predicts them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from relserve.machine.token_costs import TokenCosts
from relserve.policies.caching.measured import CacheSample
from relserve.policies.cost import CostModel, StepSample, fit, fit_with

KINDS = ("prefill", "decode", "mixed")


class Quality(NamedTuple):
    """Of one kind of step: how many were measured, and the median of |predicted / measured - 1|."""

    num_steps: int
    median_error: float


class Calibration(NamedTuple):
    """A fitted model and its quality by kind of step; kinds that were not measured are absent."""

    model: CostModel
    quality: dict[str, Quality]
    median_error: float


def calibrate(samples: Sequence[StepSample]) -> Calibration:
    """Fit a cost model; raises ValueError for fewer than 8 samples."""
    model = fit(samples)
    errors: dict[str, list[float]] = {}
    for sample in samples:
        predicted_s = model.step(sample.prefill_tokens, sample.num_decodes)
        errors.setdefault(kind_of(sample), []).append(abs(predicted_s / sample.seconds - 1))
    quality = {k: Quality(len(errors[k]), statistics.median(errors[k])) for k in KINDS if k in errors}
    return Calibration(model, quality, statistics.median(e for each in errors.values() for e in each))


def token_costs(samples: Sequence[CacheSample]) -> TokenCosts:
    """What a token in memory adds to a step, by type; raises ValueError for fewer than 8 decodes."""
    decodes = [sample for sample in samples if not sample.step.prefill_tokens and sample.step.num_decodes]
    if len(decodes) < 8:
        raise ValueError(f"the cost of tokens needs at least 8 measured decodes, there are {len(decodes)}")
    read = np.array([(sample.kv_tokens, sample.hidden_tokens) for sample in decodes])
    _, units = fit_with([sample.step for sample in decodes], read, None, np.zeros(2))
    return TokenCosts(*units.tolist())


def kind_of(sample: StepSample) -> str:
    """The kind of a measured step."""
    if not sample.num_decodes:
        return "prefill"
    return "mixed" if sample.prefill_tokens else "decode"
