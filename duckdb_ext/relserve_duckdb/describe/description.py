"""What `Connection.describe` tells of a statement."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from relserve_duckdb.describe.casts import cast
from relserve_duckdb.text.parameters import find_parameters, with_parameters


class Description(NamedTuple):
    """What one statement gives and takes.

    Attributes:
        columns: name and DuckDB's type of each; none where the statement gives no rows.
        parameters: DuckDB's types of $1, $2 and so on (or of the ?, or of $names in their order); None: there
            is no such parameter.
        runnable: the statement with casts around the parameters whose type would else follow from their
            values, so that it gives these columns whatever the values are.
        text: the statement without those casts.
        casts: the types of those casts by the names of their parameters, which are numbers for $1 and ?.
    """

    columns: list[tuple[str, str]]
    parameters: list[str | None]
    runnable: str
    text: str = ""
    casts: Mapping[str, str] = MappingProxyType({})

    def without_casts(self, names: Collection[str]) -> str:
        """The statement as `runnable`, but these parameters have the types of their values."""
        if self.casts.keys().isdisjoint(names):
            return self.runnable
        forms = {name: cast(kind) for name, kind in self.casts.items() if name not in names}
        return with_parameters(self.text, find_parameters(self.text), forms)
