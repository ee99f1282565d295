"""The plots of the benchmarks that have one figure for each of several ways."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


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
