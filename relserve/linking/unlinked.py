"""The words of a question that are linked to nothing: no table, column or value, and no known operation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import takewhile
from typing import NamedTuple

from relserve.linking.adjectives import QUESTION_WORDS
from relserve.linking.lexicon import ABBREVIATIONS, SYNONYMS
from relserve.linking.names import schema_names
from relserve.linking.nations import NATIONS
from relserve.linking.pieces import Linked, QuestionPiece
from relserve.linking.plain_words import (
    MARKING,
    OPERATIONS,
    OTHER_NAMES,
    PLAIN,
    POLITE,
    SHARES,
    UNITS,
    WEEKDAYS,
)
from relserve.linking.schema import ColumnKind, Schema
from relserve.linking.words import plural, stem

_PERSONS = ("who", "whom")
_AFTER_PLACE_OR_TIME = frozenset("is are was were do does did has have had can".split())
_NAMING_AFTER_ORDER = ("number", "id", "code", "no")  # "order number" means no order of rows
_AFTER_REQUESTS = ("me", "us", "them", "it", "you", "down", "now")  # thank you, tell me, right now
_BEFORE_REQUESTS = ("i", "you", "we", "to", "can", "my", "please", "don't")  # I want, for my report
_THANKS = ("thank", "thx")
_BEFORE_NOUNS = frozenset("which what the of that are is were was any all each every per by as for".split())
_NEAR = 3  # pieces from "flagged" to what it is flagged as
_AFTER_ORDERING = ("by", "of", "them", "it", "the", "all", "from")
_BEFORE_ORDERING = ("and", "alphabetical", "reverse", "then", "to", "please", "you", "can", "any", "no")
_ORDERS = ("asc", "desc", "order by")
_BEFORE_SHARES = ("a", "the", "which", "what", "as", "in")  # else it is a verb: cuisines that lawyers share
_OF_DATES = frozenset("date recently year".split())  # no answer has a word for each month
_ENDINGS = ("ed", "ing", "ly")
_SHORTEST = 3  # letters of a word that can mean something
_SHORTEST_MISTYPED = 5  # letters of a word that may be a known one with a slip
_SHORTEST_BEGINNING = 4  # that two forms of a word share
_ALIKE = 0.75  # of the letters of two words that begin alike: expire, expiry


Pieces = tuple[QuestionPiece, ...]


class UnlinkedWord(NamedTuple):
    """A word, or several beside each other, that the schema knows nothing of.

    Attributes:
        at, end: positions of its first piece, and behind its last.
        text: as the question has it.
    """

    at: int
    end: int
    text: str


def unlinked_words(schema: Schema, linked: Linked) -> tuple[UnlinkedWord, ...]:
    """What a question speaks of that is neither in the schema nor an operation, in its order."""
    found: list[UnlinkedWord] = []
    for at in _positions(schema, linked):
        said = linked.pieces[at].said
        if found and found[-1].end == at:
            found[-1] = UnlinkedWord(found[-1].at, at + 1, f"{found[-1].text} {said}")
        else:
            found.append(UnlinkedWord(at, at + 1, said))
    return tuple(found)


def _positions(schema: Schema, linked: Linked) -> Iterator[int]:
    for at, piece in enumerate(linked.pieces):
        if piece.value is not None:
            is_loose = _is_no_value(linked, at)
        else:
            is_loose = not _is_linked(piece) and _means_something(schema, linked.pieces, at)
        if is_loose:
            yield at


def _is_no_value(linked: Linked, at: int) -> bool:
    """Whether what looks like a value is a day of the week, or a language that is taken for its nation."""
    low, hits = _low(linked.pieces, at), linked.values[linked.pieces[at].value or 0].hits
    if not hits:
        return stem(low) in WEEKDAYS
    is_language = at > 0 and _low(linked.pieces, at - 1) == "in" and (low,) in NATIONS
    return is_language and all(hit.value.casefold() != low for hit in hits)


def _is_linked(piece: QuestionPiece) -> bool:
    return bool(
        piece.sign or piece.exact or piece.partial or piece.tables or piece.holders or piece.described
    )


def _means_something(schema: Schema, pieces: Pieces, at: int) -> bool:
    """Whether a piece without any mark is one that an answer would need."""
    low, short = _low(pieces, at), stem(_low(pieces, at))
    if low in QUESTION_WORDS:
        return at == 0 and (low in _PERSONS or _low(pieces, 1) in _AFTER_PLACE_OR_TIME)
    if short == "order":
        return _is_thing(pieces, at)
    if short == "name" and at and _is_named(pieces[at - 1]):
        return False
    end = at + 2 + (_low(pieces, at + 1) == "of")  # "month of March 2025"
    if short in UNITS and any(piece.value is not None for piece in pieces[max(0, at - 1) : end]):
        return False
    if short in SHARES:
        return at == 0 or _low(pieces, at + 1) == "of" or _low(pieces, at - 1) in _BEFORE_SHARES
    dates = {column.sql_type.upper() for _, column in schema.columns if column.kind is ColumnKind.DATE}
    if (short in _OF_DATES and dates) or (short == "day" and "DATE" in dates):
        return False
    if at > 1 and (_low(pieces, at - 2), _low(pieces, at - 1)) == ("do", "we"):  # the brands that we have
        return False
    if low == "part":
        return _low(pieces, at + 1) != "of"
    if short in POLITE:
        return not _is_request(pieces, at)
    if low in MARKING:
        columns = any(piece.exact or piece.partial for piece in pieces[max(0, at - _NEAR) : at])
        return not columns and not any(map(_is_named, pieces[at + 1 : at + 1 + _NEAR]))
    known = schema_words(schema)
    return low.isalpha() and not (
        low in known or _is_plain(low) or _is_another_name(short, known) or _is_near(short, known)
    )


def _is_thing(pieces: Pieces, at: int) -> bool:
    """Whether "order" is something that was ordered, and no order of rows: "orders", "the order value"."""
    after = _low(pieces, at + 1).partition(" ")[0]
    if _low(pieces, at) == "orders" or stem(after) in _NAMING_AFTER_ORDER:
        return True
    before = [_low(pieces, each) for each in range(max(0, at - _NEAR), at)]
    if not before or after in _AFTER_ORDERING or "in" in before or pieces[at - 1].sign in _ORDERS:
        return False
    return before[-1][:1].isalpha() and before[-1] not in _BEFORE_ORDERING


def _is_request(pieces: Pieces, at: int) -> bool:
    """Whether a word asks for the answer: beside "I" or a sign, or before all names and no noun there."""
    before, after = _low(pieces, at - 1) if at else "", _low(pieces, at + 1)
    said = any(piece.value is not None for piece in pieces[at + 1 : at + 3])  # they say "chest"
    if after in _AFTER_REQUESTS or before in _BEFORE_REQUESTS or said:
        return True
    is_noun = before in _BEFORE_NOUNS or (at > 0 and pieces[at - 1].sign == "count")
    is_thanks = stem(_low(pieces, at)) in _THANKS and not after[:1].isalpha()
    is_set_off = at > 0 and not before[:1].isalnum()
    return not is_noun and (is_thanks or is_set_off or not any(map(_is_named, pieces[:at])))


def _is_named(piece: QuestionPiece) -> bool:
    """Whether a piece is a name of the schema, or a value."""
    return bool(piece.value is not None or piece.exact or piece.partial or piece.tables)


def _low(pieces: Pieces, at: int) -> str:
    return pieces[at].said.casefold() if at < len(pieces) else ""


def _is_plain(low: str) -> bool:
    """Whether a word is one that questions have whatever they are about, a slip of a letter allowed."""
    bases = [low.removesuffix(end) for end in _ENDINGS if low.endswith(end)]
    forms = [low, stem(low), *bases, *(f"{base}e" for base in bases), *(base[:-1] for base in bases)]
    return (
        len(stem(low)) < _SHORTEST or any(form in PLAIN for form in forms) or _is_mistyped(low, _long_words())
    )


def _is_another_name(short: str, known: frozenset[str]) -> bool:
    """Whether a word is short for a name of the schema, or a synonym."""
    others = (
        ABBREVIATIONS.get(short, ""),
        *OTHER_NAMES.get(short, ()),
        *SYNONYMS.get(short, ()),
        *SYNONYMS.get(f"{short}s", ()),
    )
    return not known.isdisjoint(others) or any(ABBREVIATIONS.get(each) == short for each in known)


@lru_cache(256)
def schema_words(schema: Schema) -> frozenset[str]:
    """The words of all names of a schema, of one and of many."""
    names = schema_names(schema)
    words = names.words.union(*names.tables)
    return frozenset(words | set(map(plural, words)))


def _is_near(word: str, known: frozenset[str]) -> bool:
    """Whether a word is one of some others but for a slip, or begins as one of them does."""
    return _is_mistyped(word, known) or any(_begin_alike(word, other) for other in known)


def _begin_alike(word: str, other: str) -> bool:
    """Whether two words are forms of one: expire and expiry, brew and brewery."""
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    most = _ALIKE * max(len(word), len(other))
    return alike >= _SHORTEST_BEGINNING and (alike == len(word) or alike >= most)


def _is_mistyped(word: str, known: frozenset[str]) -> bool:
    """Whether a word is one of some others with a letter too many, one too few, or two changed about."""
    if len(word) < _SHORTEST_MISTYPED:
        return False
    turned = (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1))
    return not known.isdisjoint((*_shorter(word), *turned)) or word in _all_shorter(known)


@lru_cache(64)
def _all_shorter(known: frozenset[str]) -> frozenset[str]:
    return frozenset(each for word in known if len(word) > _SHORTEST_MISTYPED for each in _shorter(word))


@cache
def _long_words() -> frozenset[str]:
    return frozenset(word for word in PLAIN | OPERATIONS if len(word) >= _SHORTEST_MISTYPED)


def _shorter(word: str) -> list[str]:
    """What is left of a word without one of its letters."""
    return [word[:at] + word[at + 1 :] for at in range(len(word))]
