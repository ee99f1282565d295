"""Short exercises: copying values, and the meaning of single words. Per token they teach more than rows."""

import re
from random import Random

from training.phrase_files import Phrases
from training.tiny.corpus import (
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
from training.tiny.corpus.text import Writer, sentence
from training.tiny.prompts import choices_line

_PHRASES = Phrases(__file__)

_KEYS = _PHRASES["_KEYS"]
_TIERS = {1: "adj1", 2: "adj2", 3: "adj3", 4: "adj4", 5: "adj5"}
_TRAITS = {2: "bad_trait", 4: "good_trait"}
_NOUNS = {2: "neg_noun", 5: "pos_noun"}
_SOUP = _PHRASES["_SOUP"]
_BARE = _PHRASES["_BARE"]


def value(rng: Random) -> str:
    """Invent a value worth copying."""
    kind = rng.randrange(12)
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
    if kind > 8:
        letters = rng.choice(_ALPHABETS)
        return " ".join(_gibberish(letters, rng) for _ in range(rng.choice((1, 1, 2, 3))))
    return entities.brand(rng, False)


def _gibberish(letters: str, rng: Random) -> str:
    word = "".join(rng.choice(letters) for _ in range(rng.randint(2, 10)))
    return word.capitalize() if rng.random() < 0.4 else word


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


def _ticket_fact(rng: Random) -> tuple[str, str, bool, str]:
    """Return a sentence or two of a ticket, a fact's name, and whether it holds."""
    writer = rows.make_writer("products", rng, False)
    writer.bound["item"] = rng.choice(("laptop", "kettle", "jacket", "drill"))
    holds, name = rng.random() < 0.5, rng.choice(("urgent", "angry", "refund"))
    yes, no = {
        "urgent": (lex_tickets.URGENT, lex_tickets.RELAXED), "angry": (lex_tickets.ANGRY, lex_tickets.POLITE),
        "refund": (lex_tickets.REFUND_ASK, lex_tickets.NO_REFUND_ASK),
    }[name]  # fmt: skip
    said = [writer.say(yes if holds else no)]
    if rng.random() < 0.5:
        said.append(writer.say(lex_tickets.PLAIN))
    rng.shuffle(said)
    return " ".join(sentence(one) for one in said), name, holds, "tickets"


def fact(rng: Random) -> tuple[str, str, bool, str]:
    """Return a few sentences of a row, a fact's name, whether it holds, and the kind of row.

    Where a mention is denied another matter is mentioned, so that the words decide and not their being there.
    """
    kind = rng.choice(("products", "products", "films", "films", "beers", "tickets"))
    if kind == "tickets":
        return _ticket_fact(rng)
    domain, writer = rows.DOMAINS[kind], rows.make_writer(kind, rng, False)
    names = [name for name in domain.facts if name not in ("buy_again", "order_again")]
    name, holds = rng.choice(names), rng.random() < 0.5
    if domain.fact_is_polar:
        said = writer.say(domain.facts[name]["good" if holds else "bad"])
    else:
        other = name if holds else rng.choice([one for one in names if one != name])
        said = writer.say(domain.facts[other][rng.choice(("good", "bad"))])
    parts = [said] + [
        writer.say(rng.choice((domain.neutral, domain.good, domain.bad)))
        for _ in range(rng.choice((0, 1, 2)))
    ]
    rng.shuffle(parts)
    text = " ".join(sentence(one) for one in parts)
    if not holds and not domain.fact_is_polar and re.search(rows.MENTIONS[name], text, re.IGNORECASE):
        return fact(rng)
    return text, name, holds, kind


_ALPHABETS = _PHRASES["_ALPHABETS"]
DRILLS = (repeat, recall, recall, pick)
