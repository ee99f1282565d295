"""Yes/no questions by fact: how they are asked in training and how only in evaluation."""

from random import Random

from training.phrase_files import Phrases
from training.tiny.corpus.question_parts import composed
from training.tiny.corpus.text import lines

_PHRASES = Phrases(__file__)

_SATISFIED = """
is the reviewer satisfied?; is the customer satisfied?; is this review positive?; does the reviewer like it?
is the author happy?; is the {noun} positive?; is the writer pleased?; did the reviewer enjoy it?
is it a good review?; the reviewer is satisfied; does the author like the {item}?
is this a positive {noun}?; does the {noun} praise the {item}?; positive?; is the user happy?
was the customer happy with the {item}?; is the overall opinion favourable?
does the writer speak well of it?; satisfied?; the {noun} is positive; did they like it?
the writer likes the {item}; is the reviewer happy with the {item}?; is the sentiment positive?
"""
_UNSATISFIED = """
is the reviewer dissatisfied?; is this review negative?; is the {noun} negative?
does the reviewer dislike it?; is the author unhappy?; is it a bad review?; the reviewer is unhappy
does the writer complain?; is the customer disappointed?; negative?; the {noun} is negative
did they hate it?; is the user disappointed with the {item}?; is the sentiment negative?
is this a complaint?; is this {noun} critical?
"""
SEEN: dict[str, tuple[str, ...]] = {
    "satisfied": lines(_SATISFIED), "!satisfied": lines(_UNSATISFIED),
    "recommends": _PHRASES["SEEN recommends"],
    "buy_again": _PHRASES["SEEN buy_again"],
    "order_again": _PHRASES["SEEN order_again"],
    "price": _PHRASES["SEEN price"],
    "shipping": _PHRASES["SEEN shipping"],
    "battery": _PHRASES["SEEN battery"],
    "gift": _PHRASES["SEEN gift"],
    "acting": _PHRASES["SEEN acting"],
    "ending": _PHRASES["SEEN ending"],
    "music": _PHRASES["SEEN music"],
    "kids": _PHRASES["SEEN kids"],
    "kids_plot": _PHRASES["SEEN kids_plot"],
    "bitter": _PHRASES["SEEN bitter"],
    "sweet": _PHRASES["SEEN sweet"],
    "dark": _PHRASES["SEEN dark"],
    "urgent": _PHRASES["SEEN urgent"],
    "angry": _PHRASES["SEEN angry"],
    "refund": _PHRASES["SEEN refund"],
    "order_number": _PHRASES["SEEN order_number"],
}  # fmt: skip
COMPOSED = {name: composed(name) for name in SEEN}


def ask(name: str, rng: Random) -> str:
    """Draw a question of training: one of the written ones or a composed one."""
    return rng.choice(SEEN[name] if rng.random() < 0.4 else COMPOSED[name])


UNSEEN: dict[str, tuple[str, ...]] = _PHRASES.group("UNSEEN")
"""Templates that never stand in training, written after the last change to its phrasings."""
