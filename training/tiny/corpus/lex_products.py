"""Vocabulary of product reviews and descriptions."""

from training.phrase_files import Phrases
from training.tiny.corpus.text import Pool

_PHRASES = Phrases(__file__)

CATEGORIES: dict[str, tuple[str, ...]] = _PHRASES.group("CATEGORIES")
CATEGORY_NAMES = _PHRASES.group("CATEGORY_NAMES")

ASPECT = _PHRASES["ASPECT"]
GOOD_TRAIT = _PHRASES["GOOD_TRAIT"]
BAD_TRAIT = _PHRASES["BAD_TRAIT"]

GOOD = Pool(_PHRASES["GOOD"])
BAD = Pool(_PHRASES["BAD"])
NEUTRAL = Pool(_PHRASES["NEUTRAL"])
WELL = _PHRASES["WELL"]
FACTS: dict[str, dict[str, Pool]] = {
    "price": {
        "good": Pool(_PHRASES["FACTS price good"]),
        "bad": Pool(_PHRASES["FACTS price bad"]),
    },
    "shipping": {
        "good": Pool(_PHRASES["FACTS shipping good"]),
        "bad": Pool(_PHRASES["FACTS shipping bad"]),
    },
    "battery": {
        "good": Pool(_PHRASES["FACTS battery good"]),
        "bad": Pool(_PHRASES["FACTS battery bad"]),
    },
    "gift": {
        "good": Pool(_PHRASES["FACTS gift good"]),
        "bad": Pool(_PHRASES["FACTS gift bad"]),
    },
    "buy_again": {
        "good": Pool(_PHRASES["FACTS buy_again good"]),
        "bad": Pool(_PHRASES["FACTS buy_again bad"]),
    },
}  # fmt: skip

LEXICON = {
    "item": ("product", "item", "thing"),
    "aspect": ASPECT,
    "good_trait": GOOD_TRAIT,
    "bad_trait": BAD_TRAIT,
    "well": WELL,
}
