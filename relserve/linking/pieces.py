"""What the linker makes of a question, and the choice between columns of one name."""

from __future__ import annotations

from typing import NamedTuple

from relserve.linking.joins import steps
from relserve.linking.literals import QuestionValue
from relserve.linking.names import Described, Positions
from relserve.linking.schema import Schema

_NEAR = 5  # pieces from "name" to "brewery" in "name of the oldest known brewery"


class Piece(NamedTuple):
    """Some words of a question, or a value of it, with positions of what they may mean.

    `sign` is the word of the answer that they come to; `described` are the meanings of an adjective.
    """

    words: str
    value: int | None = None
    sign: str = ""
    exact: Positions = ()
    tables: Positions = ()
    partial: Positions = ()
    holders: Positions = ()
    described: tuple[Described, ...] = ()


class Linked(NamedTuple):
    """A question, read."""

    pieces: tuple[Piece, ...]
    values: tuple[QuestionValue, ...]


def settle(schema: Schema, pieces: list[Piece]) -> tuple[Piece, ...]:
    """Choose between columns of several tables: of the table named near, else one named, else a neighbour."""
    named = {at for piece in pieces for at in piece.tables}
    held = {schema.table_of[at] for piece in pieces for at in piece.holders if len(piece.holders) == 1}
    near_by = {end for step in steps(schema) for end in step[:2] if named & set(step[:2])}
    wishes = [named, near_by, held]
    return tuple(
        _settled(schema, piece, [_following(pieces, at), *wishes])
        if piece.exact or piece.partial or piece.described
        else piece
        for at, piece in enumerate(pieces)
    )


def _following(pieces: list[Piece], at: int) -> set[int]:
    """The table named after "of" (name of the brewery), or just before (the brewery's name)."""
    if at and pieces[at - 1].tables:
        return set(pieces[at - 1].tables)
    if at > 1 and pieces[at - 1].words == "'s" and pieces[at - 2].tables:
        return set(pieces[at - 2].tables)
    if at + 1 < len(pieces) and pieces[at + 1].words in ("of", "for"):
        for piece in pieces[at + 2 : at + _NEAR]:
            if piece.tables:
                return set(piece.tables)
    return set()


def _settled(schema: Schema, piece: Piece, wishes: list[set[int]]) -> Piece:
    def chosen(columns: Positions) -> Positions:
        for tables in wishes:
            kept = tuple(at for at in columns if schema.table_of[at] in tables)
            if kept:
                return kept
        return columns

    if piece.described:
        columns = {at for meaning in piece.described for at in meaning.columns}
        kept = set(chosen(tuple(sorted(columns))))
        best = next(meaning for meaning in piece.described if kept & set(meaning.columns))
        marked = [at for at in best.columns if at in kept]
        partial = tuple(dict.fromkeys([*chosen(piece.partial), *marked]))
        return piece._replace(sign=best.sign or piece.sign, partial=partial, described=())
    return piece._replace(exact=chosen(piece.exact), partial=chosen(piece.partial))
