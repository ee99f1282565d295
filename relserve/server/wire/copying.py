"""COPY statements between a client and a table, read from their text; those with files are DuckDB's own."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple, NoReturn

from relserve_duckdb.text.lexical import (
    COMMENT,
    DOLLARS,
    ESCAPED,
    LEAD,
    LINE_COMMENT,
    NAME,
    OPEN_COMMENT,
    STRING,
)

from relserve.errors import ProtocolError
from relserve.linking.schema import quoted
from relserve.server.wire.copy_options import ALL_COLUMNS, CopyOptions, Given, copy_options

_COPY = re.compile(rf"{LEAD}COPY\b")
_TOKEN = re.compile(
    rf"\s++|{LINE_COMMENT}|{COMMENT}|{OPEN_COMMENT}|(?P<escaped>{ESCAPED})|(?P<text>{STRING})|(?P<dollar>{DOLLARS})|(?P<quoted>{NAME})"
    r"|(?P<word>[^\W\d][\w$]*+)|(?P<number>\d[\w.]*+)|(?P<sign>.)",
    re.DOTALL,
)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_OLD_WORDS = ("as", "with", "using")


class CopyFrom(NamedTuple):
    """COPY table (columns) FROM STDIN; `table` is SQL, and no columns are all of them."""

    table: str
    columns: tuple[str, ...]
    options: CopyOptions


class CopyTo(NamedTuple):
    """COPY .. TO STDOUT; `query` is the SQL that gives the rows."""

    query: str
    options: CopyOptions


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """In lower case, if it is a bare word or a sign."""
        return self.text.lower() if self.kind in ("word", "sign") else ""

    @property
    def value(self) -> str:
        """What a name or a text stands for."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        if self.kind == "text":
            return self.text[1:-1].replace("''", "'")
        if self.kind == "dollar":
            return self.text.split("$", 2)[2].rsplit("$", 2)[0]
        if self.kind == "escaped":
            body = self.text[2:-1].replace("''", "'")
            return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), body, flags=re.DOTALL)
        return self.text.lower() if self.kind == "word" else self.text


def read_copy(sql: str) -> CopyFrom | CopyTo | None:
    """A COPY FROM STDIN or TO STDOUT; None for every other text.

    Raises:
        ProtocolError: the statement is malformed, or an option is wrong.
    """
    if not _COPY.match(sql):
        return None
    found = (_Token(each.lastgroup or "", each[0], each.start(), each.end()) for each in _TOKEN.finditer(sql))
    tokens = [
        token._replace(kind="dollar" if token.kind == "tag" else token.kind) for token in found if token.kind
    ]
    ends = [i for i, (before, token) in enumerate(pairwise(tokens), 1)
            if (before.word, token.word) in (("from", "stdin"), ("to", "stdout"))]  # fmt: skip
    return _Copy(sql, tokens).read() if ends else None


class _Copy:
    """One statement's tokens on their way to a CopyFrom or CopyTo."""

    def __init__(self, sql: str, tokens: list[_Token]) -> None:
        self._sql, self._tokens, self._at = sql, tokens, 1
        if tokens and tokens[-1].word == ";":
            tokens.pop()

    def read(self) -> CopyFrom | CopyTo | None:
        given: dict[str, Given] = {"format": "binary"} if self._takes("binary") else {}
        is_query = self._peek == "("
        source = self._in_brackets() if is_query else self._name()
        columns = self._names() if not is_query and self._peek == "(" else ()
        direction, end = self._next().word, self._next().word
        if (direction, end) not in (("from", "stdin"), ("to", "stdout")):
            return None
        if direction == "from" and is_query:
            self._wrong("rows go into a table, not into a query")
        given.update(self._options())
        options = copy_options(given)
        if direction == "from":
            return CopyFrom(source, columns, options)
        return CopyTo(source if is_query else f"SELECT {_listed(columns)} FROM {source}", options)

    @property
    def _peek(self) -> str:
        return self._tokens[self._at].word if self._at < len(self._tokens) else ""

    def _next(self) -> _Token:
        if self._at >= len(self._tokens):
            self._wrong("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _takes(self, *words: str) -> bool:
        if self._at < len(self._tokens) and self._peek in words:
            self._at += 1
            return True
        return False

    def _in_brackets(self) -> str:
        """The text between this bracket and the one that closes it."""
        start, depth = self._next().end, 1
        while depth:
            token = self._next()
            depth += {"(": 1, ")": -1}.get(token.word, 0)
        return self._sql[start : token.start].strip()

    def _name(self) -> str:
        """A table's name as it was written, with its schema."""
        first = last = self._next()
        while self._takes("."):
            last = self._next()
        return self._sql[first.start : last.end]

    def _names(self) -> tuple[str, ...]:
        """Columns in brackets."""
        self._next()
        names = [self._next().value]
        while self._takes(","):
            names.append(self._next().value)
        if not self._takes(")"):
            self._wrong("a list of columns ends with )")
        return tuple(names)

    def _options(self) -> dict[str, Given]:
        self._takes("with")
        given = self._new_options() if self._takes("(") else self._old_options()
        if self._at < len(self._tokens):
            self._wrong(f"{self._tokens[self._at].text} is not understood")
        return given

    def _new_options(self) -> dict[str, Given]:
        """(FORMAT csv, HEADER, FORCE_QUOTE (a, b))."""
        given: dict[str, Given] = {}
        while not self._takes(")"):
            name = self._next().value
            if name in given:
                self._wrong(f"option {name} is given twice")
            if self._peek in (",", ")"):
                given[name] = ""
            elif self._peek == "(":
                given[name] = self._names()
            else:
                given[name] = ALL_COLUMNS if self._peek == "*" and self._next() else self._next().value
            if self._peek != ")" and not self._takes(","):
                self._wrong("options are separated by commas")
        return given

    def _old_options(self) -> dict[str, Given]:
        """CSV HEADER DELIMITER AS ';' FORCE QUOTE a, b."""
        given: dict[str, Given] = {}
        while self._at < len(self._tokens):
            word = self._next().word
            if word in ("csv", "binary"):
                given["format"] = word
            elif word in ("header", "freeze"):
                given[word] = ""
            elif word == "force":
                name = self._forced()
                given[name] = self._old_columns()
            elif word in ("delimiter", "delimiters", "null", "quote", "escape", "encoding"):
                self._takes("as")
                given[word.removesuffix("s") if word == "delimiters" else word] = self._next().value
            elif word not in _OLD_WORDS:
                self._at -= 1
                break
        return given

    def _forced(self) -> str:
        is_not = self._takes("not")
        kind = self._next().word
        return f"force_not_{kind}" if is_not else f"force_{kind}"

    def _old_columns(self) -> tuple[str, ...]:
        if self._takes("*"):
            return ALL_COLUMNS
        names = [self._next().value]
        while self._takes(","):
            names.append(self._next().value)
        return tuple(names)

    def _wrong(self, why: str) -> NoReturn:
        raise ProtocolError(f"syntax error in COPY: {why}", "42601")


def _listed(columns: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, columns)) or "*"
