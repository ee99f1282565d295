"""Write the shipped example tables: `python -m training.tiny.examples [--out DIR]`."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from relserve.examples import TABLES
from training.tiny.corpus.lex_products import CATEGORIES
from training.tiny.corpus.rows import beer_row, film_row, product_row
from training.tiny.corpus.tickets import ticket_row

SEED = "examples"
Value = str | int | float | None
_NUM_PRODUCTS, _NUM_REVIEWS, _NUM_FILMS, _NUM_BEERS, _NUM_TICKETS = 60, 300, 80, 120, 150
_ITEMS = tuple(item for items in CATEGORIES.values() for item in items)
_ODD_REVIEWS: tuple[tuple[str | None, int | None], ...] = (
    (None, None), (None, 4), ("", 3), (" ", None), ("👍👍👍", 5), ("💩", 1), ("ok", 3), ("????", None),
    ('He said "great", then it broke.', 2), ("It's fine; really, it's 'fine'.", 3),
    ("Schönes Gerät, läuft prima. Very good!", 5), ("非常好,很满意。", 5), ("Отлично работает!", 5),
    ("とても悪い。二度と買わない。", 1), ("لا يعمل", 1), ("<b>Great</b> &amp; cheap", 5), ("5/5", 5),
    ("line one\nline two: still bad\nline three: awful", 1), ("100% recommended {really}", 5),
    ("WORST PURCHASE EVER!!!!!!!", 1), ("good good good good good good", 5), (";,\"'|\\", None),
    ("not bad, not bad at all", 4),
)  # fmt: skip


def _field(value: Value) -> str:
    """Write NULL as nothing, a number bare, and every text in quotes."""
    if value is None:
        return ""
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
    """Write a CSV file with `\\n` line ends."""
    text = [",".join(header)] + [",".join(_field(value) for value in row) for row in rows]
    path.write_text("\n".join(text) + "\n", encoding="utf-8", newline="\n")


def _amount(price: str) -> float:
    return float("".join(letter for letter in price if letter in "0123456789."))


def product_tables(rng: Random) -> tuple[list[Sequence[Value]], list[Sequence[Value]]]:
    """Return products, and reviews of them with NULLs, repeats and odd texts."""
    products: list[Sequence[Value]] = []
    reviews: list[Sequence[Value]] = []
    texts: list[tuple[int, str | None, int | None]] = []
    items: list[str] = []
    for number in range(1, _NUM_PRODUCTS + 1):
        items.append(rng.choice(_ITEMS))
        row = product_row(rng, False, item=items[-1])
        held = row.columns
        described = None if number % 17 == 0 else held["description"]
        products.append(
            (number, held["name"], held["brand"], row.labels["category"], _amount(held["price"]), described)
        )
    while len(texts) < _NUM_REVIEWS - len(_ODD_REVIEWS) - 12:
        product = rng.randint(1, _NUM_PRODUCTS)
        row = product_row(rng, False, item=items[product - 1])
        texts.append((product, row.columns["review"], row.stars))
    texts += [(rng.randint(1, _NUM_PRODUCTS), text, stars) for text, stars in _ODD_REVIEWS]
    texts += [rng.choice(texts) for _ in range(10)]
    for product, given, num_parts in ((1, 5, 60), (2, 1, 40)):
        parts = [product_row(rng, False, given, items[product - 1]) for _ in range(num_parts)]
        texts.append((product, " ".join(part.columns["review"] for part in parts), given))
    rng.shuffle(texts)
    for number, (product, text, stars) in enumerate(texts, 1):
        reviews.append((number, product, text, stars))
    return products, reviews


def film_table(rng: Random) -> list[Sequence[Value]]:
    """Return films with plot and review."""
    rows: list[Sequence[Value]] = []
    for number in range(1, _NUM_FILMS + 1):
        row = film_row(rng, False)
        held = row.columns
        review = None if number % 13 == 0 else held["review"]
        title, director, year = held["title"], held["director"], int(held["year"])
        rows.append((number, title, director, year, row.labels["genre"], held["plot"], review, row.stars))
    return rows


def beer_table(rng: Random) -> list[Sequence[Value]]:
    """Return beers with tasting notes."""
    rows: list[Sequence[Value]] = []
    for number in range(1, _NUM_BEERS + 1):
        row = beer_row(rng, False)
        held = row.columns
        abv = None if number % 19 == 0 else float(held["abv"].rstrip("%"))
        review = None if number % 23 == 0 else held["review"]
        names = (held["name"], held["brewery"], held["style"])
        rows.append((number, *names, abv, held["city"], review, row.stars))
    return rows


def ticket_table(rng: Random) -> list[Sequence[Value]]:
    """Return support tickets, a few of them sent twice."""
    rows: list[Sequence[Value]] = []
    for number in range(1, _NUM_TICKETS + 1):
        if number % 29 == 0:
            rows.append((number, *rows[-1][1:]))
            continue
        row = ticket_row(rng, False)
        text = None if number % 31 == 0 else row.columns["text"]
        urgent = str(row.facts.get("urgent", False)).lower()
        rows.append((number, row.columns["name"] or None, text, row.labels["matter"], urgent))
    return rows


def write_all(folder: Path) -> None:
    """Write the five tables into a folder; the same bytes every time."""
    products, reviews = product_tables(Random(f"{SEED}-products"))
    tables: dict[str, tuple[tuple[str, ...], list[Sequence[Value]]]] = {
        "products": (("id", "name", "brand", "category", "price", "description"), products),
        "reviews": (("id", "product_id", "review", "stars"), reviews),
        "films": (
            ("id", "title", "director", "year", "genre", "plot", "review", "stars"),
            film_table(Random(f"{SEED}-films")),
        ),
        "beers": (
            ("id", "name", "brewery", "style", "abv", "city", "review", "stars"),
            beer_table(Random(f"{SEED}-beers")),
        ),
        "tickets": (("id", "customer", "text", "kind", "urgent"), ticket_table(Random(f"{SEED}-tickets"))),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (header, rows) in tables.items():
        write_table(folder / TABLES[name].name, header, rows)


def main() -> None:
    """Parse the command line and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=TABLES["reviews"].parent)
    write_all(parser.parse_args().out)


if __name__ == "__main__":
    main()
