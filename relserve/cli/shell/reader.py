"""From lines to what is to be done: statements, each ended by `;`, and dot commands on lines of their own."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from relserve.cli.shell.lexer import TokenKind, tokens


class ShellPiece(NamedTuple):
    """A statement or a dot command, and the line (1 for the first) at which it begins."""

    text: str
    line: int
    is_command: bool


class Reader:
    """Takes lines one by one and gives what they complete."""

    def __init__(self) -> None:
        self._text = ""  # of the statement that is not complete yet
        self._scanned = 0  # so much of it holds no end of a statement
        self._num_lines = 0
        self._start: int | None = None  # the line of its first token; None: there is none yet

    def feed(self, line: str) -> Iterator[ShellPiece]:
        """What a line, with its line break, completes."""
        self._num_lines += 1
        if self._start is None and not self._is_open() and line.lstrip().startswith("."):
            self._clear("")
            yield ShellPiece(line.strip(), self._num_lines, True)
            return
        self._text += line
        while (end := self._to_end_of_statement()) is not None:
            if self._start is not None:
                yield ShellPiece(self._text[:end].strip(), self._start, False)
            self._clear(self._text[end:])

    def rest(self) -> ShellPiece | None:
        """What has begun and was not completed; None for nothing but white space and comments."""
        is_blank = self._start is None and not self._is_open()
        return None if is_blank else ShellPiece(self._text.strip(), self._start or self._num_lines, False)

    def _is_open(self) -> bool:
        return self._scanned < len(self._text)

    def _to_end_of_statement(self) -> int | None:
        """Where the first statement ends, its `;` included; None where it goes on."""
        for token in tokens(self._text, self._scanned):
            if token.kind is TokenKind.open:
                break
            self._scanned = token.end
            if token.text == ";":
                return token.end
            if token.kind is not TokenKind.blank and self._start is None:
                self._start = self._line_of(token.start)
        return None

    def _line_of(self, position: int) -> int:
        num_after = self._text.count("\n", position)
        return self._num_lines - num_after + self._text.endswith("\n")

    def _clear(self, text: str) -> None:
        self._text, self._scanned, self._start = text, 0, None


def pieces(text: str) -> Iterator[ShellPiece]:
    """All of a text; a last statement needs no `;`."""
    reader = Reader()
    for line in io.StringIO(text):
        yield from reader.feed(line)
    if (rest := reader.rest()) is not None:
        yield rest


def is_complete(text: str) -> bool:
    """Whether nothing in a text waits for its end."""
    reader = Reader()
    for line in io.StringIO(text):
        deque(reader.feed(line), maxlen=0)
    return reader.rest() is None
