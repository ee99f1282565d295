"""Rewording of a whole question: other words, fillers, dropped words, slips, case and punctuation.

Only the frame's own words change: what belongs to the schema, and values, are markers here.
"""

import random
import re

from training.tiny_sql.corpus.lexicon.rewordings import CLOSERS, DROPPED, FILLERS, OPENERS, SWAPS

SWAPPED = re.compile(
    r"(?<![\w'])(" + "|".join(sorted(map(re.escape, SWAPS), key=len, reverse=True)) + r")(?![\w'])",
    re.IGNORECASE,
)
RARELY = frozenset("and with that have for which each every all the list show find get count per".split())
UNTOUCHED_SHARE = 0.3
SWAP_SHARE = 0.3
DROP_SHARE = 0.15
SLIP_SHARE = 0.02


def reworded(rng: random.Random, text: str) -> str:
    """The question, cleaned up and mostly said in other words; markers stay."""
    text = tidy(text)
    if rng.random() > UNTOUCHED_SHARE:
        text = SWAPPED.sub(lambda match: _swap(rng, match), text)
        text = _framed(rng, text)
        text = _roughened(rng, text)
    return _punctuated(rng, tidy(text))


def tidy(text: str) -> str:
    """One space between words, none before a comma or a question mark."""
    return re.sub(r" ([,?;:!])", r"\1", " ".join(text.split()))


def _swap(rng: random.Random, match: re.Match[str]) -> str:
    share = SWAP_SHARE / 3 if match[0] in RARELY else SWAP_SHARE
    return rng.choice(SWAPS[match[0]]) if rng.random() < share and match[0] in SWAPS else match[0]


def _framed(rng: random.Random, text: str) -> str:
    """Now and then with words before or after it."""
    chance = rng.random()
    if chance < 0.12:
        return rng.choice(OPENERS) + _lowered(text)
    if chance > 0.9:
        end = "?" if text.endswith("?") and rng.random() < 0.5 else ""
        return text.rstrip("?") + rng.choice(CLOSERS) + end
    return text


def _lowered(text: str) -> str:
    return text if text.startswith(("I ", "I'")) else text[:1].lower() + text[1:]


def _roughened(rng: random.Random, text: str) -> str:
    """Now and then a word too few, a word too many, or a slip of the fingers."""
    words = text.split(" ")
    if rng.random() < DROP_SHARE:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            places = [at for at, word in enumerate(words) if word in DROPPED]
            if places and len(words) > 3:
                del words[rng.choice(places)]
    if rng.random() < 0.06 and len(words) > 3:
        words.insert(rng.randrange(1, len(words) - 1), rng.choice(FILLERS))
    if rng.random() < SLIP_SHARE:
        places = [at for at, word in enumerate(words) if len(word) > 5 and word.isascii() and word.isalpha()]
        if places:
            at = rng.choice(places)
            words[at] = _slip(rng, words[at])
    return " ".join(words)


def _slip(rng: random.Random, word: str) -> str:
    """Two letters changed places, one is missing, or one stands twice."""
    at = rng.randrange(1, len(word) - 1)
    kind = rng.randrange(3)
    if kind == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + word[at + 1 :] if kind == 1 else word[:at] + word[at] + word[at:]


def _punctuated(rng: random.Random, text: str) -> str:
    """A capital or none, and whatever people end a question with."""
    chance = rng.random()
    if chance < 0.45:
        text = text[:1].upper() + text[1:]
    if rng.random() < 0.3:
        return text.rstrip("?")
    if rng.random() < 0.12:
        return text.rstrip("?") + rng.choice((".", "?", "?", "??", "!", " ?", "..."))
    return text
