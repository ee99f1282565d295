"""Words for names and values: common English words, made-up ones, and what English does with a word."""

import hashlib
import random
from functools import cache

from training.tiny_sql.corpus.lexicon.common import WORDS

SYLLABLES = tuple(
    (
        "ba be bi bo bu ka ke ki ko ku ta te ti to tu ra re ri ro ru la le li lo lu ma me mi mo mu na ne ni "
        "no nu sa se si so su da de di do du fa fe fi fo fu ga ge gi go gu va ve vi vo vu za ze zi zo zu "
        "chel dran quix thor plim stren glar vond harb torm bri cla dro fen gri hal jas kel lor mar nor pel "
        "qua rin sol tav ul ven wex yor zan "
    ).split()
)
ENDINGS = ("", "", "n", "r", "x", "l", "t", "k")
# Words that a question says of its own accord: a schema named by one would make a question ambiguous.
RESERVED = frozenset(
    (
        "list show count number total sum order group record row table column value year month day date "
        "name id average mean maximum minimum high low top bottom first last most least more less many much "
        "few all any every each not null empty true false between before after above below over under "
        "contain text word string different distinct unique same show give find get tell report print "
        "display return have has with where when which what who how long old new young large big small "
        "short tall heavy light cheap expensive early late recent range per by for from in of and or final "
        "file query "
    ).split()
)
HELD_OUT_SHARE = 50  # of 256


@cache
def is_held_out(word: str) -> bool:
    """Whether `word` never occurs in training: about one word in five, by its hash."""
    return hashlib.md5(word.lower().encode(), usedforsecurity=False).digest()[0] < HELD_OUT_SHARE


@cache
def common_words(held_out: bool) -> tuple[str, ...]:
    """The common words of one side of the split, sorted."""
    return tuple(word for word in WORDS if word not in RESERVED and is_held_out(word) == held_out)


def common_word(rng: random.Random, held_out: bool) -> str:
    """One common English word."""
    words = common_words(held_out)
    return words[int(rng.random() * len(words))]


def made_up_word(rng: random.Random, held_out: bool) -> str:
    """A word that exists in no language, of two or three syllables."""
    while True:
        size = 2 + (rng.random() < 0.5)
        word = "".join(rng.choice(SYLLABLES) for _ in range(size)) + rng.choice(ENDINGS)
        if is_held_out(word) == held_out and word not in RESERVED:
            return word


@cache
def plural(word: str) -> str:
    """The plural of a regular noun; a word that already ends in s stays."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    if word.endswith(("x", "ch", "sh", "ss")):
        return word + "es"
    return word if word.endswith("s") else word + "s"


IRREGULAR = {
    "person": "people",
    "child": "children",
    "staff": "staff",
    "species": "species",
    "series": "series",
    "sheep": "sheep",
    "shelf": "shelves",
    "leaf": "leaves",
    "knife": "knives",
    "wolf": "wolves",
    "mouse": "mice",
    "goose": "geese",
    "fish": "fish",
    "bus": "buses",
    "address": "addresses",
    "status": "statuses",
}


def article(text: str) -> str:
    """`a` or `an`, as the first letter of `text` asks for."""
    return "an" if text[:1].lower() in "aeiou" else "a"
