"""The plots that several benchmarks have in common: a bar for each of several ways, curves in panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


def bars(
    path: Path, values: Mapping[str, float], label: str, marks: Mapping[str, float] | None = None
) -> None:
    """Draw a horizontal bar for each value into a PNG file.

    Args:
        path: of the file.
        values: lengths of the bars by name, the first on top.
        label: of the axis, with its unit.
        marks: a black tick on the bars that have one, such as a bound.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 0.45 * len(values) + 1))
    axis.barh(list(values), list(values.values()))
    for name, mark in (marks or {}).items():
        axis.plot([mark, mark], [list(values).index(name) - 0.4, list(values).index(name) + 0.4], "k")
    axis.set_xlabel(label)
    axis.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


class Panel(NamedTuple):
    """One of several plots side by side: its title, and the x and y of each line by name."""

    title: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]


def curves(
    path: Path, panels: Sequence[Panel], x_label: str, y_label: str, level: float | None = None
) -> None:
    """Draw panels, four in a row, each with the same lines, into a PNG file.

    Args:
        path: of the file.
        panels: one at least.
        level: a dotted line at this y.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    across = min(len(panels), 4)
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(down, across, figsize=(3.6 * across, 2.8 * down), squeeze=False, sharey=True)
    for axis, panel in zip(axes.flat, panels, strict=False):
        for name, (x, y) in panel.lines.items():
            axis.plot(x, y, label=name)
        if level is not None:
            axis.axhline(level, color="gray", linestyle=":", linewidth=0.8)
        axis.set_title(panel.title, fontsize="small")
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel(x_label)
    for row in axes:
        row[0].set_ylabel(y_label)
    axes[0][0].legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
