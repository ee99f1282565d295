"""Rows of the four kinds: what a table would hold, and what is true about each row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from training.tiny.corpus import (
    entities,
    lex_beers,
    lex_clauses,
    lex_films,
    lex_general,
    lex_products,
    lex_wide,
    summaries,
)  # fmt: skip
from training.tiny.corpus.noise import roughen
from training.tiny.corpus.reviews import VERDICTS, Domain, ReviewText, write_body
from training.tiny.corpus.text import Writer

KINDS = ("products", "films", "beers", "tickets")
REVIEW_SIZES = (1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 10, 14)  # sentences


@dataclass(frozen=True)
class GeneratedRow:
    """One generated row.

    `columns` are what a SQL table would hold; `stars` is 1 to 5 or None; `facts` answers yes/no questions by
    name; `labels` holds the true category by labelling scheme; `summary` and `reply` are open answers.
    """

    kind: str
    columns: Mapping[str, str]
    stars: int | None
    facts: Mapping[str, bool] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""
    reply: str = ""


MENTIONS = {
    "price": r"price|cheap|expens|cost|money|afford|worth|value|pa(y|id)|[$€£₹]|penn|bargain|sale|budget",
    "shipping": r"ship|deliver|arriv|parcel|pack|courier|transit",
    "battery": r"batter|charg",
    "gift": r"gift|present|birthday",
    "acting": r"\bact(ing|or|ress)|cast|perform|lead",
    "ending": r"\bend|final|climax|last|conclu|\bclose",
    "music": r"music|score|song|soundtrack|\bs[ia]ng",
    "bitter": r"bitter|hop", "sweet": r"sweet|dry|sug|candy|syrup|caramel|honey|cloying|malt",
    "dark": r"dark|black|brown",
}  # fmt: skip


def _askable_facts(body: ReviewText, stars: int, domain: Domain) -> dict[str, bool]:
    """Keep the facts that the text settles; a mention is denied only if no related word is there."""
    facts = {}
    for name, wanted in body.facts.items():
        if name in ("buy_again", "order_again"):
            facts[name] = wanted
        elif domain.fact_is_polar:
            others = len(re.findall(MENTIONS[name], body.text, re.IGNORECASE))
            if others <= 1 or name == "dark":
                facts[name] = wanted
        elif wanted or not re.search(MENTIONS[name], body.text, re.IGNORECASE):
            facts[name] = wanted
    if stars != 3:
        facts["satisfied"] = stars > 3
        facts["recommends"] = stars > 3
        facts.setdefault("buy_again" if "battery" in domain.facts else "order_again", stars > 3)
    return facts


_MODULES = {"products": lex_products, "films": lex_films, "beers": lex_beers}


def _domain(kind: str) -> Domain:
    module, (good, bad, neutral) = _MODULES[kind], lex_wide.EXTRA[kind]
    return Domain(
        good=module.GOOD.joined(good, lex_clauses.GOOD), bad=module.BAD.joined(bad, lex_clauses.BAD),
        neutral=module.NEUTRAL.joined(neutral), facts=module.FACTS, verdicts=VERDICTS,
        fact_is_polar=kind == "beers",
    )  # fmt: skip


DOMAINS = {kind: _domain(kind) for kind in _MODULES}
_LEXICONS = {
    kind: {
        **lex_general.LEXICON, **lex_clauses.LEXICON, **module.LEXICON,
        "virtue": lex_clauses.VIRTUES[kind], "problem": lex_clauses.PROBLEMS[kind],
    }
    for kind, module in _MODULES.items()
}  # fmt: skip


def make_writer(kind: str, rng: Random, held_out: bool) -> Writer:
    """Return a writer for a kind of row with its names drawn and bound."""
    writer = Writer(rng, _LEXICONS[kind], held_out)
    writer.bound = {
        "price": entities.price(rng), "brand": entities.brand(rng, held_out),
        "city": entities.city(rng, held_out),
        "year": entities.year(rng), "title": entities.title(rng, held_out),
        "director": entities.person(rng, held_out),
        "brewery": entities.brewery(rng, held_out), "name": entities.person(rng, held_out),
        "abv": f"{rng.randint(30, 120) / 10}%",
        "order": entities.order_number(rng), "style": "Pale Ale",
    }  # fmt: skip
    return writer


def _stars(rng: Random) -> int:
    return rng.choice((1, 1, 2, 2, 3, 4, 4, 5, 5))


def product_row(
    rng: Random, held_out: bool, stars: int | None = None, item: str | None = None
) -> GeneratedRow:
    """Write a product with its review; `stars` and `item` (a word of the lexicon) are drawn unless given."""
    writer = make_writer("products", rng, held_out)
    stars = stars or _stars(rng)
    category = rng.choice(tuple(lex_products.CATEGORIES))
    if item is None:
        item = rng.choice(lex_products.CATEGORIES[category])
    else:
        category = next(name for name, items in lex_products.CATEGORIES.items() if item in items)
    plain = item.removeprefix("pair of ")
    writer.bound["item"] = rng.choice((plain, "product", "product", "item", "thing", plain))
    body = write_body(writer, DOMAINS["products"], stars, rng.choice(REVIEW_SIZES))
    brand, cost = writer.bound["brand"], writer.bound["price"]
    code = rng.choice(
        (
            "",
            "",
            f" {rng.choice('ABCKMXZ')}{rng.randint(1, 999)}",
            f" {rng.randint(2, 5000)}",
            " Pro",
            " Mini",
            " Plus",
        )
    )
    trait, colour = (
        rng.choice(lex_products.GOOD_TRAIT),
        rng.choice(("black", "white", "blue", "red", "green", "grey", "silver")),
    )
    name = rng.choice(
        (
            f"{brand} {plain}{code}",
            f"{brand}{code} {trait} {plain}",
            f"{brand}{code} {plain.title()}",
            f"{plain} by {brand}",
        )
    )
    tail = rng.choice(
        ("", f", {colour}", f" ({colour})", f", {trait} and {rng.choice(lex_products.GOOD_TRAIT)}")
    )
    description = rng.choice((
        f"The {name} is a {trait} {plain} in {colour}. Price: {cost}.",
        f"{name}{tail}. Made by {brand}. It costs {cost}.",
        f"{plain.capitalize()} from {brand}, {trait}, colour {colour}, now for {cost}.",
        f"{brand} presents the {plain}{code}: {trait}, {colour}, only {cost}",
        f"New from {brand}: {trait} {plain} for {cost}!",
        f"brand: {brand}; item: {plain}; colour: {colour}; price: {cost}",
        f"Buy the {colour} {plain} of {brand} at {cost} today.",
    ))  # fmt: skip
    columns = {
        "review": roughen(body.text, stars, rng), "name": name + tail, "brand": brand, "price": cost,
        "colour": colour,
        "description": description, "item": plain,
    }  # fmt: skip
    facts = _askable_facts(body, stars, DOMAINS["products"])
    summary, reply = summaries.review_summary(body, stars, plain), summaries.reply(body, stars, plain, rng)
    return GeneratedRow("products", columns, stars, facts, {"category": category}, summary, reply)


def film_row(rng: Random, held_out: bool, stars: int | None = None) -> GeneratedRow:
    """Write a film with its plot and a review."""
    writer = make_writer("films", rng, held_out)
    stars = stars or _stars(rng)
    body = write_body(writer, DOMAINS["films"], stars, rng.choice(REVIEW_SIZES))
    genre = rng.choice(tuple(lex_films.GENRES))
    title, director, year = writer.bound["title"], writer.bound["director"], writer.bound["year"]
    hooks = lex_films.GENRES[genre]
    hook, more, role = rng.choice(hooks), rng.choice(hooks), rng.choice(lex_films.ROLE)
    plot = rng.choice((
        f"A {role} {hook}.",
        f"In {writer.bound['city']}, a {role} {hook}. "
        f"Together with a {rng.choice(lex_films.ROLE)}, the {role} {more}.",
        f"{year}: a young {role} {hook}.", f"When a {role} {hook}, nothing stays the same.",
        f"A {role} {hook} and {more}.",
        f"The story of a {role} who {hook}.", f"{writer.bound['name']}, a {role}, {hook}.",
    ))  # fmt: skip
    blurb = rng.choice((
        f"{title} ({year}), directed by {director}. {plot}", f"{director}'s film {title} from {year}: {plot}",
        f"Title: {title}; director: {director}; year: {year}; genre: {genre}",
        f"{plot} \"{title}\" is a film by {director} ({year}).",
        f"{title} was made in {year} by {director}.",
        f"In {title}, {director} tells of a {role} who {hook}. Released {year}.",
    ))  # fmt: skip
    facts = _askable_facts(body, stars, DOMAINS["films"])
    if genre in lex_films.NOT_FOR_KIDS or genre in lex_films.KID_FRIENDLY:
        facts["kids_plot"] = genre in lex_films.KID_FRIENDLY
    review = body.text
    if rng.random() < 0.15:
        suitable = rng.random() < 0.5
        extra = writer.say(lex_films.KIDS["good" if suitable else "bad"])
        review, facts = f"{review} {extra.capitalize()}.".strip(), {**facts, "kids": suitable}
    columns = {
        "review": roughen(review, stars, rng), "title": title, "director": director, "year": year,
        "plot": plot, "blurb": blurb,
        "city": writer.bound["city"],
        "item": "film",
    }  # fmt: skip
    summary, reply = summaries.review_summary(body, stars, "film"), summaries.reply(body, stars, "film", rng)
    return GeneratedRow("films", columns, stars, facts, {"genre": genre}, summary, reply)


def beer_row(rng: Random, held_out: bool, stars: int | None = None) -> GeneratedRow:
    """Write a beer with a tasting note."""
    writer = make_writer("beers", rng, held_out)
    stars = stars or _stars(rng)
    family = rng.choice(tuple(lex_beers.STYLES))
    style = rng.choice(lex_beers.STYLES[family])
    writer.bound["style"] = style
    body = write_body(writer, DOMAINS["beers"], stars, rng.choice(REVIEW_SIZES))
    brewery, abv, city = writer.bound["brewery"], writer.bound["abv"], writer.bound["city"]
    stem = brewery.split(" ", maxsplit=1)[0]
    name = rng.choice(
        (
            f"{stem} {style}",
            f"{stem} {entities.title(rng, held_out).removeprefix('The ')}",
            f"{stem} {style} {rng.randint(2, 12)}",
        )
    )
    listing = rng.choice((
        f"{name}, {style}, {abv}, {brewery}, {city}",
        f"{name} is a {style} with {abv} alcohol, brewed by {brewery} in {city}.",
        f"name: {name}; style: {style}; ABV: {abv}; brewery: {brewery}",
        f"{brewery} of {city} brews {name}, a {style} ({abv}).",
    ))  # fmt: skip
    facts = _askable_facts(body, stars, DOMAINS["beers"])
    columns = {
        "review": roughen(body.text, stars, rng), "name": name, "style": style, "abv": abv,
        "brewery": brewery, "city": city,
        "listing": listing, "item": "beer",
    }  # fmt: skip
    summary, reply = summaries.review_summary(body, stars, "beer"), summaries.reply(body, stars, "beer", rng)
    return GeneratedRow("beers", columns, stars, facts, {"style": family}, summary, reply)
