"""What runs at several rates show: the rate at which attainment falls below a level, and a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from benchmarks.effective.attainment import Attainment


class Crossing(NamedTuple):
    """The rate where attainment first falls below a level.

    Attributes:
        bound: "exact": it lies between two measured rates; "at least" and "at most": it lies beyond `rate`,
            the highest and the lowest that were measured.
    """

    rate: float
    bound: Literal["exact", "at least", "at most"] = "exact"

    def __str__(self) -> str:
        return f"{self.rate:.3g}" if self.bound == "exact" else f"{self.bound} {self.rate:.3g}"

    def over(self, other: Crossing) -> float | None:
        """How many times another rate this is, or is at least; None where it may be less."""
        if self.bound == "at most" or other.bound == "at least":
            return None
        return round(self.rate / other.rate, 3)


def crossing(attained: Mapping[float, float], level: float) -> Crossing:
    """The rate where attainment first falls below a level, on the line between the rates around it.

    Args:
        attained: attainment by rate.

    Raises:
        ValueError: nothing was measured.
    """
    if not attained:
        raise ValueError("attainment was measured at no rate")
    before: tuple[float, float] | None = None
    for rate, share in sorted(attained.items()):
        if share < level:
            if before is None:
                return Crossing(rate, "at most")
            low, above = before
            return Crossing(low + (rate - low) * (above - level) / (above - share))
        before = rate, share
    return Crossing(max(attained), "at least")


def pooled(seeds: Sequence[Attainment]) -> Attainment:
    """Several runs of as many requests each as one: the mean of all figures, the worst of the worst waits."""
    mean = Attainment(*np.mean(np.array(seeds), axis=0).tolist())
    return mean._replace(worst_ttft_s=max(each.worst_ttft_s for each in seeds))


def draw(path: Path, attained: Mapping[str, Mapping[float, Attainment]], level: float) -> None:
    """Draw attainment by rate into a PNG file, a line a way: by P99 TBT, and beside it by every gap.

    Args:
        attained: by way and rate; rates in the unit that the axis names.
        level: a dotted line.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
    for axis, field, title in zip(axes, ("attained", "strict"), ("P99 TBT", "every gap"), strict=True):
        for way, by_rate in attained.items():
            rates = sorted(by_rate)
            axis.plot(rates, [getattr(by_rate[rate], field) for rate in rates], marker="o", label=way)
        axis.axhline(level, linestyle=":", color="black")
        axis.set_title(f"first token and {title} in time")
        axis.set_xlabel("rate, multiples of stock FCFS's at 90 %")
    axes[0].set_ylabel("share of requests")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
