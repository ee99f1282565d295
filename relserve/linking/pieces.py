"""What the linker makes of a question, and the choice between columns of one name."""

from __future__ import annotations

from typing import NamedTuple

from relserve.linking.joins import steps
from relserve.linking.literals import QuestionValue
from relserve.linking.names import AdjectiveColumns, Positions
from relserve.linking.schema import Schema

_NEAR = 5  # pieces from "name" to "brewery" in "name of the oldest known brewery"


class QuestionPiece(NamedTuple):
    """Some words of a question, or a value of it, with positions of what they may mean.

    `sign` is the word of the answer that they come to; `described` are the meanings of an adjective; `said`
    is what the question has there, and `words` how the model reads it.
    """

    words: str
    value: int | None = None
    sign: str = ""
    exact: Positions = ()
    tables: Positions = ()
    partial: Positions = ()
    holders: Positions = ()
    described: tuple[AdjectiveColumns, ...] = ()
    said: str = ""


class Linked(NamedTuple):
    """A question, read."""

    pieces: tuple[QuestionPiece, ...]
    values: tuple[QuestionValue, ...]

    def named(self, schema: Schema) -> frozenset[int]:
        """Positions of the tables that any of its words may mean, or whose columns or values it may mean."""
        columns = [
            at
            for piece in self.pieces
            for group in (piece.exact, piece.partial, piece.holders, *(d.columns for d in piece.described))
            for at in group
        ]
        tables = (at for piece in self.pieces for at in piece.tables)
        return frozenset((*tables, *(schema.table_of[at] for at in columns)))


def settle(schema: Schema, pieces: list[QuestionPiece]) -> tuple[QuestionPiece, ...]:
    """Choose between columns of several tables: of the table named near, else one named, else a neighbour."""
    named = {at for piece in pieces for at in piece.tables}
    held = {schema.table_of[at] for piece in pieces for at in piece.holders if len(piece.holders) == 1}
    near_by = {end for step in steps(schema) for end in step[:2] if named & set(step[:2])}
    wishes = [named, near_by, held]
    spoken_of = {at for piece in pieces for at in piece.exact}
    return tuple(
        _settled(schema, piece, [_following(pieces, at), *wishes])
        if piece.exact or piece.partial or piece.described
        else piece._replace(holders=_holding(schema, piece.holders, spoken_of, named))
        if len(piece.holders) > 1
        else piece
        for at, piece in enumerate(pieces)
    )


def _holding(schema: Schema, holders: Positions, spoken_of: set[int], named: set[int]) -> Positions:
    """Of the columns that hold a value those that the question names, else those of its tables, or all."""
    kept = tuple(at for at in holders if at in spoken_of)
    return kept or tuple(at for at in holders if schema.table_of[at] in named) or holders


def _following(pieces: list[QuestionPiece], at: int) -> set[int]:
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


def _settled(schema: Schema, piece: QuestionPiece, wishes: list[set[int]]) -> QuestionPiece:
    described = {at for meaning in piece.described for at in meaning.columns}
    kept = _chosen(schema, described.union(piece.exact, piece.partial), wishes)
    partial = [at for at in piece.partial if at in kept and at not in piece.exact]
    best = next((meaning for meaning in piece.described if kept & set(meaning.columns)), None)
    if best is not None:
        partial += [at for at in best.columns if at in kept]
        piece = piece._replace(sign=best.sign or piece.sign)
    exact = tuple(at for at in piece.exact if at in kept)
    partial = [] if exact else partial
    return piece._replace(exact=exact, partial=tuple(dict.fromkeys(partial)), described=())


def _chosen(schema: Schema, columns: set[int], wishes: list[set[int]]) -> set[int]:
    """The columns of the first tables wished for that have some, or all of them."""
    for tables in wishes:
        kept = {at for at in columns if schema.table_of[at] in tables}
        if kept:
            return kept
    return columns
