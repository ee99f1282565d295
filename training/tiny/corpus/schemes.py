"""Labelling schemes of the category task: which row, which column, which names a label goes by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from training.tiny.corpus import lex_beers, lex_films, lex_products, lex_tickets, rows
from training.tiny.corpus.tickets import ticket_row

RowMaker = Callable[..., rows.GeneratedRow]
REVIEW_ROWS: tuple[RowMaker, ...] = (rows.product_row, rows.film_row, rows.beer_row)
_TOO_CLOSE = (
    {"Crime", "Thriller"}, {"Fantasy", "Animation"}, {"Drama", "Family"}, {"refund", "complaint"},
    {"refund", "damaged item"}, {"complaint", "damaged item"},
)  # fmt: skip


@dataclass(frozen=True)
class Scheme:
    """`names` maps each label to the other names it goes by; `columns` are those that show it."""

    make: RowMaker
    names: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]


SCHEMES = {
    "category": Scheme(rows.product_row, lex_products.CATEGORY_NAMES, ("name", "description", "item")),
    "genre": Scheme(rows.film_row, dict.fromkeys(lex_films.GENRES, ()), ("plot",)),
    "style": Scheme(rows.beer_row, dict.fromkeys(lex_beers.STYLES, ()), ("style", "listing", "listing")),
    "matter": Scheme(ticket_row, lex_tickets.KIND_NAMES, ("text",)),
}


def spelled(scheme: str, label: str, rng: Random) -> str:
    """Spell a category by its own name, or by one of its other names."""
    text = rng.choice((label, label, label, *SCHEMES[scheme].names[label]))
    draw = rng.random()
    return text.lower() if draw < 0.15 else text[:1].upper() + text[1:] if draw < 0.3 else text


def pick_choices(scheme: str, label: str, rng: Random) -> tuple[tuple[str, ...], str]:
    """Draw three to twelve choices in any order, the true one among them; return them and the true one."""
    others = [one for one in SCHEMES[scheme].names if one != label and {one, label} not in _TOO_CLOSE]
    drawn = [label, *rng.sample(others, rng.randint(2, min(rng.choice((4, 7, 7, 11)), len(others))))]
    names = [spelled(scheme, one, rng) for one in drawn]
    answer = names[0]
    rng.shuffle(names)
    return tuple(names), answer
