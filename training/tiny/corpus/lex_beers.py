"""Tasting-note vocabulary."""

from training.phrase_files import Phrases
from training.tiny.corpus.text import Pool

_PHRASES = Phrases(__file__)

STYLES: dict[str, tuple[str, ...]] = _PHRASES.group("STYLES")
DARK = ("Stout", "Porter", "Brown Ale")
PALE = ("Lager", "Pilsner", "Wheat", "Pale Ale")
COLOR_PALE = _PHRASES["COLOR_PALE"]
COLOR_MID = _PHRASES["COLOR_MID"]
COLOR_DARK = _PHRASES["COLOR_DARK"]
HEAD = _PHRASES["HEAD"]
NOTE = _PHRASES["NOTE"]
NOTE_BAD = _PHRASES["NOTE_BAD"]
ASPECT = _PHRASES["ASPECT"]
GOOD_TRAIT = _PHRASES["GOOD_TRAIT"]
BAD_TRAIT = _PHRASES["BAD_TRAIT"]
GOOD = Pool(_PHRASES["GOOD"])
BAD = Pool(_PHRASES["BAD"])
NEUTRAL = Pool(_PHRASES["NEUTRAL"])
FACTS: dict[str, dict[str, Pool]] = {
    "bitter": {
        "good": Pool(_PHRASES["FACTS bitter good"]),
        "bad": Pool(_PHRASES["FACTS bitter bad"]),
    },
    "sweet": {
        "good": Pool(_PHRASES["FACTS sweet good"]),
        "bad": Pool(_PHRASES["FACTS sweet bad"]),
    },
    "dark": {
        "good": Pool(_PHRASES["FACTS dark good"]),
        "bad": Pool(_PHRASES["FACTS dark bad"]),
    },
    "order_again": {
        "good": Pool(_PHRASES["FACTS order_again good"]),
        "bad": Pool(_PHRASES["FACTS order_again bad"]),
    },
}  # fmt: skip
LEXICON = {
    "aspect": ASPECT, "good_trait": GOOD_TRAIT, "bad_trait": BAD_TRAIT, "note": NOTE, "note_bad": NOTE_BAD,
    "head": HEAD,
    "color_pale": COLOR_PALE, "color_dark": COLOR_DARK, "color": COLOR_PALE + COLOR_MID + COLOR_DARK,
    "item": ("beer", "beer", "brew", "ale", "pint", "{style_noun}"),
    "style_noun": _PHRASES["LEXICON style_noun"],
}  # fmt: skip
