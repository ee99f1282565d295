"""Write the shipped file of customers' messages: `python -m training.tiny.messages [--out FILE]`.

The messages stand for a reader's own data: several languages, quotes, line ends, empty texts. Whether each
is a complaint and which order it names are known, because the program that wrote it chose them.
"""

from __future__ import annotations

import argparse
from datetime import date, timedelta
from pathlib import Path
from random import Random

from relserve.examples import MESSAGES
from training.phrase_files import Phrases
from training.tiny.corpus.text import Writer
from training.tiny.examples import Value, write_table

HEADER = ("id", "received", "country", "message", "complaint", "order_number", "language")
NUM_MESSAGES = 400
FIRST_DAY = date(2025, 1, 6)
NUM_DAYS = 180
COMPLAINT_SHARE = 0.42

COUNTRIES = {
    "en": ("United Kingdom", "Ireland", "United States"),
    "de": ("Germany", "Austria", "Switzerland"),
    "fr": ("France", "Belgium", "Switzerland"),
    "es": ("Spain", "Mexico"),
    "it": ("Italy", "Switzerland"),
    "nl": ("Netherlands", "Belgium"),
    "pt": ("Portugal", "Brazil"),
    "ja": ("Japan",),
}
SHARES = {"en": 34, "de": 22, "fr": 12, "es": 10, "it": 8, "nl": 6, "pt": 5, "ja": 3}  # of a hundred
CURRENCIES = {"en": "£{}", "ja": "{}円"}

_PHRASES = Phrases(__file__)
_COMPLAINTS, _OTHERS = _PHRASES.group("COMPLAINT"), _PHRASES.group("OTHER")
_CLOSINGS, _ITEMS = _PHRASES.group("CLOSING"), _PHRASES.group("ITEM")
_EVERY_EMPTY, _EVERY_NULL, _EVERY_REPEAT, _EVERY_STATELESS = 67, 53, 61, 47  # rows of a kind, one in so many


def message_rows() -> list[tuple[Value, ...]]:
    """The rows of the file, in the order of their days; the same every time."""
    rng = Random("messages")
    days = sorted(rng.randrange(NUM_DAYS) for _ in range(NUM_MESSAGES))
    rows: list[tuple[Value, ...]] = []
    for number, day in enumerate(days, 1):
        received = (FIRST_DAY + timedelta(days=day)).isoformat()
        language = rng.choices(tuple(SHARES), tuple(SHARES.values()))[0]
        country = None if number % _EVERY_STATELESS == 0 else rng.choice(COUNTRIES[language])
        if number % _EVERY_REPEAT == 0:  # sent twice
            rows.append((number, received, *rows[-1][2:]))
        elif number % _EVERY_NULL == 0 or number % _EVERY_EMPTY == 0:
            text = None if number % _EVERY_NULL == 0 else ""
            rows.append((number, received, country, text, None, None, None))
        else:
            rows.append((number, received, country, *_message(rng, language), language))
    return rows


def _message(rng: Random, language: str) -> tuple[str, str, str | None]:
    """A message, whether it is a complaint (true or false), and the order that it names."""
    writer = Writer(rng, {"item": _ITEMS[language]}, False)
    order = f"{rng.choice('KMRT')}{rng.choice('XZ')}-{rng.randrange(10_000, 100_000)}"
    price = CURRENCIES.get(language, "{} €").format(f"{rng.randrange(12, 240)}.90")
    writer.bound.update(order=order, days=str(rng.randrange(2, 30)), price=price)
    complains = writer.chance(COMPLAINT_SHARE)
    text = writer.say((_COMPLAINTS if complains else _OTHERS)[language])
    if writer.chance(0.5):
        text += rng.choice((" ", " ", "\n")) + writer.say(_CLOSINGS[language])
    if writer.chance(0.06):
        text = text.upper()
    return text, str(complains).lower(), order if order in text else None


def main() -> None:
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=MESSAGES)
    write_table(parser.parse_args().out, HEADER, message_rows())


if __name__ == "__main__":
    main()
