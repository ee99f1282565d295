"""The cost model of measured steps, and how well it predicts them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from relserve.machine.token_costs import TokenCosts
from relserve.policies.model.linear import CostModel, fit, fit_with
from relserve.policies.model.work import MeasuredStep

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


def calibrate(samples: Sequence[MeasuredStep]) -> Calibration:
    """Fit a cost model; raises ValueError for fewer than 8 samples."""
    model = fit(samples)
    errors: dict[str, list[float]] = {}
    for sample in samples:
        predicted_s = model.seconds(sample.work)
        errors.setdefault(kind_of(sample), []).append(abs(predicted_s / sample.seconds - 1))
    quality = {k: Quality(len(errors[k]), statistics.median(errors[k])) for k in KINDS if k in errors}
    return Calibration(model, quality, statistics.median(e for each in errors.values() for e in each))


def token_costs(samples: Sequence[MeasuredStep]) -> TokenCosts:
    """What a token in memory adds to a step, by type; raises ValueError for fewer than 8 decodes."""
    decodes = [sample for sample in samples if kind_of(sample) == "decode"]
    if len(decodes) < 8:
        raise ValueError(f"the cost of tokens needs at least 8 measured decodes, there are {len(decodes)}")
    read = np.array([(work.kv_tokens, work.hidden_tokens) for work, _ in decodes])
    _, units = fit_with(decodes, read, None, np.zeros(2))
    return TokenCosts(*units.tolist())


def kind_of(sample: MeasuredStep) -> str:
    """The kind of a measured step."""
    if not sample.work.num_decodes:
        return "prefill"
    return "mixed" if sample.work.prefill_tokens else "decode"
