"""The words of an SQL text as DuckDB reads them: comments and strings are none.

DuckDB's tokenizer and its parser cut a text with the same code, but the parser first puts plain spaces for
Unicode's. So where no such character stands outside of quotes and comments, both read the same; a text with
one there is refused (`plain` puts plain ones before).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import duckdb
from duckdb import token_type as Kind

from relserve.errors import ForbiddenError

_QUOTED = re.compile(r'"(?:[^"]++|"")*+"|`(?:[^`]++|``)*+`')
_STRING = re.compile(r"'((?:[^']++|'')*+)'")
_TAG = re.compile(r"\$[A-Za-z0-9_]*\$")
_BLANKS = frozenset(" \t\n\v\f\r")  # DuckDB's own
_UNSEEN = frozenset(["Zs", "Zl", "Zp", "Cc", "Cf"])  # other blanks, and what steers how characters are shown


class Word(NamedTuple):
    """One word of a text.

    Attributes:
        name: a keyword or identifier, in lower case and without quotes; of anything else its first letter.
        is_name: whether it is a keyword or identifier.
        start: its place in the text, as UTF-8 counts.
        held: what a string between plain quotes holds, in lower case; None: it is none of those.
        is_quoted: whether it is a name between quotes, which is never a keyword.
    """

    name: str
    is_name: bool
    start: int
    held: str | None = None
    is_quoted: bool = False

    @property
    def plain(self) -> str:
        """A keyword, a sign or a name without quotes; of anything else nothing that could be one."""
        return "" if self.is_quoted else self.name


def unseen_in(text: str) -> frozenset[str]:
    """The characters of a text that are not seen, of which DuckDB's parser may take some for blanks."""
    return frozenset(each for each in set(text) - _BLANKS if unicodedata.category(each) in _UNSEEN)


def words(text: str) -> list[Word]:
    """The words of a text, by DuckDB's own tokenizer.

    Raises:
        ForbiddenError: it holds a character that DuckDB's parser may read otherwise; says which and where.
    """
    return list(_words(text))


def _words(text: str) -> Iterator[Word]:
    data = text.encode()
    unseen = unseen_in(text)
    tokens = [*duckdb.tokenize(text), (len(data), Kind.comment)]
    for (start, kind), (end, _) in pairwise(tokens):
        if kind == Kind.comment:
            continue
        here = data[start:end].decode(errors="replace")
        if unseen and (strange := _strange_in(here, kind, unseen)) is not None:
            raise ForbiddenError(_told(here[strange], len(data[:start].decode()) + strange))
        yield _word(here, kind, start)


def _word(here: str, kind: Kind, start: int) -> Word:
    if kind == Kind.string_const:
        held = _STRING.match(here)
        return Word("'", False, start, held[1].replace("''", "'").lower() if held else None)
    if quoted := _QUOTED.match(here):
        mark = here[0]
        name = quoted[0][1:-1].replace(mark * 2, mark)
        return Word(name.lower(), True, start, is_quoted=True)
    if kind in (Kind.identifier, Kind.keyword):
        return Word(here.strip(" \t\n\v\f\r").lower(), True, start)
    return Word(here[:1], False, start)


def _strange_in(here: str, kind: Kind, unseen: frozenset[str]) -> int | None:
    """Where in a word stands what DuckDB's parser may read otherwise than its tokenizer; None: nowhere."""
    if kind == Kind.string_const:
        return 0 if here.startswith("$") and not _TAG.match(here) else None
    if here[:1] in ('"', "`"):
        return None
    return next((place for place, each in enumerate(here) if each in unseen), None)


def _told(strange: str, place: int) -> str:
    where = f"character {place + 1:,} of the statement"
    if strange == "$":
        return f"{where} begins a $tag$ with letters that are no ASCII: give the string another tag, as $a$"
    name = unicodedata.name(strange, "a control character")
    return (
        f"{where} is U+{ord(strange):04X} ({name}), outside of quotes, where it is not seen and may be read "
        "in two ways: leave it out, or put it between quotes"
    )
