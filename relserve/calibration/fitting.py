"""The cost model of measured steps, and how well it predicts them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from relserve.policies.cost import CostModel, StepSample, fit

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


def kind_of(sample: StepSample) -> str:
    """The kind of a measured step."""
    if not sample.num_decodes:
        return "prefill"
    return "mixed" if sample.prefill_tokens else "decode"
