"""Schema selection: the tables and columns that a question may be about."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.text2sql.cases.case import Case
from relserve.text2sql.cases.tools import Tools


def schema_selection(cases: Sequence[Case], tools: Tools) -> None:
    """Leave a small schema whole."""
    for case in cases:
        if not case.schema.tables:
            case.fail(
                "schema_selection", "there is no table that may be looked at; name others by tables or schema"
            )
