"""The words of a schema's tables and columns, looked up as a question uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

from relserve.linking.adjectives import ANY_DATE, MEANINGS, Meaning
from relserve.linking.lexicon import ABBREVIATIONS, NEVER_NAMES, STOP, SYNONYMS
from relserve.linking.phrases import AFTER_A_VALUE, ANYWHERE, BEFORE_A_VALUE, UNTIL
from relserve.linking.schema import Column, ColumnKind, Schema
from relserve.linking.words import folded, identifier_words, root, stem

Positions = tuple[int, ...]
_Key = TypeVar("_Key", str, tuple[str, ...])
_BOOL_PREFIXES = ("is", "has", "was", "are", "can")
_NAMING = ("name", "title", "label")
_UNITS = {"min": "minute", "mins": "minute", "sec": "second", "hrs": "hour", "kgs": "kg", "usd": "dollar"}
_LONGEST_COMMENT = 4  # words of a comment that is another name


class AdjectiveColumns(NamedTuple):
    """Columns that an adjective speaks of, and the word of the answer that it comes to for them."""

    columns: Positions
    sign: str


class SchemaNames:
    """Positions of columns and tables by the stems of their names."""

    def __init__(self, schema: Schema):
        self.tables: dict[tuple[str, ...], Positions] = {}
        self.columns: dict[tuple[str, ...], Positions] = {}
        self.parts: dict[str, Positions] = {}
        self.synonyms: dict[str, Positions] = {}
        self.table_synonyms: dict[str, Positions] = {}
        self.roots: dict[str, Positions] = {}
        self.words: set[str] = set()
        self._columns = [column for _, column in schema.columns]
        self._words = [frozenset(_stems(column.name)) for column in self._columns]
        self.bools = frozenset(
            at for at, column in enumerate(self._columns) if column.kind is ColumnKind.BOOL
        )
        self.naming = tuple(_naming(schema))
        self.years = tuple(at for at, column in enumerate(self._columns) if self._is_year(at, column))
        for at, table in enumerate(schema.tables):
            self._add_table(at, _stems(table.name))
        for at, (table, column) in enumerate(schema.columns):
            self._add_column(at, column, _stems(table.name))
        for at in self.naming:
            _add(self.parts, "name", at)
        self._longest = _longest([*self.tables, *self.columns])
        self._described: dict[tuple[str, ...], tuple[AdjectiveColumns, ...]] = {}

    def _is_year(self, at: int, column: Column) -> bool:
        return column.kind is ColumnKind.DATE or (column.kind is ColumnKind.INT and "year" in self._words[at])

    def _add_table(self, at: int, stems: tuple[str, ...]) -> None:
        _add(self.tables, stems, at)
        _add(self.tables, ("".join(stems),), at)
        if stems[-1] not in STOP:
            _add(self.tables, (stems[-1],), at)
        for other in SYNONYMS.get(stems[-1], ()):
            _add(self.table_synonyms, other, at)

    def _add_column(self, at: int, column: Column, of_table: tuple[str, ...]) -> None:
        stems = _stems(column.name)
        plain = tuple(map(stem, identifier_words(column.name)))
        self.words.update(stems, plain)
        for form in dict.fromkeys([plain, *_forms(column, stems, of_table)]):
            if form:
                _add(self.columns, form, at)
        for part in stems if len(stems) > 1 else ():
            if part not in STOP or part == "name" or (part == "id" and column.references is None):
                _add(self.parts, part, at)
        for other in SYNONYMS.get(stems[-1], ()):
            _add(self.synonyms, other, at)
        for word in stems:
            if word not in STOP:
                _add(self.roots, root(word), at)

    def longest(self, word: str, short: str) -> int:
        """How many words the longest name, adjective or phrase may have that begins with a word."""
        return max(self._longest.get(short, 0), _LONGEST_PHRASES.get(word, 0))

    def named(self, words: tuple[str, ...], stems: tuple[str, ...]) -> Positions:
        """Columns whose name these words are."""
        return () if len(words) == 1 and words[0] in NEVER_NAMES else self.columns.get(stems, ())

    def described(self, words: tuple[str, ...]) -> tuple[AdjectiveColumns, ...]:
        """What an adjective may speak of: "expensive" of prices; the likeliest meaning comes first."""
        known = self._described.get(words)
        if known is None:
            meant = (
                AdjectiveColumns(self._with(meaning), meaning.sign) for meaning in MEANINGS.get(words, ())
            )
            known = self._described[words] = tuple(described for described in meant if described.columns)
        return known

    def _with(self, meaning: Meaning) -> Positions:
        return tuple(at for at, column in enumerate(self._columns) if self._is_meant(at, column, meaning))

    def _is_meant(self, at: int, column: Column, meaning: Meaning) -> bool:
        if column.kind is ColumnKind.DATE and ANY_DATE in meaning.columns:
            return True
        of_kind = column.kind in (ColumnKind.INT, ColumnKind.NUM, ColumnKind.DATE) or (
            meaning.of_texts and column.kind is ColumnKind.TEXT
        )
        return of_kind and column.references is None and not meaning.columns.isdisjoint(self._words[at])


def _naming(schema: Schema) -> Iterator[int]:
    """Of each table the column that names a row: its first text called name, title or label."""
    found: set[int] = set()
    for at, ((_, column), table) in enumerate(zip(schema.columns, schema.table_of, strict=True)):
        named = identifier_words(column.name)[-1].endswith(_NAMING)
        if named and column.kind is ColumnKind.TEXT and table not in found:
            found.add(table)
            yield at


def _stems(name: str) -> tuple[str, ...]:
    """The stems of an identifier, its abbreviations written out."""
    words = identifier_words(name)
    if len(words) == 1:
        return (stem(words[0]),)
    units = (*words[:-1], _UNITS.get(words[-1], words[-1]))
    return tuple(stem(ABBREVIATIONS.get(word, word)) for word in units)


def _forms(column: Column, stems: tuple[str, ...], of_table: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Ways to say a column's name."""
    yield stems
    yield ("".join(stems),)
    yield tuple(word for word in stems if word not in of_table)
    if column.kind is ColumnKind.BOOL and stems[0] in _BOOL_PREFIXES:
        yield stems[1:]
    if len(stems) == 1:
        yield (ABBREVIATIONS.get(stems[0], stems[0]),)
    if stems[0] != of_table[-1]:
        yield (of_table[-1], *stems)
    if len(stems) == 2:
        yield (stems[1], "of", stems[0])
    if len(stems) > 1 and "count" in (stems[0], stems[-1]):
        yield ("number", "of", *(word for word in stems if word != "count"))
    if len(stems) > 1 and stems[0] == "number":
        yield ("number", "of", *(word for word in stems[1:] if word != "of"))
    if column.comment is not None and len(comment := folded(column.comment)) <= _LONGEST_COMMENT:
        yield tuple(map(stem, comment))


def _longest(phrases: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """By first word, the length of the longest phrase."""
    found: dict[str, int] = {}
    for phrase in phrases:
        found[phrase[0]] = max(len(phrase), found.get(phrase[0], 0))
    return found


_SAYINGS = (*MEANINGS, *BEFORE_A_VALUE, *AFTER_A_VALUE, *ANYWHERE, *((word,) for word in UNTIL))
_LONGEST_PHRASES = _longest(_SAYINGS)


def _add(found: dict[_Key, Positions], key: _Key, at: int) -> None:
    known: Positions = found.get(key, ())
    if at not in known:
        found[key] = (*known, at)


@lru_cache(256)
def schema_names(schema: Schema) -> SchemaNames:
    """The names of a schema, made once."""
    return SchemaNames(schema)
