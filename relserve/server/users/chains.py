"""What is too much in a short text without brackets: signs, CASE in CASE, names, parameters, unions.

DuckDB counts how deep an expression is, but not the signs in `@ @ @ x`: 10,000 of them end the process that
plans it. CASE in CASE, 40,000 deep, holds up all clients for two seconds before it is refused; on a name of
10,000 parts, a.a.a.a, DuckDB works for half a minute, and on 4,000 unions for minutes; nothing interrupts it.
For $1000000000 its Python package makes a list of so many values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import duckdb
from duckdb import token_type as Kind

from relserve.errors import ComplexSqlError, ProtocolError
from relserve.server.users.tree import keywords

MOST = 1000  # signs: DuckDB's own limit for what it counts
DEEPEST_CASE = 250
MOST_PARTS = 100  # of a name
MOST_SETS = 2000  # UNION, EXCEPT and INTERSECT
MOST_PARAMETERS = 65_535  # as many values the protocol carries
_SIGNS = "!%&*/<=>@^|~"
_COUNTED = frozenset(["+", "-", "*", "~"])  # by DuckDB, and what stands before numbers
_SIGN = re.compile(rf"[-+?#`{re.escape(_SIGNS)}]++")
_WORD = re.compile(rf"""\w++|'|"[^"]*+"|{_SIGN.pattern}|[^\w\s]""")
_DIGITS = re.compile(r"[\d_]++")
_SETS = frozenset(["union", "except", "intersect"])
_BEGINS = frozenset("([{,;:")
_NAME = re.compile(rf"""(?<![\w"])(?>(?:\w++|"[^"]*+")\s*+\.\s*+){{{MOST_PARTS}}}""")
_PARAMETER = re.compile(r"[$?]\s*+(?:--|[\d_]{5})")  # its number may be too large, or stand in the next line
_FEW_COMMENTS = 20  # which may stand within a name
_AT_ONCE = 1 << 20  # characters that are searched before other threads have a turn


def check_chains(text: str, parts: Callable[[], Iterable[tuple[str, bool]]]) -> None:
    """Refuse a text that would take DuckDB too long, or too much memory, without brackets.

    Args:
        parts: the text as a whole, or statement by statement; and whether comments and what is in strings
            are left out. It is asked for where the text may be refused.

    Raises:
        ComplexSqlError: it is too deep.
        ProtocolError: it names a parameter that there cannot be.
    """
    # One by one, in Python: a pattern over all of a text of 100 MB would hold up other clients.
    has_signs = sum([text.count(sign) for sign in _SIGNS]) > MOST
    lower = text.lower()
    has_words = lower.count("case") > DEEPEST_CASE or sum([lower.count(word) for word in _SETS]) > MOST_SETS
    has_names = text.count(".") >= MOST_PARTS
    has_parameters = any(_PARAMETER.match(text, at) for sign in "$?" for at in _places(text, sign))
    if not (has_signs or has_words or has_names or has_parameters):
        return
    for part, is_stripped in parts():
        if has_signs or has_words or has_parameters or (has_names and _may_have_long_name(part)):
            _check_words(_WORD.findall(part.lower()) if is_stripped else list(_words(part)))


def _places(text: str, sign: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + 1)


def _may_have_long_name(text: str) -> bool:
    """Whether there is one, in a string or between comments, too."""
    if text.count("--") > _FEW_COMMENTS:
        return True
    return any(_NAME.search(text, at, at + _AT_ONCE) for at in range(0, len(text), _AT_ONCE))


def _check_words(words: list[str]) -> None:
    if sum(_prefixes(words)) > MOST:
        raise ComplexSqlError(
            f"a statement may have {MOST:,} signs before what they are about, as in @x, and this has more"
        )
    if sum(word in _SETS for word in words) > MOST_SETS:
        raise ComplexSqlError(
            f"a statement may have {MOST_SETS:,} times UNION, EXCEPT and INTERSECT, and this has more: put "
            "rows into VALUES, or into a table"
        )
    depth = num_parts = 0
    for before, word in pairwise(["(", *words]):
        if (not before or before[-1] in "$?") and _number(word) > MOST_PARAMETERS:
            raise ProtocolError(f"there is no parameter ${word[:20]}", "42P02")
        num_parts = num_parts + 1 if word == "." else num_parts if before == "." else 0
        if num_parts >= MOST_PARTS:
            raise ComplexSqlError(
                f"a name may have fewer than {MOST_PARTS} parts, and one in this statement has more"
            )
        depth = depth + 1 if word == "case" else max(0, depth - 1) if word == "end" else depth
        if depth > DEEPEST_CASE:
            raise ComplexSqlError(
                f"a statement may have CASE in CASE {DEEPEST_CASE} deep, and this has more: put inner "
                "ones into views"
            )


def _number(word: str) -> int:
    """The number with which a word begins, as far as it matters; 0: with none."""
    digits = _DIGITS.match(word)
    return int(digits[0].replace("_", "").lstrip("0")[:9] or 0) if digits else 0


def _prefixes(words: Iterable[str]) -> Iterator[bool]:
    # no name is among the keywords behind which an expression may begin
    begins = _BEGINS | keywords() - {"null", "true", "false", "end", "default"}
    for before, word in pairwise(["(", *words]):
        is_sign = word not in _COUNTED and _SIGN.fullmatch(word) is not None
        yield is_sign and (before in begins or _SIGN.fullmatch(before) is not None)


def _words(text: str) -> Iterator[str]:
    """The words in small letters as DuckDB's tokenizer cuts a text; strings and quoted names are a quote."""
    data = text.encode()
    for (start, kind), (end, _) in pairwise([*duckdb.tokenize(text), (len(data), Kind.comment)]):
        if kind == Kind.string_const:
            yield "'"
        elif kind != Kind.comment:
            word = data[start:end].decode(errors="replace").strip()
            yield word.lower() if word[:1] != '"' else '"'
