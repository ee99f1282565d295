"""The words of a schema's tables and columns, looked up as a question uses them."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from relserve.linking.lexicon import ADJECTIVES, PLACES, STOP
from relserve.linking.schema import Kind, Schema
from relserve.linking.words import identifier_words, stem

Positions = tuple[int, ...]
_Key = TypeVar("_Key", str, tuple[str, ...])


class SchemaNames:
    """Positions of columns and tables by the stems of their names."""

    def __init__(self, schema: Schema):
        self.tables: dict[tuple[str, ...], Positions] = {}
        self.columns: dict[tuple[str, ...], Positions] = {}
        self.parts: dict[str, Positions] = {}
        self.words: set[str] = set()
        for at, table in enumerate(schema.tables):
            self._add_table(at, identifier_words(table.name))
        for at, (table, column) in enumerate(schema.columns):
            self._add_column(at, identifier_words(column.name), identifier_words(table.name))
        self._last_words = [identifier_words(column.name)[-1] for _, column in schema.columns]
        self._columns = [column for _, column in schema.columns]
        self.years = tuple(
            at
            for at, column in enumerate(self._columns)
            if column.kind is Kind.DATE
            or (column.kind is Kind.INT and "year" in identifier_words(column.name))
        )

    def _add_table(self, at: int, words: tuple[str, ...]) -> None:
        _add(self.tables, tuple(map(stem, words)), at)
        if len(words) > 1:
            _add(self.tables, (stem(words[-1]),), at)

    def _add_column(self, at: int, words: tuple[str, ...], of_table: tuple[str, ...]) -> None:
        stems = tuple(map(stem, words))
        table_stems = set(map(stem, of_table))
        self.words.update(stems)
        for form in dict.fromkeys(
            [stems, tuple(s for s in stems if s not in table_stems), ("".join(stems),)]
        ):
            if form:
                _add(self.columns, form, at)
        for part in stems if len(stems) > 1 else ():
            if part not in STOP or part == "name":
                _add(self.parts, part, at)

    def described_by(self, word: str) -> Positions:
        """Columns that an adjective speaks of: "expensive" of a price."""
        bases = ADJECTIVES.get(word)
        if bases is None:
            return ()
        return tuple(
            at
            for at, (last, column) in enumerate(zip(self._last_words, self._columns, strict=True))
            if last in bases
            and (word in PLACES or (column.references is None and column.kind is not Kind.TEXT))
        )


def _add(found: dict[_Key, Positions], key: _Key, at: int) -> None:
    known: Positions = found.get(key, ())
    if at not in known:
        found[key] = (*known, at)


@lru_cache(256)
def schema_names(schema: Schema) -> SchemaNames:
    """The names of a schema, made once."""
    return SchemaNames(schema)
