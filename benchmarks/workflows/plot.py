"""Figure 2 as it is drawn: the share of queries in time by their deadline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.plots import Panel, curves
from benchmarks.workflows.runs import WorkflowCell, WorkflowRun, WorkflowRunResult


def attainment(
    runs: dict[WorkflowRun, WorkflowRunResult],
    cells: Sequence[WorkflowCell],
    seeds: Sequence[int],
    names: Sequence[str],
    path: Path,
) -> None:
    """A panel a cell, a curve a system."""
    panels = []
    for cell in cells:
        lines = {}
        for name in names:
            latencies = sorted(s for seed in seeds for s in runs[WorkflowRun(cell, name, seed)].latencies_s)
            lines[name] = (latencies, [100 * (i + 1) / len(latencies) for i in range(len(latencies))])
        panels.append(Panel(f"{cell.setup}, {cell.trace}, {cell.rate}/s", lines))
    curves(path, panels, "deadline in s", "queries in time, %", level=95)
