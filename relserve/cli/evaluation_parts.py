"""The tables that `relserve evaluate` shows."""

from __future__ import annotations

from enum import StrEnum


class Part(StrEnum):
    """The tables of an evaluation."""

    summary = "summary"
    classes = "classes"
    confusion = "confusion"
    comparison = "comparison"
    worst = "worst"
    rows = "rows"
