"""The prompt of a model that points: it reads handles and answers with handles; code does the rest."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from relserve.linking.grammar import grammar_text
from relserve.linking.handles import MAX_COLUMNS, MAX_TABLES, MAX_VALUES, Handles, TooLargeError, assign
from relserve.linking.linker import Linked, Piece, link
from relserve.linking.literals import QuestionValue, ValueKind
from relserve.linking.schema import Column, Schema
from relserve.linking.sql import AnswerWriter, PointerError
from relserve.linking.values import ValueIndex
from relserve.linking.words import identifier_words, spoken

ANSWER_WORDS = tuple(
    "select * from join where and or group by having order desc limit 1 count sum avg min max distinct year "
    "contains between is not null true false ( ) , = != > < >= <=".split()
)
HANDLES = tuple(
    f"{letter}{number}"
    for letter, most in (("c", MAX_COLUMNS), ("t", MAX_TABLES), ("v", MAX_VALUES))
    for number in range(most)
)
MARKS = (*(f"<{kind}>" for kind in ValueKind), "+s", "@", "=", "~", "#", "=>", ">", "?", ":", ";", ",")


class PointerPrompt(NamedTuple):
    """A prompt and what its answer stands for."""

    text: str
    schema: Schema
    handles: Handles
    values: tuple[QuestionValue, ...]

    @property
    def grammar(self) -> str:
        """EBNF of the answers, made when it is asked for: training does without."""
        return grammar_text(self.schema, self.handles, self.values)


def pointer_prompt(
    schema: Schema, question: str, values: ValueIndex, shuffle: Random | None = None, drop: float = 0.0
) -> PointerPrompt:
    """Link a question to a schema. `shuffle` mixes the handles and drops a share of the marks.

    Raises PointerError where the schema or the question is too large for the handles.
    """
    linked = linked_question(schema, question, values)
    handles = schema_handles(schema, shuffle)
    text = f"{schema_text(schema, handles)} ? {question_text(linked, handles, shuffle, drop)} =>"
    return PointerPrompt(text, schema, handles, linked.values)


def linked_question(schema: Schema, question: str, values: ValueIndex) -> Linked:
    """Read a question once, for any number of shuffles. Raises PointerError."""
    linked = link(schema, question, values)
    if len(linked.values) > MAX_VALUES:
        raise PointerError(f"the question names {len(linked.values)} values, a prompt holds {MAX_VALUES}")
    return linked


def schema_handles(schema: Schema, shuffle: Random | None = None) -> Handles:
    """Hand out handles. Raises PointerError."""
    try:
        return assign(schema, shuffle)
    except TooLargeError as error:
        raise PointerError(str(error)) from error


def sql_of(answer: str, prompt: PointerPrompt) -> str:
    """Write the DuckDB SQL of an answer. Raises PointerError."""
    return AnswerWriter(answer, prompt.schema, prompt.handles, prompt.values).statement()


def schema_text(schema: Schema, handles: Handles) -> str:
    """The tables with their columns: "beer +s t0 : name c1 text , style c3 text > t1 ; ..."."""
    columns = [_column_text(schema, handles, at) for at in range(len(schema.columns))]
    return " ; ".join(
        f"{_spoken(table.name)} {handles.tables[at]} : "
        + " , ".join(text for text, owner in zip(columns, schema.table_of, strict=True) if owner == at)
        for at, table in enumerate(schema.tables)
    )


def _column_text(schema: Schema, handles: Handles, at: int) -> str:
    table, column = schema.columns[at]
    key = " *" if column.name in table.key else ""
    return (
        f"{_spoken(column.name)} {handles.columns[at]} {column.kind}{key}{_target(schema, handles, column)}"
    )


def _target(schema: Schema, handles: Handles, column: Column) -> str:
    if column.references is None:
        return ""
    try:
        return f" > {handles.tables[schema.position(column.references.table)]}"
    except KeyError:
        return ""


def _spoken(name: str) -> str:
    return " ".join(map(spoken, identifier_words(name)))


def question_text(linked: Linked, handles: Handles, shuffle: Random | None = None, drop: float = 0.0) -> str:
    """The question with its marks: "average abv = c4 of <str> v0 @ c3 beer +s # t0"."""
    return " ".join(
        _marked(piece, handles, shuffle is not None and shuffle.random() < drop) for piece in linked.pieces
    )


def _marked(piece: Piece, handles: Handles, dropped: bool) -> str:
    text = piece.words if piece.value is None else f"{piece.words} v{piece.value}"
    marks = (("@", piece.holders[:4]), ("=", piece.exact[:5]), ("~", piece.partial[:5]))
    if dropped and piece.value is None:
        return text
    for mark, columns in marks:
        text += _listed(mark, (handles.columns[at] for at in columns))
    return text + _listed("#", (handles.tables[at] for at in piece.tables[:3]))


def _listed(mark: str, handles: Iterable[str]) -> str:
    found = " ".join(handles)
    return f" {mark} {found}" if found else ""
