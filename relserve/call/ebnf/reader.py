"""From a grammar's text to its tree.

The notation is what xgrammar's and llama.cpp's have in common: rules, texts in quotes, sets of characters,
groups, alternatives, repetitions, comments.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import NamedTuple

from relserve.call.ebnf.tree import ROOT, CharSet, Either, InOrder, Literal, Node, Repeated, RuleName, Rules

_TOKEN = re.compile(
    r"(?P<space>(?:\s++|\#[^\n]*+)++)|(?P<head>[A-Za-z_][\w.-]*+\s*+::=)|(?P<name>[A-Za-z_][\w.-]*+)"
    r'|(?P<text>"(?:\\.|[^"\\\n])*+")|(?P<set>\[(?:\\.|[^\]\\\n])*+\])|(?P<open>\((?!=))|(?P<close>\))'
    r"|(?P<bar>\|)|(?P<count>[?*+]|\{\s*+[0-9]++\s*+(?:,\s*+[0-9]*+\s*+)?\})"
)
_CHAR = r"\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\.|[^\\]"
_RANGE = re.compile(rf"({_CHAR})(?:-({_CHAR}))?", re.DOTALL)
_ESCAPED = re.compile(r"\\(?:[xuU]([0-9A-Fa-f]+)|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
_COUNTS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}


class EbnfError(ValueError):
    """A text is no grammar in this notation; the message says where and why."""


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


@lru_cache(maxsize=32)  # asked for each row of a call
def read_ebnf(text: str) -> Rules:
    """The rules of a grammar.

    Raises:
        EbnfError: it is none, or names a rule that it does not have.
    """
    reader, rules = _Reader(text), dict[str, Node]()
    while reader.kind:
        head = reader.take("head", 'a rule, like: root ::= "yes" | "no"')
        name = head.removesuffix("::=").rstrip()
        if name in rules:
            raise EbnfError(f"the grammar has two rules {name!r}")
        rules[name] = reader.either()
    if lacking := sorted(({ROOT} | reader.named) - rules.keys()):
        raise EbnfError(f"the grammar has no rule {lacking[0]!r}")
    return rules


class _Reader:
    """Reads tokens one after another."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._next = text, list[_Token](), 0
        self.named: set[str] = set()  # the rules that others name
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise self._error(place, f"cannot read {text[place : place + 20]!r}")
            if found.lastgroup != "space":
                self._tokens.append(_Token(str(found.lastgroup), found[0], place))
            place = found.end()

    @property
    def kind(self) -> str:
        """Of the next token, "" at the end."""
        return self._tokens[self._next].kind if self._next < len(self._tokens) else ""

    def take(self, kind: str, wanted: str) -> str:
        """The next token, which is to be of this kind."""
        if self.kind != kind:
            place = self._tokens[self._next].place if self.kind else len(self._text)
            raise self._error(place, f"{wanted} is wanted here")
        self._next += 1
        return self._tokens[self._next - 1].text

    def either(self) -> Node:
        """Alternatives, of which there may be one."""
        ways = [self._row()]
        while self.kind == "bar":
            self._next += 1
            ways.append(self._row())
        return ways[0] if len(ways) == 1 else Either(tuple(ways))

    def _row(self) -> Node:
        parts = []
        while self.kind in ("text", "set", "name", "open"):
            part = self._part()
            while self.kind == "count":
                part = Repeated(part, *_count_of(self.take("count", "")))
            parts.append(part)
        if self.kind not in ("bar", "close", "head", ""):
            self.take("text", "a text, a set, a rule's name or a group")
        return parts[0] if len(parts) == 1 else InOrder(tuple(parts))

    def _part(self) -> Node:
        kind = self.kind
        spelled = self.take(kind, "")
        if kind == "text":
            return Literal(_unescaped(spelled[1:-1]))
        if kind == "set":
            return _set_of(spelled)
        if kind == "name":
            self.named.add(spelled)
            return RuleName(spelled)
        inner = self.either()
        self.take("close", "a closing parenthesis")
        return inner

    def _error(self, place: int, problem: str) -> EbnfError:
        line = self._text.count("\n", 0, place) + 1
        column = place - self._text.rfind("\n", 0, place)
        return EbnfError(f"line {line}, column {column} of the grammar: {problem}")


def _count_of(spelled: str) -> tuple[int, int | None]:
    if spelled in _COUNTS:
        return _COUNTS[spelled]
    least, comma, most = spelled[1:-1].partition(",")
    return int(least), int(most) if most.strip() else None if comma else int(least)


def _set_of(spelled: str) -> CharSet:
    held = spelled[1:-1]
    negated = held.startswith("^")
    pairs = _RANGE.findall(held[negated:])
    ranges = tuple((_unescaped(first), _unescaped(last or first)) for first, last in pairs)
    if any(first > last for first, last in ranges):
        raise EbnfError(f"the set {spelled} of the grammar has a range whose end is before its beginning")
    return CharSet(spelled, negated, ranges)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(_char_of, text)


def _char_of(escape: re.Match[str]) -> str:
    if not escape[1]:
        return _CONTROLS.get(escape[2], escape[2])
    number = int(escape[1], 16)
    if number > sys.maxunicode:
        raise EbnfError(f"{escape[0]} in the grammar is no character")
    return chr(number)
