"""Adjectives and units that speak of a column without its name, and which way they point."""

from __future__ import annotations

from typing import NamedTuple

ANY_DATE = "<date>"  # stands for every column of dates, whatever its name


class Meaning(NamedTuple):
    """Columns with one of these words in their names, and the answer's word that the adjective comes to."""

    columns: frozenset[str]
    sign: str
    of_texts: bool = False


_DATES = f"{ANY_DATE} year founded built"
_MONEY = (
    "dollar price cost amount fee rent wage salary budget revenue profit income pay charge fare bonus balance"
)
_SIZES = "size area population capacity volume height employee seat amount"

# words of columns, adjectives of much, adjectives of little, words without a direction
_ADJECTIVES = (
    ("price cost amount fee rate wage rent fare budget", "expensive costly pricey", "cheap", ""),
    ("price cost amount fee rent fare budget", "", "", "cost costing sell selling sold priced"),
    ("age", "old elderly", "young", "aged"),
    ("birth birthday born birthdate", "young", "old", ""),
    (_DATES, "new recent late fresh modern", "old early", "dated released made opened first last"),
    ("height altitude elevation", "tall high", "short low", "tall"),
    ("weight mass", "heavy", "light", "weigh weighed weighing"),
    ("length duration minute hour page mileage distance runtime", "long", "short", "lasting last lasted"),
    ("speed rate mph kmh", "fast quick", "slow", ""),
    (_SIZES, "large big huge great", "small little tiny", ""),
    ("population", "populous populated", "", "inhabitants people live living"),
    ("width", "wide broad", "narrow", ""),
    ("depth", "deep", "shallow", ""),
    ("distance", "far", "near close", ""),
    ("abv alcohol", "strong alcoholic", "weak", ""),
    ("rating star score grade review", "good popular", "bad", "rated stars star"),
    ("salary wage income pay", "paid", "", "earn earning paid"),
    ("temperature", "hot warm", "cold cool", "degree celsius fahrenheit"),
    ("power horsepower", "powerful strong", "weak", ""),
    ("profit income margin", "profitable lucrative", "", ""),
    ("revenue budget income wealth networth", "rich wealthy", "poor", ""),
    ("capacity", "spacious roomy", "", ""),
    ("experience", "experienced senior", "junior", ""),
    ("vote like view follower", "popular", "", ""),
    (_MONEY, "", "", "$ € £ ¥ dollar euro usd eur pound buck worth"),
    ("percent percentage rate share ratio margin discount", "", "", "% percent"),
    ("weight mass kg gram", "", "", "kg kilo kilogram gram g lb ton tonne"),
    ("duration length time minute minutes hour", "", "", "minute min hour second"),
    ("distance length height width km mile altitude elevation", "", "", "km mile meter metre cm m foot feet"),
    ("stock quantity unit inventory", "", "", "stock stocked"),
    ("age", "", "", "years year"),
)  # fmt: skip
_QUESTION_WORDS = (
    ("city country location address place state region venue town origin", "where"),
    (f"{ANY_DATE} year", "when"),
    (
        "author writer director owner manager teacher artist singer player driver doctor customer "
        "employee student "
        "person user member guest composer producer editor founder maker reviewer winner captain coach "
        "agent name",
        "who whom",
    ),
)
_IRREGULAR = {
    "good": ("better", "best"), "bad": ("worse", "worst"), "far": ("farther", "farthest"),
    "pricey": ("pricier", "priciest"), "late": ("later", "latest"), "little": ("less", "least"),
}  # fmt: skip
_DOUBLED = ("big", "hot", "fat", "thin")


def _forms(word: str) -> tuple[str, str]:
    """The comparative and the superlative of a short adjective."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("e"):
        return word + "r", word + "st"
    base = word + word[-1] if word in _DOUBLED else word[:-1] + "i" if word.endswith("y") else word
    return base + "er", base + "est"


def _directed(word: str, up: bool) -> dict[str, str]:
    """Phrases of an adjective, with their signs."""
    much, little, most, least = (">", "<", "max", "min") if up else ("<", ">", "min", "max")
    comparative, superlative = _forms(word)
    return {
        word: "",
        comparative: much,
        superlative: most,
        f"more {word}": much,
        f"less {word}": little,
        f"most {word}": most,
        f"least {word}": least,
    }


def _meanings() -> dict[tuple[str, ...], tuple[Meaning, ...]]:
    found: dict[tuple[str, ...], list[Meaning]] = {}
    for columns, high, low, plain in _ADJECTIVES:
        signs: dict[str, str] = dict.fromkeys(plain.split(), "")
        for word in high.split():
            signs |= _directed(word, up=True)
        for word in low.split():
            signs |= _directed(word, up=False)
        for phrase, sign in signs.items():
            found.setdefault(tuple(phrase.split()), []).append(Meaning(frozenset(columns.split()), sign))
    for columns, words in _QUESTION_WORDS:
        for word in words.split():
            found.setdefault((word,), []).append(Meaning(frozenset(columns.split()), "", of_texts=True))
    del found["less",], found["least",]  # these two are signs of their own
    return {phrase: tuple(meanings) for phrase, meanings in found.items()}


MEANINGS = _meanings()
QUESTION_WORDS = frozenset(word for _, words in _QUESTION_WORDS for word in words.split())
