"""Vocabulary of film reviews and plots."""

from training.phrase_files import Phrases
from training.tiny.corpus.text import Pool

_PHRASES = Phrases(__file__)

ASPECT = _PHRASES["ASPECT"]
GOOD_TRAIT = _PHRASES["GOOD_TRAIT"]
BAD_TRAIT = _PHRASES["BAD_TRAIT"]
ROLE = _PHRASES["ROLE"]
GENRES: dict[str, tuple[str, ...]] = _PHRASES.group("GENRES")
KID_FRIENDLY = ("Animation", "Family", "Musical", "Fantasy", "Comedy", "Adventure")
NOT_FOR_KIDS = ("Horror", "War", "Crime", "Thriller")
KIDS = {
    "good": Pool(_PHRASES["KIDS good"]),
    "bad": Pool(_PHRASES["KIDS bad"]),
}  # fmt: skip
GOOD = Pool(_PHRASES["GOOD"])
BAD = Pool(_PHRASES["BAD"])
NEUTRAL = Pool(_PHRASES["NEUTRAL"])
FACTS: dict[str, dict[str, Pool]] = {
    "acting": {
        "good": Pool(_PHRASES["FACTS acting good"]),
        "bad": Pool(_PHRASES["FACTS acting bad"]),
    },
    "ending": {
        "good": Pool(_PHRASES["FACTS ending good"]),
        "bad": Pool(_PHRASES["FACTS ending bad"]),
    },
    "music": {
        "good": Pool(_PHRASES["FACTS music good"]),
        "bad": Pool(_PHRASES["FACTS music bad"]),
    },
}  # fmt: skip
LEXICON = {
    "aspect": ASPECT, "good_trait": GOOD_TRAIT, "bad_trait": BAD_TRAIT, "role": ROLE,
    "item": ("film", "movie", "film", "movie", "picture", "drama", "story"),
}  # fmt: skip
