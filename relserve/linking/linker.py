"""Finds a schema's columns, tables and values in a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from relserve.linking.lexicon import AFTER_TRIGGER, STOP, TRIGGERS
from relserve.linking.literals import QuestionValue, ValueKind, literal_at
from relserve.linking.names import Positions, SchemaNames, schema_names
from relserve.linking.schema import Schema
from relserve.linking.values import ValueHit, ValueIndex
from relserve.linking.words import folded, spoken, stem, tokens

_MOST_VALUE_WORDS = 8
_MOST_NAME_WORDS = 4
_QUOTES = "\"'“‘"
_NAMES = ("name", "names")


class Piece(NamedTuple):
    """Some words of a question, or a value of it, with positions of what they may mean."""

    words: str
    value: int | None = None
    exact: Positions = ()
    tables: Positions = ()
    partial: Positions = ()
    holders: Positions = ()


class Linked(NamedTuple):
    """A question, read."""

    pieces: tuple[Piece, ...]
    values: tuple[QuestionValue, ...]


def link(schema: Schema, question: str, index: ValueIndex) -> Linked:
    """Mark a question's words. Independent of handles, so one reading serves every shuffle."""
    reader = _Reader(schema, question, index)
    at = 0
    while at < len(reader.words):
        at += reader.read(at)
    return Linked(_preferred(schema, reader.pieces), tuple(reader.values))


class _Reader:
    def __init__(self, schema: Schema, question: str, index: ValueIndex):
        self.names: SchemaNames = schema_names(schema)
        self.words = tokens(question)
        self.pieces: list[Piece] = []
        self.values: list[QuestionValue] = []
        self._low = [word.casefold() for word in self.words]
        self._stems = [stem(word) for word in self._low]
        self._find = index.find
        self._columns = {(table.name, column.name): at for at, (table, column) in enumerate(schema.columns)}
        self._expects_text = False

    def read(self, at: int) -> int:
        """Read from token `at` and return how many tokens were read."""
        used = (
            self._quoted(at)
            or self._known_value(at)
            or self._literal(at)
            or self._name(at)
            or self._proper(at)
        )
        if used:
            self._expects_text = False
            return used
        self._word(at)
        return 1

    def _value(self, value: QuestionValue, marked: Positions = ()) -> None:
        holders = [
            self._columns[hit.table, hit.column]
            for hit in value.hits
            if (hit.table, hit.column) in self._columns
        ]
        self.pieces.append(
            Piece(f"<{value.kind}>", len(self.values), partial=marked, holders=tuple(dict.fromkeys(holders)))
        )
        self.values.append(value)

    def _quoted(self, at: int) -> int:
        word = self.words[at]
        if word[0] not in _QUOTES or len(word) < 3:
            return 0
        self._value(QuestionValue(ValueKind.TEXT, word[1:-1], self._hits(folded(word[1:-1]))))
        return 1

    def _hits(self, words: tuple[str, ...]) -> tuple[ValueHit, ...]:
        return tuple(self._find(words)) if 0 < len(words) <= _MOST_VALUE_WORDS else ()

    def _known_value(self, at: int) -> int:
        """A value of the database, the longest that begins here; a single number stays a number."""
        for count in range(min(_MOST_VALUE_WORDS, len(self.words) - at), 0, -1):
            words = tuple(self._low[at : at + count])
            if count == 1 and (words[0] in STOP or len(words[0]) < 2 or words[0][0].isdigit()):
                return 0
            hits: Sequence[ValueHit] = self._find(words)
            stems = tuple(self._stems[at : at + count])
            if hits and stems not in self.names.columns and stems not in self.names.tables:
                self._value(QuestionValue(ValueKind.TEXT, " ".join(self.words[at : at + count]), tuple(hits)))
                return count
        return 0

    def _literal(self, at: int) -> int:
        found = None if self._stems[at] in self.names.words else literal_at(self._low, at)
        if found is None:
            return 0
        value, used = found
        value = value._replace(hits=self._hits((self._low[at],)) if used == 1 else ())
        self._value(value, self.names.years if value.kind is ValueKind.YEAR else ())
        return used

    def _name(self, at: int) -> int:
        """The longest name of a column or a table that begins here."""
        for count in range(min(_MOST_NAME_WORDS, len(self.words) - at), 0, -1):
            stems = tuple(self._stems[at : at + count])
            columns, tables = self.names.columns.get(stems, ()), self.names.tables.get(stems, ())
            if count == 1 and self._low[at] in STOP and self._low[at] not in (*_NAMES, "id"):
                columns = ()
            if columns or tables:
                words = " ".join(map(spoken, self._low[at : at + count]))
                self.pieces.append(Piece(words, exact=columns, tables=tables))
                return count
        return 0

    def _proper(self, at: int) -> int:
        """A text value that is not quoted: capitalised words, or the word after "contains"."""
        word, low = self.words[at], self._low[at]
        if low in STOP or not word[0].isalpha():
            return 0
        capital = word[0].isupper() and at > 0 and self._stems[at] not in self.names.words
        if not capital and not self._expects_text:
            return 0
        end = at + 1
        while (
            capital
            and end < len(self.words)
            and self.words[end][0].isupper()
            and not self._find((self._low[end],))
        ):
            end += 1
        self._value(QuestionValue(ValueKind.TEXT, " ".join(self.words[at:end])))
        return end - at

    def _word(self, at: int) -> None:
        low = self._low[at]
        parts = () if low in STOP and low not in _NAMES else self.names.parts.get(self._stems[at], ())
        self.pieces.append(Piece(spoken(low), partial=(*parts, *self.names.described_by(low))))
        self._expects_text = low in TRIGGERS or (self._expects_text and low in AFTER_TRIGGER)


def _preferred(schema: Schema, pieces: list[Piece]) -> tuple[Piece, ...]:
    """Of several columns keep those of the tables that the question names, where there are any."""
    mentioned = {at for piece in pieces for at in piece.tables}

    def kept(columns: Positions) -> Positions:
        chosen = tuple(at for at in dict.fromkeys(columns) if schema.table_of[at] in mentioned)
        return chosen or tuple(dict.fromkeys(columns))

    return tuple(
        piece._replace(exact=kept(piece.exact), partial=kept(piece.partial))
        if piece.exact or piece.partial
        else piece
        for piece in pieces
    )
