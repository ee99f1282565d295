"""Where a database's own values are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from relserve.linking.schema import ColumnKind, Schema
from relserve.linking.words import folded

_MOST_WORDS = 8


class ValueHit(NamedTuple):
    """A value as the database spells it, and the column that holds it."""

    table: str
    column: str
    value: str


class ValueIndex(Protocol):
    """Finds values by all of their words."""

    def find(self, words: tuple[str, ...]) -> Sequence[ValueHit]:
        """The values whose `words.folded` is exactly `words`; at most eight words are asked for."""


class SchemaValues:
    """A ValueIndex over the values that a schema's columns carry."""

    def __init__(self, schema: Schema):
        self._hits: dict[tuple[str, ...], list[ValueHit]] = {}
        for table, column in schema.columns:
            for value in column.values if column.kind is ColumnKind.TEXT else ():
                words = folded(value)
                if 0 < len(words) <= _MOST_WORDS:
                    self._hits.setdefault(words, []).append(ValueHit(table.name, column.name, value))

    def find(self, words: tuple[str, ...]) -> Sequence[ValueHit]:
        return self._hits.get(words, ())
