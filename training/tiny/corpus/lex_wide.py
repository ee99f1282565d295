"""More adjectives and tasting, shopping and viewing clauses, for breadth of vocabulary."""

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

ADJ5 = _PHRASES["ADJ5"]
ADJ4 = _PHRASES["ADJ4"]
ADJ3 = _PHRASES["ADJ3"]
ADJ2 = _PHRASES["ADJ2"]
ADJ1 = _PHRASES["ADJ1"]

BEER_GOOD = _PHRASES["BEER_GOOD"]
BEER_BAD = _PHRASES["BEER_BAD"]
BEER_NEUTRAL = _PHRASES["BEER_NEUTRAL"]
PRODUCT_GOOD = _PHRASES["PRODUCT_GOOD"]
PRODUCT_BAD = _PHRASES["PRODUCT_BAD"]
PRODUCT_NEUTRAL = _PHRASES["PRODUCT_NEUTRAL"]
FILM_GOOD = _PHRASES["FILM_GOOD"]
FILM_BAD = _PHRASES["FILM_BAD"]
EXTRA = {
    "products": (PRODUCT_GOOD, PRODUCT_BAD, PRODUCT_NEUTRAL), "films": (FILM_GOOD, FILM_BAD, ()),
    "beers": (BEER_GOOD, BEER_BAD, BEER_NEUTRAL),
}  # fmt: skip
