"""The formats in which the command line writes a result."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How a result is written: a table or lines for people, Markdown for pages, the others for programs."""

    table = "table"  # the first rows, long cells cut
    line = "line"  # a line a value, whole
    markdown = "markdown"
    csv = "csv"
    json = "json"  # an object a line
    arrow = "arrow"
    parquet = "parquet"


BYTES = (Format.arrow, Format.parquet)  # one result for a program, and nothing for a screen
