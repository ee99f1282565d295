"""Made-up names: brands, people, cities, titles, breweries. Train and held-out names share none."""

from collections.abc import Callable
from random import Random

from training.phrase_files import Phrases
from training.tiny.corpus.text import Pool, is_held_out, words

_PHRASES = Phrases(__file__)

_ONSETS = words("b br c ch cl d dr f fl g gr h j k kr l m n p pl qu r s sh sk st t tr v w x y z th")
_VOWELS = words("a e i o u ai au ea ee ia io oo ou y")
_CODAS = words("l m n r s t x k nd rn st ck lt ss ra ro la na ta ix on us is um")
_BRAND_ENDS = words("tech ware ix ora on ex ly io max line pro era ella ium ify lab works co a o i an er sen")
_FIRST = Pool(_PHRASES["_FIRST 1"], split_all=True)
_LAST = Pool(_PHRASES["_LAST 1"], split_all=True)
CITIES = Pool(_PHRASES["CITIES 1"], split_all=True)
_TITLE_NOUNS = _PHRASES["_TITLE_NOUNS"]
_TITLE_ADJ = _PHRASES["_TITLE_ADJ"]
_BREW_ENDS = words("Brewing Brewery Brauhaus Ales Beer_Co. Brouwerij Craft_Brewery Cellars Brewhouse")


def _syllables(rng: Random, count: int) -> str:
    return "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(count))


def _until(rng: Random, held_out: bool, make: Callable[[Random], str]) -> str:
    while is_held_out(name := make(rng)) != held_out:
        pass
    return name


def _brand(rng: Random) -> str:
    stem = _syllables(rng, rng.choice((1, 2, 2))).capitalize()
    end = rng.choice(_BRAND_ENDS) if rng.random() < 0.5 else rng.choice(_CODAS)
    name = stem + end
    return name.upper() if rng.random() < 0.05 else name


def _title(rng: Random) -> str:
    noun, other, adj = rng.choice(_TITLE_NOUNS), rng.choice(_TITLE_NOUNS), rng.choice(_TITLE_ADJ)
    return rng.choice((
        f"The {adj} {noun}", f"The {noun} and the {other}", f"{adj} {noun}",
        f"The {noun} of {_syllables(rng, 2).capitalize()}",
        f"A {noun} in {other}", f"{noun} {other}", f"{_syllables(rng, 2).capitalize()}", f"The {noun}",
        f"{noun} {rng.randint(2, 9)}",
        f"{adj} {noun}: {other} Rising", f"My {adj} {noun}", f"The {_brand(rng)} {noun}",
    ))  # fmt: skip


def brand(rng: Random, held_out: bool) -> str:
    """Invent a maker's name."""
    return _until(rng, held_out, _brand)


def title(rng: Random, held_out: bool) -> str:
    """Invent a film title."""
    return _until(rng, held_out, _title)


def person(rng: Random, held_out: bool) -> str:
    """Draw a first and a last name."""
    return f"{rng.choice(_FIRST.part(held_out))} {rng.choice(_LAST.part(held_out))}"


def city(rng: Random, held_out: bool) -> str:
    """Draw a city."""
    return rng.choice(CITIES.part(held_out))


def brewery(rng: Random, held_out: bool) -> str:
    """Invent a brewery."""
    return f"{brand(rng, held_out).capitalize()} {rng.choice(_BREW_ENDS)}"


def price(rng: Random) -> str:
    """Write an amount of money in one of several ways."""
    amount = rng.choice((rng.randint(2, 60), rng.randint(20, 400), rng.randint(100, 3000)))
    cents = rng.choice(("", ".99", ".50", ".95", ".00", f".{rng.randint(10, 98)}"))
    sign = rng.choice(("$", "$", "€", "£", "₹", "EUR", "USD", "dollars", "euros"))
    if sign in ("$", "£", "₹", "€") and rng.random() < 0.85:
        return f"{sign}{amount}{cents}"
    return f"{amount}{cents} {sign}"


def order_number(rng: Random) -> str:
    """Write an order number in one of several ways."""
    digits = "".join(rng.choice("0123456789") for _ in range(rng.randint(4, 8)))
    return rng.choice(("", "#", "A-", "ORD-", "AB", "B", "SO-", "2024-", "X")) + digits


def year(rng: Random) -> str:
    """Draw a year."""
    return str(rng.randint(1950, 2025))
