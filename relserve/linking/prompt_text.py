"""How a schema and a question read, as the model is given them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from random import Random

from relserve.linking.handles import Handles
from relserve.linking.names import Positions, schema_names
from relserve.linking.pieces import Linked, QuestionPiece
from relserve.linking.schema import Column, Schema
from relserve.linking.words import identifier_words, spoken


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
