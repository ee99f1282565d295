"""What `Connection.describe` tells of a statement."""

from __future__ import annotations

from typing import NamedTuple


class Description(NamedTuple):
    """What one statement gives and takes.

    Attributes:
        columns: name and DuckDB's type of each; none where the statement gives no rows.
        parameters: DuckDB's types of $1, $2 and so on (or of the ?, or of $names in their order); None: there
            is no such parameter.
        runnable: the statement with casts around the parameters whose type would else follow from their
            values, so that it gives these columns whatever the values are.
    """

    columns: list[tuple[str, str]]
    parameters: list[str | None]
    runnable: str
