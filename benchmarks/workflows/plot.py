"""Figure 2 as it is drawn: the share of queries in time by their deadline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.plots import Panel, curves
from benchmarks.workflows.runs import Cell, Job, Measured


def attainment(
    runs: dict[Job, Measured], cells: Sequence[Cell], seeds: Sequence[int], names: Sequence[str], path: Path
) -> None:
    """A panel a cell, a curve a system."""
    panels = []
    for cell in cells:
        lines = {}
        for name in names:
            latencies = sorted(s for seed in seeds for s in runs[Job(cell, name, seed)].latencies_s)
            lines[name] = (latencies, [100 * (i + 1) / len(latencies) for i in range(len(latencies))])
        panels.append(Panel(f"{cell.setup}, {cell.trace}, {cell.rate}/s", lines))
    curves(path, panels, "deadline in s", "queries in time, %", level=95)
