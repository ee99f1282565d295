"""The formats in which the command line writes a result."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How a result is written: a table for people; CSV, JSON lines and Arrow for programs."""

    table = "table"
    csv = "csv"
    json = "json"
    arrow = "arrow"
