"""Praise and blame that fit any kind of row: verbs, nouns, comparisons, negations, expectations."""

from training.phrase_files import Phrases
from training.tiny.corpus.text import Pool

_PHRASES = Phrases(__file__)

LOVE = _PHRASES["LOVE"]
LOVED = _PHRASES["LOVED"]
HATE = _PHRASES["HATE"]
HATED = _PHRASES["HATED"]
POS_NOUN = _PHRASES["POS_NOUN"]
NEG_NOUN = _PHRASES["NEG_NOUN"]
POS_ADV = _PHRASES["POS_ADV"]
NEG_ADV = _PHRASES["NEG_ADV"]
PROBLEM_ANY = _PHRASES["PROBLEM_ANY"]

GOOD = Pool(_PHRASES["GOOD"])
BAD = Pool(_PHRASES["BAD"])

BEST_OF = _PHRASES["BEST_OF"]
WORST_OF = _PHRASES["WORST_OF"]
VIRTUES = _PHRASES.group("VIRTUES")
PROBLEMS = _PHRASES.group("PROBLEMS")

LEXICON = {
    "best_of": BEST_OF, "worst_of": WORST_OF, "love": LOVE, "loved": LOVED, "hate": HATE, "hated": HATED,
    "pos_noun": POS_NOUN, "neg_noun": NEG_NOUN,
    "pos_adv": POS_ADV,
    "neg_adv": NEG_ADV, "good_any": ("{adj5}", "{adj4}", "{adj4}", "{good_trait}", "{good_trait}"),
    "bad_any": ("{adj1}", "{adj2}", "{adj2}", "{bad_trait}", "{bad_trait}"),
}  # fmt: skip
