"""The language that frames are written in: alternatives, options, word classes and slots.

`(show|list) [all] the {cols} of {rows}` has an alternative, an option (half the time) and two slots; `<show>`
is a class of words from `lexicon/classes.py`. A verb with a star agrees with its subject: `that *have`
is `that has` after one.
"""

import random
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple, TypeAlias

from training.tiny_sql.corpus.lexicon.classes import CLASSES

Part: TypeAlias = "str | Slot | Alternatives"
Slots: TypeAlias = Mapping[str, Callable[[], str]]

TOKEN = re.compile(r"[()\[\]|]|<\w+>|\{\w+\}|[^()\[\]|<>{}]+|[<>]")
VERB = re.compile(r"\*(\w+)")
IRREGULAR = {"have": "has", "be": "is", "do": "does", "go": "goes", "were": "was"}
PLURAL = {"be": "are"}


class Slot(NamedTuple):
    """A place that the question's writer fills."""

    name: str


class Alternatives(NamedTuple):
    """One of several sequences of parts."""

    options: tuple[tuple[Part, ...], ...]


@cache
def parsed(text: str) -> tuple[Part, ...]:
    """The parts of a frame."""
    parts, rest = _sequence(TOKEN.findall(text))
    if rest:
        raise ValueError(f"a frame closes what it did not open: {text!r}")
    return parts


def _sequence(tokens: list[str]) -> tuple[tuple[Part, ...], list[str]]:
    parts: list[Part] = []
    while tokens and tokens[0] not in ("|", ")", "]"):
        token = tokens[0]
        if token in ("(", "["):
            options, tokens = _options(tokens[1:])
            parts.append(Alternatives((*options, ()) if token == "[" else options))
        else:
            parts.append(_part(token))
            tokens = tokens[1:]
    return tuple(parts), tokens


def _options(tokens: list[str]) -> tuple[tuple[tuple[Part, ...], ...], list[str]]:
    options = []
    while True:
        option, tokens = _sequence(tokens)
        options.append(option)
        if not tokens:
            raise ValueError("a frame opens a bracket and does not close it")
        if tokens[0] in (")", "]"):
            return tuple(options), tokens[1:]
        tokens = tokens[1:]


def _part(token: str) -> Part:
    if token[0] == "{":
        return Slot(token[1:-1])
    if token[0] == "<" and len(token) > 1:
        return Alternatives(tuple(parsed(option) for option in CLASSES[token[1:-1]]))
    return token


def said(text: str, rng: random.Random, slots: Slots) -> str:
    """One way to say the frame `text`."""
    out: list[str] = []
    _say(parsed(text), rng, slots, out)
    return "".join(out)


def _say(parts: tuple[Part, ...], rng: random.Random, slots: Slots, out: list[str]) -> None:
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, Slot):
            out.append(slots[part.name]())
        else:
            options = part.options
            _say(options[int(rng.random() * len(options))], rng, slots, out)


def slot_names(text: str) -> set[str]:
    """The names of all slots of a frame."""
    names: set[str] = set()
    todo = list(parsed(text))
    while todo:
        part = todo.pop()
        if isinstance(part, Slot):
            names.add(part.name)
        elif isinstance(part, Alternatives):
            todo += [each for option in part.options for each in option]
    return names


def agreeing(text: str, one: bool) -> str:
    """The text with its starred verbs after one subject, or after several."""
    if "*" not in text:
        return text
    return VERB.sub(lambda match: third_person(match[1]) if one else PLURAL.get(match[1], match[1]), text)


def third_person(verb: str) -> str:
    """The verb after he, she or it."""
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if verb.endswith(("s", "x", "ch", "sh")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"
