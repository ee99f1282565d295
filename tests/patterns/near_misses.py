"""Texts that a pattern nearly matches, of any length, made from the pattern as `re` itself has read it."""

from __future__ import annotations

import re
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

MOST_FORMS = 6  # of one part of a pattern
MOST_FAMILIES = 120  # of near misses of one pattern
NUMBER = "\ue000"  # in a repeated part: its number, so that no two are alike
TAILS = ("", "\x00", "\n")
# What many patterns of the tree take apart: spaces, comments, quotes, tags, brackets, words.
COMMON = (
    " ", "\n", "\t ", "a", "a ", "0", "'", '"', "''", '""', "$", "$a$", "$$", f"$a{NUMBER}$ ",
    "/*", "/* ", "/**/", "--\n", "-- ", "(", "()",
    "[", "{", "{}", ",", "\\", ";", ".", "a.", "=", "<", ">", "*/", "`", ":",
)  # fmt: skip
_CATEGORIES = {
    "DIGIT": (r"\d", "0"), "SPACE": (r"\s", " \n"), "WORD": (r"\w", "a0"), "NOT_DIGIT": (r"\D", "a "),
    "NOT_SPACE": (r"\S", "a("), "NOT_WORD": (r"\W", " ("),
}  # fmt: skip


class Family:
    """A text for each length: one part n times, between a beginning and an end that does not match.

    Attributes:
        head, body, tail: its parts.
    """

    def __init__(self, head: str, body: str, tail: str) -> None:
        self.head, self.body, self.tail = head, body, tail

    def text(self, num_characters: int) -> str:
        """About so many characters of it."""
        number = max(num_characters // len(self.body), 1)
        if NUMBER not in self.body:
            return self.head + self.body * number + self.tail
        return self.head + "".join(self.body.replace(NUMBER, str(i)) for i in range(number)) + self.tail

    def __repr__(self) -> str:
        return f"{self.head!r} + n * {self.body!r} + {self.tail!r}"


def families(pattern: str | bytes, flags: int) -> Iterator[Family]:
    """Near misses of a pattern, the ones made of it before the common ones."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    tree = parser.parse(text, flags)
    made = dict.fromkeys((head, body) for head, body in _repeated(list(tree), [""]) if body)
    words = [each for word in _literals(tree) for each in (word, f"{word} ")]
    for body in (*words, *COMMON):
        made.setdefault(("", body))
    items = list(tree)
    for end in range(1, len(items) + 1):
        for form in islice(_forms(items[:end]), 2):
            if form:
                made.setdefault(("", form))
                made.setdefault(("", form[:-1] or form))
    for head, body in islice(made, MOST_FAMILIES):
        for tail in TAILS:
            yield Family(head, body, tail)


def repeats(pattern: str | bytes, flags: int) -> bool:
    """Whether anything in a pattern may stand more than once.

    Else a try takes no more steps than it has branches, whatever the text: its time grows as the text does.
    """
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    return _may_repeat(parser.parse(text, flags))


def _may_repeat(tree: Any) -> bool:
    for op, argument in list(tree):
        name = str(op)
        if name == "GROUPREF_EXISTS" or (name.endswith("_REPEAT") and argument[1] > 1):
            return True
        if any(_may_repeat(part) for part in _inner(name, argument)):
            return True
    return False


def _repeated(items: Sequence[Any], heads: list[str]) -> Iterator[tuple[str, str]]:
    """What stands before each part that may repeat, and forms of that part, mixed with each other."""
    for i, item in enumerate(items):
        op, argument = item
        before = [head + form for head in heads for form in islice(_forms(items[:i]), 2)]
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, most, inner = argument
            forms = list(dict.fromkeys(islice(_forms(list(inner)), MOST_FORMS)))
            if most > 20:
                bodies = [*forms, "".join(forms)]
                bodies += [forms[j] + forms[j + 1] for j in range(len(forms) - 1)]
                yield from ((head, body) for head in before[:2] for body in bodies)
            yield from _repeated(list(inner), before[:2])
        elif name == "SUBPATTERN":
            yield from _repeated(list(argument[-1]), before[:2])
        elif name == "ATOMIC_GROUP":
            yield from _repeated(list(argument), before[:2])
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from _repeated(list(branch), before[:2])
        elif name in ("ASSERT", "ASSERT_NOT"):
            yield from _repeated(list(argument[1]), before[:2])


def _forms(items: Sequence[Any]) -> Iterator[str]:
    """Texts that a sequence of parts matches, a few."""
    if not items:
        yield ""
        return
    firsts = list(islice(_forms_of(items[0]), MOST_FORMS))
    rests = list(islice(_forms(items[1:]), MOST_FORMS))
    for i in range(max(len(firsts), len(rests), 1)):
        yield firsts[i % len(firsts)] + rests[i % len(rests)]


def _forms_of(item: Any) -> Iterator[str]:
    op, argument = item
    match str(op):
        case "LITERAL":
            yield chr(argument)
        case "NOT_LITERAL":
            yield from (each for each in "a \n" if each != chr(argument))
        case "ANY":
            yield from ("a", " ")
        case "IN":
            yield from _of_class(argument)
        case "BRANCH":
            for branch in argument[1]:
                yield from islice(_forms(list(branch)), 2)
        case "SUBPATTERN":
            yield from _forms(list(argument[-1]))
        case "ATOMIC_GROUP":
            yield from _forms(list(argument))
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = argument
            forms = list(islice(_forms(list(inner)), MOST_FORMS))
            for form in forms:
                yield form * max(min(least, 40), min(most, 1))
        case _:  # an anchor, a look around, a group once more
            yield ""


def _of_class(items: Sequence[Any]) -> Iterator[str]:
    """Characters of a class: one of each of its kinds."""
    members = [item for item in items if str(item[0]) != "NEGATE"]
    if len(members) < len(items):
        yield from (each for each in "a 0\n.(" if not any(_has(item, each) for item in members))
        return
    for op, argument in members:
        match str(op):
            case "LITERAL":
                yield chr(argument)
            case "RANGE":
                yield chr(argument[0])
            case "CATEGORY":
                yield from _of_category(str(argument))


def _of_category(name: str) -> Iterator[str]:
    yield from _CATEGORIES[name.removeprefix("CATEGORY_").replace("UNI_", "")][1]


def _has(item: Any, character: str) -> bool:
    op, argument = item
    match str(op):
        case "LITERAL":
            return chr(argument) == character
        case "RANGE":
            return bool(argument[0] <= ord(character) <= argument[1])
        case "CATEGORY":
            return character in "".join(_of_category(str(argument))) or _in_category(str(argument), character)
    return False


def _in_category(name: str, character: str) -> bool:
    kind = name.removeprefix("CATEGORY_").replace("UNI_", "")
    return re.match(_CATEGORIES[kind][0], character) is not None


def _literals(tree: Any) -> list[str]:
    """Runs of plain characters in a pattern."""
    found: list[str] = []
    run = ""
    for op, argument in list(tree):
        if str(op) == "LITERAL":
            run += chr(argument)
            continue
        found, run = [*found, run], ""
        parts = _inner(str(op), argument)
        for part in parts:
            found += _literals(part)
    return list(dict.fromkeys(filter(None, [*found, run])))


def _inner(op: str, argument: Any) -> list[Any]:
    match op:
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [argument[2]]
        case "SUBPATTERN":
            return [argument[-1]]
        case "BRANCH":
            return list(argument[1])
        case "ATOMIC_GROUP":
            return [argument]
        case "ASSERT" | "ASSERT_NOT":
            return [argument[1]]
    return []
