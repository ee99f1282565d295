"""What is said of a column in words that are not its name: synonyms and adjectives.

The keys are a column's whole name or its last word.
"""

from typing import NamedTuple

from training.phrase_files import Phrases

_PHRASES = Phrases(__file__)

SYNONYMS: dict[str, tuple[str, ...]] = _PHRASES.group("SYNONYMS")


class Adjectives(NamedTuple):
    """The comparatives and superlatives of much and of little."""

    more: tuple[str, ...]
    most: tuple[str, ...]
    less: tuple[str, ...]
    least: tuple[str, ...]


def _adjectives(text: str) -> Adjectives:
    more, most, less, least = (tuple(part.split(", ")) for part in text.split(" / "))
    return Adjectives(more, most, less, least)


_COST = _adjectives(
    "more expensive, costlier, pricier / most expensive, costliest, priciest, dearest / cheaper, less expensive / cheapest, least expensive"
)
_SIZE = _adjectives("larger, bigger / largest, biggest / smaller / smallest")
_LONG = _adjectives("longer / longest / shorter / shortest")
_RATED = _adjectives(
    "better rated, rated higher, better / best rated, highest rated, top rated, best / worse rated, rated lower, worse / worst rated, lowest rated, worst"
)
_PAID = _adjectives(
    "better paid, higher paid / best paid, highest paid, highest earning / worse paid, lower paid / worst paid, lowest paid"
)
_NEW = _adjectives("newer, more recent / newest, most recent, latest / older / oldest")
_HIGH = _adjectives("taller, higher / tallest, highest / shorter, lower / shortest, lowest")
_POWER = _adjectives(
    "more powerful, stronger / most powerful, strongest / less powerful, weaker / least powerful, weakest"
)
_HEAVY = _adjectives("heavier / heaviest / lighter / lightest")
_HOT = _adjectives("hotter, warmer / hottest, warmest / colder, cooler / coldest, coolest")
_POPULAR = _adjectives("more popular / most popular / less popular / least popular")

ADJECTIVES: dict[str, Adjectives] = {
    "price": _COST,
    "cost": _COST,
    "fee": _COST,
    "rent": _COST,
    "age": _adjectives("older / oldest / younger / youngest"),
    "height": _HIGH,
    "elevation": _HIGH,
    "altitude": _adjectives("higher / highest / lower / lowest"),
    "depth": _adjectives("deeper / deepest / shallower / shallowest"),
    "thickness": _adjectives("thicker / thickest / thinner / thinnest"),
    "density": _adjectives("denser / densest / less dense / least dense"),
    "weight": _HEAVY,
    "length": _LONG,
    "duration": _LONG,
    "minutes": _LONG,
    "pages": _LONG,
    "speed": _adjectives("faster, quicker / fastest, quickest / slower / slowest"),
    "area": _SIZE,
    "population": _adjectives(
        "larger, bigger, more populous / largest, biggest, most populous / smaller, less populous / smallest, least populous"
    ),
    "capacity": _SIZE,
    "employees": _SIZE,
    "size": _SIZE,
    "volume": _SIZE,
    "width": _adjectives("wider, broader / widest, broadest / narrower / narrowest"),
    "abv": _adjectives("stronger / strongest / weaker, milder / weakest, mildest"),
    "alcohol": _adjectives("stronger / strongest / weaker / weakest"),
    "rating": _RATED,
    "stars": _RATED,
    "salary": _PAID,
    "wage": _PAID,
    "income": _adjectives("richer / richest / poorer / poorest"),
    "net_worth": _adjectives("richer, wealthier / richest, wealthiest / poorer / poorest"),
    "year": _NEW,
    "temperature": _HOT,
    "power": _POWER,
    "horsepower": _POWER,
    "profit": _adjectives("more profitable / most profitable / less profitable / least profitable"),
    "followers": _POPULAR,
    "votes": _POPULAR,
    "downloads": _adjectives("more downloaded / most downloaded / less downloaded / least downloaded"),
    "views": _adjectives(
        "more viewed, more watched / most viewed, most watched / less viewed / least viewed"
    ),
    "likes": _adjectives("more liked / most liked / less liked / least liked"),
    "distance": _adjectives("farther, longer / farthest, longest / nearer, shorter / nearest, shortest"),
    "calories": _adjectives("richer in calories / richest in calories / lighter / lightest"),
}
