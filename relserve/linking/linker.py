"""Finds a schema's columns, tables and values in a question."""

from __future__ import annotations

from datetime import date

from relserve.linking.adjectives import MEANINGS, QUESTION_WORDS
from relserve.linking.dates import MONTHS
from relserve.linking.lexicon import (
    AFTER_TRIGGER,
    HOLDING,
    LEADING,
    NEGATIONS,
    NEVER_NAMES,
    NUMBER_WORDS,
    STOP,
    TRIGGERS,
)
from relserve.linking.literals import QuestionValue, ValueKind, literal_at, quoted_text
from relserve.linking.names import Positions, SchemaNames, schema_names
from relserve.linking.nations import NATIONS
from relserve.linking.phrases import AFTER_A_VALUE, ANYWHERE, BEFORE_A_VALUE, UNTIL
from relserve.linking.pieces import Linked, QuestionPiece, settle
from relserve.linking.schema import Schema
from relserve.linking.values import ValueHit, ValueIndex
from relserve.linking.words import folded, plural, root, spoken, stem, tokens

_MOST_VALUE_WORDS = 8
_SHORTEST_CODE = 4  # digits of a number that may be a text of the database: 10115, not 3
_QUOTES = "\"'“‘"
_BEFORE_NUMBERS = frozenset("$ € £ ¥ the a an of year".split())
_FIRST_WORDS = 2
_MOST_NEGATED_WORDS = 4
_MOST_OTHER_WORDS = 3
_NEGATIVE_PREFIXES = ("un", "non", "in", "dis", "im")


def link(schema: Schema, question: str, index: ValueIndex, today: date) -> Linked:
    """Mark a question's words. Independent of handles, so one reading serves every shuffle."""
    reader = _Reader(schema, question, index, today)
    at = 0
    while at < len(reader.words):
        used = reader.read(at)
        said = " ".join(reader.words[at : at + used])
        reader.pieces[-1] = reader.pieces[-1]._replace(said=said)  # each reading adds one piece
        at += used
    return Linked(settle(schema, reader.pieces), tuple(reader.values))


class _Reader:
    def __init__(self, schema: Schema, question: str, index: ValueIndex, today: date):
        self.names: SchemaNames = schema_names(schema)
        self.words = tokens(question)
        self.pieces: list[QuestionPiece] = []
        self.values: list[QuestionValue] = []
        self._low = [word.casefold() for word in self.words]
        self._stems = [stem(word) for word in self._low]
        self._find = index.find
        self._schema = schema
        self._today = today
        self._expects_text = False
        self._has_case = not question.isupper()

    def read(self, at: int) -> int:
        """Read from token `at` and return how many tokens were read."""
        for reading in (
            self._quoted,
            self._known_value,
            self._literal,
            self._phrase,
            self._other_value,
            self._proper,
        ):
            used = reading(at)
            if used:
                self._expects_text = reading == self._phrase and self._continues_text(at + used - 1)
                return used
        self._word(at)
        return 1

    def _continues_text(self, at: int) -> bool:
        """Whether the next word is a text, as after "contains" and "the word"."""
        low = self._low[at]
        return low in TRIGGERS or (self._expects_text and low in AFTER_TRIGGER)

    # Values

    def _value(self, value: QuestionValue, marked: Positions = ()) -> None:
        places = (self._schema.place(hit.table, hit.column) for hit in value.hits)
        holders = tuple(dict.fromkeys(at for at in places if at is not None))
        self.pieces.append(
            QuestionPiece(f"<{value.kind}>", len(self.values), partial=marked, holders=holders)
        )
        self.values.append(value)

    def _text(self, at: int, end: int, hits: tuple[ValueHit, ...] = ()) -> int:
        self._value(QuestionValue(ValueKind.TEXT, " ".join(self.words[at:end]), hits))
        return end - at

    def _hits(self, words: tuple[str, ...]) -> tuple[ValueHit, ...]:
        return tuple(self._find(words)) if 0 < len(words) <= _MOST_VALUE_WORDS else ()

    def _quoted(self, at: int) -> int:
        word = self.words[at]
        if word[0] not in _QUOTES or len(word) < 3:
            return 0
        text = word[1:-1].replace("''", "'")
        self._value(quoted_text(text, self._hits(folded(text))))
        return 1

    def _known_value(self, at: int) -> int:
        """A value of the database, the longest that begins here; a single number stays a number."""
        for count in range(min(_MOST_VALUE_WORDS, len(self.words) - at), 0, -1):
            words = tuple(self._low[at : at + count])
            if count == 1 and (words[0] in STOP or len(words[0]) < 2 or words[0][0].isdigit()):
                return 0
            hits = self._hits(words)
            if hits and not self._is_name(at, count):
                return self._text(at, at + count, hits)
        return 0

    def _is_name(self, at: int, count: int) -> bool:
        stems = tuple(self._stems[at : at + count])
        return stems in self.names.columns or stems in self.names.tables

    def _literal(self, at: int) -> int:
        found = None if self._stems[at] in self.names.words else literal_at(self._low, at, self._today)
        if found is None:
            return 0
        value, used = found
        if used == 1 and len(value.text) >= _SHORTEST_CODE and value.kind is not ValueKind.DATE:
            value = value._replace(hits=self._hits((self._low[at],)))
        self._value(value, self.names.years if value.kind is ValueKind.YEAR else ())
        return used

    def _is_literal(self, at: int) -> bool:
        if not 0 <= at < len(self._low):
            return False
        word = self._low[at].lstrip("-")
        return word[:1].isdigit() or word in NUMBER_WORDS or word in MONTHS or word == "one"

    def _other_value(self, at: int) -> int:
        """A value in another form: comedies for Comedy, French for France."""
        count, hits = self._other_hits(at)
        return self._text(at, at + count, hits) if hits else 0

    def _other_hits(self, at: int) -> tuple[int, tuple[ValueHit, ...]]:
        if self._low[at] in STOP or not self.words[at][0].isalpha() or self._stems[at] in self.names.parts:
            return 0, ()
        for count in range(min(_MOST_OTHER_WORDS, len(self.words) - at), 0, -1):
            *first, last = self._low[at : at + count]
            forms = [(*first, stem(last)), (*first, plural(last))] if len(last) > 3 else []
            for words in (*forms, *NATIONS.get((*first, last), ())) if last not in STOP else ():
                if hits := self._hits(words):
                    return count, hits
        return 0, ()

    def _proper(self, at: int) -> int:
        """A text value that is not quoted: capitalised words, or the word after "contains"."""
        low = self._low[at]
        if low in STOP or not self.words[at][0].isalpha():
            return 0
        starts = at == 0 or self.words[at - 1] in ".?!"
        capital = self._is_capital(at) and (
            not starts or (self._is_capital(at + 1) and not self.names.roots.get(root(self._stems[at])))
        )
        if not capital and not self._expects_text and not self._stands_inside(at):
            return 0
        end = at + 1
        while capital and self._is_capital(end) and not self._hits((self._low[end],)):
            end += 1
        return self._text(at, end)

    def _stands_inside(self, at: int) -> bool:
        """Whether a word is said to stand in a text: "with ale in the name"."""
        return at > 0 and self._low[at - 1] in HOLDING and self._at(at + 1) == "in"

    def _is_capital(self, at: int) -> bool:
        return (
            self._has_case
            and at < len(self.words)
            and self.words[at][0].isupper()
            and self._stems[at] not in self.names.words
            and self._low[at] not in STOP
        )

    # Words

    def _phrase(self, at: int) -> int:
        """The longest name, adjective or phrase from here; a name wins, with the sign of the phrase."""
        longest = self.names.longest(self._low[at], self._stems[at])
        for count in range(min(longest, len(self.words) - at), 0, -1):
            words, stems = tuple(self._low[at : at + count]), tuple(self._stems[at : at + count])
            columns, tables = self.names.named(words, stems), self.names.tables.get(stems, ())
            sign = self._sign(at, words)
            spelled = " ".join(map(spoken, words))
            if columns or tables:
                tables = tables or self._owners(stems[:1], columns)
                sign = self._truth(at, columns) or sign
                naming = self.names.parts.get("name", ()) if stems == ("name",) else ()
                self.pieces.append(
                    QuestionPiece(spelled, sign=sign, exact=columns, tables=tables, partial=naming)
                )
                return count
            described = self.names.described(words) if words in MEANINGS and self._may_ask(at) else ()
            if words[-1] == "than" and self.names.described(words[:-1]):
                continue  # "longer than" speaks of lengths: "longer" is marked alone
            if described or sign:
                parts = self.names.parts.get(stems[0], ()) if count == 1 and words[0] not in STOP else ()
                self.pieces.append(QuestionPiece(spelled, sign=sign, partial=parts, described=described))
                return count
        return 0

    def _may_ask(self, at: int) -> bool:
        """Whether a word may be a question's own: "where" only at its beginning asks for a place."""
        return self._low[at] not in QUESTION_WORDS or at < _FIRST_WORDS

    def _owners(self, stems: tuple[str, ...], columns: Positions) -> Positions:
        """The table that a column's name begins with: beer name."""
        owners = {self._schema.table_of[column] for column in columns}
        return tuple(table for table in self.names.tables.get(stems, ()) if table in owners)

    def _sign(self, at: int, words: tuple[str, ...]) -> str:
        """The word of the answer that a phrase comes to, beside a value or anywhere."""
        end = at + len(words)
        found = BEFORE_A_VALUE.get(words)
        if found and (
            self._is_literal(end) or (self._at(end) in _BEFORE_NUMBERS and self._is_literal(end + 1))
        ):
            return found
        if found == "!=" and self._value_follows(end):
            return found
        if words[0] in UNTIL and len(words) == 1 and self._is_literal(at - 1) and self._is_literal(end):
            return "between"
        found = AFTER_A_VALUE.get(words)
        if found and self._is_literal(at - 1) and not self._is_literal(end) and self._at(end) != "than":
            return found
        return ANYWHERE.get(words, "")

    def _value_follows(self, at: int) -> bool:
        """Whether a value stands here, or after a word or two that lead to it: "not made in France"."""
        for start in range(at, min(at + 4, len(self.words))):
            if self.words[start][0] in _QUOTES or self._is_literal(start) or self._is_held(start):
                return True
            led = start == at and self._at(at + 1) in ("by", "in", "from")
            if self._low[start] not in LEADING and not led:
                return False
        return False

    def _is_held(self, at: int) -> bool:
        """Whether a value of the database begins here."""
        held = self._low[at] not in STOP and any(
            self._hits(tuple(self._low[at:end])) and not self._is_name(at, end - at)
            for end in range(min(at + _MOST_NEGATED_WORDS, len(self.words)), at, -1)
        )
        return held or bool(self._other_hits(at)[0])

    def _at(self, at: int) -> str:
        return self._low[at] if at < len(self._low) else ""

    def _truth(self, at: int, columns: Positions) -> str:
        """For names of booleans: whether the question denies them."""
        if not columns or not self.names.bools.issuperset(columns):
            return ""
        return "false" if NEGATIONS.intersection(self._low[max(0, at - 3) : at]) else "true"

    def _word(self, at: int) -> None:
        """A word that is no name: parts of names, synonyms and verbs of the same root."""
        low, short = self._low[at], self._stems[at]
        names = self.names
        tables: Positions = ()
        marked = () if low in STOP and short not in ("name", "id") else names.parts.get(short, ())
        sign = self._truth(at, marked)
        if not marked and low not in STOP:
            marked, sign = self._denied(low)
        if not marked and low not in STOP:
            tables, marked = names.table_synonyms.get(short, ()), names.synonyms.get(short, ())
        if not marked and not tables and low not in NEVER_NAMES and low.isalpha():
            marked = names.roots.get(root(short), ())
        self.pieces.append(QuestionPiece(spoken(low), sign=sign, partial=marked, tables=tables))
        self._expects_text = self._continues_text(at)

    def _denied(self, low: str) -> tuple[Positions, str]:
        """Booleans that a word denies by its prefix: unpaid, inactive."""
        for prefix in _NEGATIVE_PREFIXES:
            rest = (stem(low.removeprefix(prefix)),)
            if (
                low.startswith(prefix)
                and (found := self.names.columns.get(rest))
                and self.names.bools.issuperset(found)
            ):
                return found, "false"
        return (), ""
