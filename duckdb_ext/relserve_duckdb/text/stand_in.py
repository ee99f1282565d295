"""A text that runs instead of the user's, and where each of its characters comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from relserve_duckdb.text.parameters import find_parameters


class TextPiece(NamedTuple):
    """A part of a text that runs.

    Attributes:
        text: what was put in; None for what stands so in the user's text.
        start, end: where in the user's text it stands, or what it was put in for.
    """

    text: str | None
    start: int
    end: int


@dataclass(frozen=True)
class StandIn:
    """What runs instead of a user's text."""

    written: str
    pieces: tuple[TextPiece, ...]

    @property
    def text(self) -> str:
        return "".join(map(self._text_of, self.pieces))

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where in the user's text a part of `text` comes from; of what was put in, what it is for."""
        return self._origin(start)[0], self._origin(end - 1)[1]

    def then(self, other: StandIn) -> StandIn:
        """What runs instead of this one, told as what runs instead of the user's text."""
        pieces: list[TextPiece] = []
        for piece in other.pieces:
            if piece.text is None:
                pieces.extend(self._part(piece.start, piece.end))
            else:
                pieces.append(TextPiece(piece.text, *self.origin(piece.start, piece.end)))
        return StandIn(self.written, tuple(pieces))

    def _part(self, start: int, end: int) -> Iterator[TextPiece]:
        """The pieces of a part of `text`."""
        position = 0
        for piece in self.pieces:
            text = self._text_of(piece)
            first, last = max(start - position, 0), min(end - position, len(text))
            if first < last and piece.text is None:
                yield TextPiece(None, piece.start + first, piece.start + last)
            elif first < last:
                yield TextPiece(text[first:last], piece.start, piece.end)
            position += len(text)

    def _origin(self, position: int) -> tuple[int, int]:
        for piece in self.pieces:
            size = len(self._text_of(piece))
            if position < size and piece.text is None:
                return piece.start + position, piece.start + position + 1
            if position < size:
                return piece.start, piece.end
            position -= size
        return len(self.written), len(self.written)

    def _text_of(self, piece: TextPiece) -> str:
        return self.written[piece.start : piece.end] if piece.text is None else piece.text


def replaced(written: str, parts: Iterable[TextPiece]) -> StandIn:
    """A text with others in the place of some of its parts, which do not overlap."""
    pieces, done = [], 0
    for part in sorted(parts, key=lambda part: part.start):
        if done < part.start:
            pieces.append(TextPiece(None, done, part.start))
        pieces.append(part)
        done = part.end
    if done < len(written):
        pieces.append(TextPiece(None, done, len(written)))
    return StandIn(written, tuple(pieces))


def with_numbers(written: str) -> StandIn:
    """A text with `$1` for the first `?`: its parameters must keep their values when some go away."""
    marks = [place for place in find_parameters(written) if written[place.start] == "?"]
    return replaced(written, [TextPiece(f"${place.name}", place.start, place.end) for place in marks])
