"""Support tickets: a matter, a tone, an urgency, and the fields that an agent would copy out."""

from random import Random

from training.tiny.corpus import lex_products, lex_tickets, summaries
from training.tiny.corpus.noise import roughen
from training.tiny.corpus.rows import GeneratedRow, make_writer
from training.tiny.corpus.text import fix_articles, sentence

_ALL_ITEMS = tuple(item for group in lex_products.CATEGORIES.values() for item in group)


def ticket_row(rng: Random, held_out: bool, kind: str | None = None) -> GeneratedRow:
    """Write a support ticket."""
    writer = make_writer("products", rng, held_out)
    writer.bound["item"] = rng.choice(_ALL_ITEMS).removeprefix("pair of ")
    kind = kind or rng.choice(tuple(lex_tickets.KINDS))
    said = [writer.say(lex_tickets.KINDS[kind])]
    if writer.chance(0.3):
        said.append(writer.say(lex_tickets.KINDS[kind]))
    extra = [writer.say(lex_tickets.PLAIN) for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))]
    facts: dict[str, bool] = {}
    for fact, yes, no in (
        ("urgent", lex_tickets.URGENT, lex_tickets.RELAXED),
        ("angry", lex_tickets.ANGRY, lex_tickets.POLITE),
    ):
        draw = rng.random()
        if draw < 0.6:
            facts[fact] = draw < 0.3
            extra.append(writer.say(yes if facts[fact] else no))
    facts["refund"] = kind == "refund"
    if kind in ("damaged item", "technical", "shipping", "billing") and writer.chance(0.5):
        facts["refund"] = writer.chance(0.6)
        extra.append(writer.say(lex_tickets.REFUND_ASK if facts["refund"] else lex_tickets.NO_REFUND_ASK))
    rng.shuffle(extra)
    said[1:1] = extra[: len(extra) // 2]
    said.extend(extra[len(extra) // 2 :])
    text = fix_articles(" ".join(sentence(clause) for clause in said))
    facts["order_number"] = writer.bound["order"] in text
    signed = writer.chance(0.7)
    if writer.chance(0.5):
        text = f"{writer.pick(lex_tickets.GREETING)}, {text}"
    plain = roughen(text, None, rng)
    text = f"{plain} {writer.say(lex_tickets.CLOSING)}" if signed else plain
    columns = {"text": text, "name": writer.bound["name"] if signed else "", "item": "ticket"}
    for column, present in (
        ("order", writer.bound["order"]),
        ("city", writer.bound["city"]),
        ("price", writer.bound["price"]),
    ):
        columns[column] = present if present in text else ""
    summary = summaries.ticket_summary(kind, facts.get("urgent"))
    return GeneratedRow(
        "tickets",
        columns,
        None,
        facts,
        {"matter": kind},
        summary,
        summaries.ticket_reply(kind, columns["name"]),
    )
