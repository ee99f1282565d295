"""Short exercises: copying values, and the meaning of single words. Per token they teach more than rows."""

from random import Random

from relserve.tiny.corpus import (
    entities,
    labels,
    layouts,
    lex_beers,
    lex_general,
    lex_products,
    lex_tickets,
    phrasings,
    rows,
)
from relserve.tiny.corpus.text import Writer
from relserve.tiny.prompts import choices_line

_KEYS = (
    "brand", "price", "city", "name", "title", "order number", "director", "colour", "year", "maker",
    "amount", "product", "customer", "place", "style", "code", "author", "item", "size", "email",
)  # fmt: skip
_TIERS = {1: "adj1", 2: "adj2", 3: "adj3", 4: "adj4", 5: "adj5"}
_TRAITS = {2: "bad_trait", 4: "good_trait"}
_NOUNS = {2: "neg_noun", 5: "pos_noun"}
_SOUP = (
    "{w}, {w} and {w}", "{w} {aspect}, {w} {aspect}", "{w}. {w}. {w}.", "{w} {w} {w} {w}", "{aspect} {w} {w}",
    "{n}. {w}.", "{w}. {n}.", "{n}. {w} {aspect}. {n}.", "{aspect} {w}, {aspect} {w}, {aspect} {w}",
    "{w} - {w}", "so {w} and {w}", "{n}, {n}, {w}, {w}", "{w}! {w}! {n}", "{w} {aspect} with {w} {aspect}",
    "{w}/{w}", "{aspect}, {aspect} and {aspect} {w}", "found it {w}", "think {w}, {w}, {w}",
)  # fmt: skip
_BARE = (
    "{w}",
    "{w}",
    "{w}.",
    "{w} {item}",
    "it is {w}",
    "{w}!",
    "the {aspect} is {w}",
    "{w} {aspect}",
    "very {w}",
)


def value(rng: Random) -> str:
    """Invent a value worth copying."""
    kind = rng.randrange(8)
    if kind == 0:
        return entities.price(rng)
    if kind == 1:
        return entities.order_number(rng)
    if kind == 2:
        return entities.title(rng, False)
    if kind == 3:
        return entities.person(rng, False)
    if kind == 4:
        return entities.city(rng, False)
    if kind == 5:
        return rng.choice(lex_general.ADJ2 + lex_general.ADJ4 + lex_products.ASPECT)
    return entities.brand(rng, False)


def repeat(rng: Random) -> tuple[str, str, tuple[str, ...]]:
    """Repeat a list of values word for word."""
    text = rng.choice((" ", ", ", "; ")).join(value(rng) for _ in range(rng.randint(2, 9)))
    return f"{rng.choice(('Repeat', 'Copy', 'Write again', 'Say'))}: {text}", text, ()


def recall(rng: Random) -> tuple[str, str, tuple[str, ...]]:
    """Return the value of one key among several."""
    keys = rng.sample(_KEYS, rng.randint(1, 5))
    pairs = {key: value(rng) for key in keys}
    link, gap = rng.choice((": ", ": ", " = ", " is ", " ")), rng.choice(("; ", ", ", "\n", ". ", " | "))
    text = gap.join(f"{key}{link}{held}" for key, held in pairs.items())
    wanted = rng.choice(keys)
    said = rng.choice(phrasings.EXTRACTION).replace("{field}", wanted).replace("{Field}", wanted.capitalize())
    said = layouts.blur(rng, wanted) if rng.random() < 0.4 else said
    return layouts.compose(said, "text", rng).replace("{data}", text), pairs[wanted], ()


def pick(rng: Random) -> tuple[str, str, tuple[str, ...]]:
    """Return the choice that the text names."""
    source = rng.choice((labels.TWO, labels.THREE, labels.FIVE, None))
    if source:
        choices = labels.case(rng.choice(source), rng)
    else:
        pool = (
            *lex_products.CATEGORIES,
            *lex_tickets.KINDS,
            *_KEYS,
            *lex_beers.STYLES,
        )
        choices = labels.case(tuple(rng.sample(pool, rng.randint(2, 7))), rng)
    choices = tuple(rng.sample(choices, len(choices)))
    answer = rng.choice(choices)
    shown = rng.choice((answer, answer.lower(), answer.upper(), answer.capitalize()))
    form = (
        "It is {a}",
        "The answer is {a}",
        "{a}",
        "Say {a}.",
        "I would call it {a}",
        "label: {a}",
        "Text: {a}\nLabel it.",
        "clearly {a}",
    )
    return choices_line(choices) + rng.choice(form).replace("{a}", shown), answer, choices


def word_sense(rng: Random) -> tuple[str, int, str]:
    """Return a bare judgement of a few words, its stars, and its kind of row."""
    kind = rng.choice(("products", "films", "beers"))
    writer: Writer = rows.make_writer(kind, rng, False)
    writer.bound["item"] = {"products": "product", "films": "film", "beers": "beer"}[kind]
    stars = rng.choice((1, 2, 4, 5, 1, 2, 4, 5, 3))
    slot = _TIERS[stars]
    if stars in _TRAITS and rng.random() < 0.5:
        slot = _TRAITS[stars]
    if stars in _NOUNS and rng.random() < 0.15:
        slot = _NOUNS[stars]
        return (
            writer.fill(
                rng.choice(("a {w}", "what a {w}", "{w}", "it was a {w}")).replace("{w}", "{" + slot + "}")
            ),
            stars,
            kind,
        )
    if rng.random() < 0.5:
        return writer.fill(rng.choice(_BARE).replace("{w}", "{" + slot + "}")), stars, kind
    soup = rng.choice(_SOUP).replace("{n}", rng.choice(rows.DOMAINS[kind].neutral.part(False)))
    return writer.fill(soup.replace("{w}", "{" + slot + "}")), stars, kind


DRILLS = (repeat, recall, recall, pick)
