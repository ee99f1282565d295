"""The prompt of a model that points: it reads handles and answers with handles; code does the rest."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import NamedTuple

from relserve.linking.dates import MONTHS, AmbiguousDateError
from relserve.linking.grammar import grammar_text
from relserve.linking.handles import MAX_COLUMNS, MAX_TABLES, MAX_VALUES, Handles, TooLargeError, assign
from relserve.linking.linker import link
from relserve.linking.literals import QuestionValue, ValueKind
from relserve.linking.names import Positions, schema_names
from relserve.linking.pieces import Linked, QuestionPiece
from relserve.linking.plain_words import POLITE
from relserve.linking.schema import Column, ColumnKind, Schema
from relserve.linking.sql import AnswerWriter, PointerError
from relserve.linking.unlinked import schema_words
from relserve.linking.values import ValueIndex
from relserve.linking.words import folded, identifier_words, spoken, stem

ANSWER_WORDS = tuple(
    "select * from join where and or group by having order desc limit 1 count sum avg min max distinct year "
    "contains between is not null true false ( ) , = != > < >= <=".split()
)
HANDLES = tuple(
    f"{letter}{number}"
    for letter, most in (("c", MAX_COLUMNS), ("t", MAX_TABLES), ("v", MAX_VALUES))
    for number in range(most)
)
_DAYS_IN_PASSING = ("today", "tomorrow")  # "can I have the list today"
_BEFORE_MONTHS = frozenset("in since before after until during from of for by between".split())
_RANKS = frozenset("second third fourth fifth sixth seventh eighth ninth tenth 2nd 3rd 4th 5th".split())
MARKS = (
    *(f"<{kind}>" for kind in ValueKind),
    *(kind.value for kind in ColumnKind),
    *"+s @ = ~ # => > ? : ; , * ! asc 's".split(),
)


class ColumnMention(NamedTuple):
    """A word of the question that names columns and no table."""

    said: str
    columns: Positions


class PointerPrompt(NamedTuple):
    """A prompt and what its answer stands for.

    Attributes:
        named: positions of the tables that it may be about.
        spoken_of: columns that the question names.
    """

    text: str
    schema: Schema
    handles: Handles
    values: tuple[QuestionValue, ...]
    named: frozenset[int] = frozenset()
    spoken_of: tuple[ColumnMention, ...] = ()

    @property
    def grammar(self) -> str:
        """EBNF of the answers, made when it is asked for: training does without."""
        return grammar_text(self.schema, self.handles, self.values, self.named)


def pointer_prompt(
    schema: Schema,
    question: str,
    values: ValueIndex,
    shuffle: Random | None = None,
    drop: float = 0.0,
    today: date | None = None,
) -> PointerPrompt:
    """Link a question to a schema. `shuffle` mixes the handles and drops a share of the marks.

    "Last month" is told from `today`, by default this very day.

    Raises PointerError where the schema or the question is too large for the handles.
    """
    linked = linked_question(schema, question, values, today)
    handles = schema_handles(schema, shuffle)
    text = f"{schema_text(schema, handles)} ? {question_text(linked, handles, shuffle, drop)} =>"
    named, spoken_of = linked.named(schema), _spoken_of(schema, linked)
    return PointerPrompt(text, schema, handles, linked.values, named, spoken_of)


def _spoken_of(schema: Schema, linked: Linked) -> tuple[ColumnMention, ...]:
    """Those named in full, and truths whose name a word is a part of: "angry" of `is_angry`.

    Counted texts are not among them: "how many messages" are rows; "how many stars" may be their sum.
    """
    found = []
    for before, piece in pairwise((QuestionPiece(""), *linked.pieces)):
        columns = piece.exact or piece.partial
        is_other = piece.tables or piece.value is not None or stem(piece.said.casefold()) in POLITE
        is_truth = bool(columns) and _are_of(ColumnKind.BOOL, columns, schema)
        is_counted = before.sign == "count" and _are_of(ColumnKind.TEXT, columns, schema)
        if not is_other and (is_truth or (piece.exact and not is_counted)):
            found.append(ColumnMention(piece.said, columns))
    return tuple(found)


def linked_question(schema: Schema, question: str, values: ValueIndex, today: date | None = None) -> Linked:
    """Read a question once, for any number of shuffles. Raises PointerError."""
    today = today or date.today()
    try:
        linked = link(schema, question, values, today)
    except AmbiguousDateError as error:
        raise PointerError(f"{error}: write one of these") from error
    rank = next(filter(_is_rank, pairwise(linked.pieces)), None)
    if rank is not None:
        message = " ".join(piece.words for piece in rank)
        raise PointerError(f'"{message}" asks for one place of a ranking: ask for the top ones and count')
    if any(column.kind is ColumnKind.DATE for _, column in schema.columns):
        for before, piece in pairwise(linked.pieces):
            if before.said.casefold() in _BEFORE_MONTHS and _is_bare_month(piece, linked):
                month = piece.said
                raise PointerError(f'"{month}" is a month of which year? Write "{month} {today:%Y}"')
    if len(linked.values) > MAX_VALUES:
        raise PointerError(f"the question names {len(linked.values)} values, a prompt holds {MAX_VALUES}")
    return linked


def _is_rank(pair: tuple[QuestionPiece, QuestionPiece]) -> bool:
    """Whether two pieces are "second longest": no answer has a word for it."""
    return pair[0].words in _RANKS and pair[1].sign in ("max", "min")


def _is_bare_month(piece: QuestionPiece, linked: Linked) -> bool:
    """Whether a piece is "April" without a year: no day of a column is compared with that."""
    if piece.said.casefold() not in MONTHS or piece.exact or piece.partial or piece.holders:
        return False
    if piece.value is None:
        return True
    value = linked.values[piece.value]
    return value.kind is ValueKind.TEXT and not value.hits


def schema_handles(schema: Schema, shuffle: Random | None = None) -> Handles:
    """Hand out handles. Raises PointerError."""
    try:
        return assign(schema, shuffle)
    except TooLargeError as error:
        raise PointerError(str(error)) from error


def sql_of(answer: str, prompt: PointerPrompt) -> str:
    """Write the DuckDB SQL of an answer. Raises PointerError."""
    return AnswerWriter(answer, prompt.schema, prompt.handles, prompt.values).statement()


def values_left_out(answer: str, prompt: PointerPrompt) -> tuple[str, ...]:
    """The values of the question that an answer does not use."""
    words = set(answer.split())
    used = {value.text.casefold() for at, value in enumerate(prompt.values) if f"v{at}" in words}
    return tuple(
        value.text
        for value in prompt.values
        if value.text.casefold() not in used and _is_meant(value, prompt.schema)
    )


def columns_left_out(answer: str, prompt: PointerPrompt) -> tuple[ColumnMention, ...]:
    """The columns of the question that an answer does not use.

    "select *" uses all but truths: "the angry orders" are not all of them.
    """
    words = answer.split()
    used = {prompt.handles.column(word) for word in words}
    shows_all = words[:2] == ["select", "*"]
    return tuple(
        each
        for each in prompt.spoken_of
        if used.isdisjoint(each.columns)
        if not shows_all or _are_of(ColumnKind.BOOL, each.columns, prompt.schema)
    )


def _are_of(kind: ColumnKind, columns: Positions, schema: Schema) -> bool:
    return all(schema.columns[at][1].kind is kind for at in columns)


def _is_meant(value: QuestionValue, schema: Schema) -> bool:
    """Whether what was read as a value is surely one: a number, a date, a name, no word of the schema."""
    if value.kind is not ValueKind.TEXT:
        return value.text.casefold() not in _DAYS_IN_PASSING
    if not value.hits:  # the letters of "from Z to A" are no name
        return len(value.text) > 1 and value.text[0].isupper()
    return not schema_words(schema).issuperset(map(stem, folded(value.text)))


__all__ = [
    "ANSWER_WORDS",
    "HANDLES",
    "MARKS",
    "ColumnMention",
    "PointerError",
    "PointerPrompt",
    "columns_left_out",
    "linked_question",
    "pointer_prompt",
    "question_text",
    "schema_handles",
    "schema_text",
    "sql_of",
    "values_left_out",
]


def schema_text(schema: Schema, handles: Handles) -> str:
    """The tables with their columns: "beer +s t0 : name c1 text , style c3 text > t1 ; ..."."""
    columns = iter(_column_texts(schema, handles))
    return " ; ".join(
        f"{_spoken(table.name)} {handles.tables[at]} : " + " , ".join(next(columns) for _ in table.columns)
        for at, table in enumerate(schema.tables)
    )


def _column_texts(schema: Schema, handles: Handles) -> Iterator[str]:
    """Each column: words, handle, kind, "*" for a key, "!" for what names a row, "> t1" for a reference."""
    naming = schema_names(schema).naming
    for at, ((table, column), handle) in enumerate(zip(schema.columns, handles.columns, strict=True)):
        mark = " *" if column.name in table.key else " !" if at in naming else ""
        target = _target(schema, handles, column)
        yield f"{_spoken(column.name)} {handle} {column.kind.value}{mark}{target}"


def _target(schema: Schema, handles: Handles, column: Column) -> str:
    if column.references is None or not schema.has(column.references.table):
        return ""
    return f" > {handles.tables[schema.position(column.references.table)]}"


@lru_cache(100_000)
def _spoken(name: str) -> str:
    return " ".join(map(spoken, identifier_words(name)))


def question_text(linked: Linked, handles: Handles, shuffle: Random | None = None, drop: float = 0.0) -> str:
    """The question with its marks: "average abv = c4 of <str> v0 @ c3 beer +s # t0"."""
    return " ".join(
        _marked(piece, handles, shuffle is not None and shuffle.random() < drop) for piece in linked.pieces
    )


def _marked(piece: QuestionPiece, handles: Handles, dropped: bool) -> str:
    if piece.value is not None:
        text = f"{piece.words} v{piece.value}"
    elif dropped:
        return piece.words
    else:
        text = f"{piece.words} {piece.sign}" if piece.sign else piece.words
    return (
        text
        + _listed("@", handles.columns, piece.holders[:4])
        + _listed("=", handles.columns, piece.exact[:5])
        + _listed("~", handles.columns, piece.partial[:5])
        + _listed("#", handles.tables, piece.tables[:3])
    )


def _listed(mark: str, handles: tuple[str, ...], positions: Positions) -> str:
    return f" {mark} {' '.join([handles[at] for at in positions])}" if positions else ""
