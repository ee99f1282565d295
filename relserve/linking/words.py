"""Words of questions, values and identifiers, and their stems."""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(
    r"""
    "[^"]++" | “[^“”]++” | ‘[^‘’]++’ | (?<!\w)'(?:[^']++|''|(?<=\w)'(?=\w)){1,200}'(?!\w)  # quoted text
    | \d{1,4}([-/.])\d{1,2}\1\d{1,4}(?!\d) | (?:19|20)\d\d[-/]\d\d(?!\d)  # a date of digits, a month
    | \d+(?:st|nd|rd|th)\b | \d{4}s\b                     # an ordinal, a decade
    | (?:(?<![\w)])-)?(?:\d{1,3}(?:,\d{3}(?!\d))++|\d+)(?:\.\d+)?(?:(?:k|m|bn|mn)\b)?
    | ['’]s\b
    | [^\W\d_][^\W_]*(?:['’](?!s\b)[^\W\d_]+)?             # a word, perhaps with digits
    | [^\w\s]                                            # a sign
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[\W_]+")
_PREFIXES = frozenset("tbl dim fact".split())  # of table names, that say nothing

_IRREGULAR = {
    "ids": "id", "does": "does", "goes": "go",
    "people": "person", "children": "child", "childrens": "child", "men": "man", "women": "woman",
    "feet": "foot",
    "mice": "mouse", "movies": "movie", "cookies": "cookie", "buses": "bus", "wives": "wife",
    "lives": "life", "leaves": "leaf", "shelves": "shelf", "knives": "knife", "shoes": "shoe",
    "geese": "goose", "teeth": "tooth", "series": "series", "species": "species", "news": "news",
    "criteria": "criterion", "indices": "index", "gas": "gas", "axes": "axis", "analyses": "analysis",
    "calories": "calorie", "zombies": "zombie",
}  # fmt: skip


def tokens(text: str) -> list[str]:
    """Cut a question or a value into words, numbers, quoted texts and signs."""
    return [match[0] for match in _TOKEN.finditer(text)]


def folded(text: str) -> tuple[str, ...]:
    """The tokens of a value without their case: the form that a ValueIndex is asked for."""
    return tuple(token.casefold() for token in tokens(text))


@lru_cache(100_000)
def stem(word: str) -> str:
    """Take the plural's ending off a lower-case word."""
    known = _IRREGULAR.get(word)
    if known is not None:
        return known
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(100_000)
def plural(word: str) -> str:
    """A noun's plural, so that "comedy" finds the value "Comedies"."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


@lru_cache(100_000)
def spoken(word: str) -> str:
    """A word as the model reads it: its stem, and whether an ending was taken off."""
    short = stem(word)
    return word if short == word else short + " +s"


_VERBS = dict(
    pair.split(":")
    for pair in (
        "written:write wrote:write sang:sing sung:sing taught:teach built:build made:make drove:drive "
        "driven:drive "
        "won:win sold:sell paid:pay bought:buy led:lead flew:fly flown:fly drew:draw drawn:draw "
        "spoken:speak spoke:speak held:hold grew:grow grown:grow author:write composition:compose"
    ).split()
)
_ENDINGS = ("ation", "ition", "ment", "ing", "ist", "ion", "or", "er", "ed", "ant", "ent", "al", "s", "e")
_SHORTEST = {"ion": 5, "ation": 4, "ition": 4, "ment": 4, "ist": 4, "ant": 4, "ent": 4, "al": 5}


@lru_cache(100_000)
def root(word: str) -> str:
    """What a verb and its nouns share: direct, director, directed and direction have the root "direct"."""
    word = _VERBS.get(word, word)
    for _ in range(2):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST.get(ending, 3):
                word = word[: -len(ending)]
                break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") else word


@lru_cache(100_000)
def identifier_words(name: str) -> tuple[str, ...]:
    """Split an identifier: OrderDate, order_date and "order date" are (order, date)."""
    words = [word.casefold() for word in _BETWEEN.split(_HUMP.sub("_", name)) if word]
    return tuple(word for word in words if word not in _PREFIXES) or tuple(words) or (name.casefold(),)
