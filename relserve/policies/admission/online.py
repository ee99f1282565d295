"""The curve of speeds kept fresh: its shape from all samples that are kept, its level from the latest."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from statistics import median

import numpy as np

from relserve.policies.admission.scalability import Fit, Kind, SpeedSample, fit

WINDOW = 1024  # samples kept
EVERY = 8  # samples between fits
LATEST = 8  # samples that tell the level
JUMP = 1.3  # a level beyond this factor is taken for a change of the engine
RIDGE = 1e-4  # see `fit`
POOR_R2, POOR_ERROR = 0.8, 0.2


class OnlineCurve:
    """Fits again every few samples; a lasting change of speed moves all older samples with it.

    An engine that slows down to a tenth does so at every load, while only a few loads are seen at a time:
    what was learnt of the others is scaled, not thrown away, so the curve follows within `LATEST` samples.

    Attributes:
        curve: the latest fit; None before the third sample.
        error: median relative error of the latest predictions, each made before its sample was known.
        highest_load: of the samples.
        num_jumps: how often the level was moved.
        learns: whether it takes more samples than those that it began with.
    """

    def __init__(self, samples: Sequence[SpeedSample] = (), kind: Kind = "usl", learns: bool = True) -> None:
        self._samples: deque[SpeedSample] = deque(samples, maxlen=WINDOW)
        self._measured: deque[SpeedSample] = deque(samples, maxlen=WINDOW)
        self._ratios: deque[float] = deque(maxlen=LATEST)
        self._errors: deque[float] = deque(maxlen=64)
        self._error: float | None = None
        self._kind: Kind = kind
        self.learns = learns
        self._new = self.num_jumps = 0
        self.highest_load = max([sample.load for sample in samples], default=0.0)
        self.curve: Fit | None = None
        self._refit()

    @property
    def samples(self) -> Sequence[SpeedSample]:
        """What is kept, the oldest first, each at today's level."""
        return tuple(self._samples)

    @property
    def measured(self) -> Sequence[SpeedSample]:
        """The same as it was measured, which tells more where the level means nothing."""
        return tuple(self._measured)

    @property
    def error(self) -> float:
        """Median relative error of the latest predictions; 0 before the first."""
        if self._error is None:
            self._error = median(self._errors) if self._errors else 0.0
        return self._error

    @property
    def is_poor(self) -> bool:
        """Whether the curve tells little: it explains little of what it was fitted to, and errs.

        At one load only, a good curve explains nothing, for nothing varies but noise; so before samples come
        in that were not fitted to, what is explained counts, and from then on the error of the predictions.
        """
        if self.curve is None:
            return True
        if len(self._errors) < LATEST:
            return self.curve.r2 < POOR_R2
        return self.error > POOR_ERROR

    def add(self, sample: SpeedSample) -> None:
        """Take one measured speed; what is not finite and positive is left out."""
        if not (np.isfinite(sample).all() and sample.load > 0 and sample.speed > 0 and self.learns):
            return
        if self.curve is not None:
            ratio = sample.speed / self.curve.speed(sample.load)
            self._ratios.append(ratio)
            self._errors.append(abs(ratio - 1.0))
        self._error = None
        self.highest_load = max(self.highest_load, sample.load)
        self._samples.append(sample)
        self._measured.append(sample)
        self._new += 1
        if self._jumped():
            return
        if self.curve is None or self._new >= EVERY:
            self._refit()

    def _jumped(self) -> bool:
        """Whether the latest samples all lie off the curve on one side; the older ones are then moved.

        But only where a curve through all of them is off too: loads that are seen for the first time tell of
        the curve's shape, and not of its level.
        """
        if len(self._ratios) < LATEST or not _off(self._ratios):
            return False
        level, number = median(self._ratios), len(self._samples) - LATEST
        self._ratios.clear()
        self._refit()
        assert self.curve is not None
        if not _off([s.speed / self.curve.speed(s.load) for s in list(self._samples)[number:]]):
            return True
        moved = [s._replace(speed=s.speed * level) if i < number else s for i, s in enumerate(self._samples)]
        self._samples = deque(moved, maxlen=WINDOW)
        # Errors stay: an engine that jumps again and again is poorly told by any curve.
        self.num_jumps += 1
        self._refit()
        return True

    def _refit(self) -> None:
        self._new = 0
        if len(self._samples) < 3:
            return
        number = len(self._samples)
        weights = 0.5 ** (np.arange(number)[::-1] / (WINDOW / 2))
        self.curve = fit(self._samples, self._kind, weights, RIDGE)


def _off(ratios: Collection[float]) -> bool:
    return min(ratios) > JUMP or max(ratios) < 1 / JUMP
