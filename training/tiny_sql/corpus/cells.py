"""Example values of a text column: by the column's meaning, else of common or made-up words."""

import random
from collections.abc import Sequence
from functools import cache

from training.tiny_sql.corpus.lexicon.values import FIRST_NAMES, LAST_NAMES, PERSONS, VALUES
from training.tiny_sql.corpus.spoken import NAME_ENDINGS, SpokenColumn
from training.tiny_sql.corpus.words import common_word, is_held_out, made_up_word

EXAMPLES = 6


@cache
def _side(words: tuple[str, ...], held_out: bool) -> tuple[str, ...]:
    """The words of one side of the split, where there are enough of them."""
    return tuple(word for word in words if is_held_out(word) == held_out)


def example_values(rng: random.Random, column: SpokenColumn, held_out: bool) -> tuple[str, ...]:
    """Up to six different values."""
    return tuple(dict.fromkeys(_values(rng, column, held_out)))


def _values(rng: random.Random, column: SpokenColumn, held_out: bool) -> Sequence[str]:
    last = column.words[-1]
    known = _side(VALUES.get(last, ()), held_out)
    if known and rng.random() < 0.75:
        return rng.sample(known, min(len(known), EXAMPLES))
    if column.is_long:
        return [sentence(rng, held_out) for _ in range(EXAMPLES)]
    if last in PERSONS or (last.endswith(NAME_ENDINGS) and column.table.person):
        if rng.random() < 0.75:
            return [person(rng, held_out) for _ in range(EXAMPLES)]
    make = rng.choice(MAKERS)
    return [make(rng, held_out) for _ in range(EXAMPLES)]


def person(rng: random.Random, held_out: bool) -> str:
    """A full name; the family name tells the side."""
    return rng.choice(FIRST_NAMES) + " " + rng.choice(_side(LAST_NAMES, held_out))


def sentence(rng: random.Random, held_out: bool) -> str:
    """A few words that end in a full stop."""
    return " ".join(common_word(rng, held_out) for _ in range(rng.randint(3, 7))).capitalize() + "."


def _word(rng: random.Random, held_out: bool) -> str:
    return common_word(rng, held_out)


def _capital(rng: random.Random, held_out: bool) -> str:
    return common_word(rng, held_out).capitalize()


def _two_words(rng: random.Random, held_out: bool) -> str:
    return f"{_capital(rng, held_out)} {_capital(rng, held_out)}"


def _title(rng: random.Random, held_out: bool) -> str:
    shape = rng.choice(
        ("The {a}", "The {a} {b}", "{a} of {b}", "{a} and {b}", "A {a}", "{a} {b} {c}", "{a} 2", "{a}'s {b}")
    )
    return shape.format(a=_capital(rng, held_out), b=_capital(rng, held_out), c=_capital(rng, held_out))


def _made_up(rng: random.Random, held_out: bool) -> str:
    return made_up_word(rng, held_out).capitalize()


def _half_made_up(rng: random.Random, held_out: bool) -> str:
    return f"{_made_up(rng, held_out)} {common_word(rng, held_out)}"


def _code(rng: random.Random, held_out: bool) -> str:
    return f"{made_up_word(rng, held_out)[:3].upper()}-{rng.randint(1, 999)}"


MAKERS = (_word, _word, _capital, _capital, _two_words, _title, _made_up, _half_made_up, _code)
