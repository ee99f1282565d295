"""Filling sentence templates from word lists, with train and held-out parts kept apart."""

import re
import zlib
from collections.abc import Mapping, Sequence
from random import Random

HELD_OUT_PART = 6  # one template or name in six is kept for the held-out rows
_SLOT = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiouAEIOU](?!ne\b|se\b|nit|ni|sa|sb|SB))")


def lines(block: str) -> tuple[str, ...]:
    """Split a block into entries, one per line or `;`, dropping empties and repeats."""
    parts = (part.strip() for part in re.split(r"[;\n]", block))
    return tuple(dict.fromkeys(part for part in parts if part))


def words(block: str) -> tuple[str, ...]:
    """Split a block at white space, `_` standing for a space inside an entry."""
    return tuple(dict.fromkeys(part.replace("_", " ") for part in block.split()))


def is_held_out(entry: str) -> bool:
    """Tell whether a template or a name belongs to the held-out part, by its own checksum."""
    return zlib.crc32(entry.encode()) % HELD_OUT_PART == 0


class Pool:
    """Entries divided into a training part and a held-out part that share none."""

    def __init__(self, block: str | Sequence[str]) -> None:
        entries = lines(block) if isinstance(block, str) else tuple(block)
        held = tuple(entry for entry in entries if is_held_out(entry)) or entries[-1:]
        self.held_out = held
        self.train = tuple(entry for entry in entries if entry not in held) or entries[:-1]

    def part(self, held_out: bool) -> tuple[str, ...]:
        """Return the entries of one side of the split."""
        return self.held_out if held_out else self.train

    def joined(self, *more: "Pool | Sequence[str]") -> "Pool":
        """Return a pool that holds the entries of several."""
        entries = list(self.train + self.held_out)
        for other in more:
            entries += [*other.train, *other.held_out] if isinstance(other, Pool) else other
        return Pool(entries)


class Writer:
    """Fills templates from a lexicon with its own random source; one per row."""

    def __init__(self, rng: Random, lexicon: Mapping[str, Sequence[str]], held_out: bool) -> None:
        self.rng = rng
        self.lexicon = lexicon
        self.held_out = held_out
        self.bound: dict[str, str] = {}

    def chance(self, probability: float) -> bool:
        """Draw one event."""
        return self.rng.random() < probability

    def pick(self, source: "Pool | Sequence[str]") -> str:
        """Draw one entry from this side of a pool, or from a plain list."""
        entries = source.part(self.held_out) if isinstance(source, Pool) else source
        return entries[int(self.rng.random() * len(entries))]

    def fill(self, template: str) -> str:
        """Replace every `{slot}`: first by a bound value, else by a drawn entry, filled in turn."""
        while "{" in template:
            template = _SLOT.sub(self._slot, template)
        return template

    def say(self, source: "Pool | Sequence[str]") -> str:
        """Draw a template and fill it."""
        return self.fill(self.pick(source))

    def _slot(self, match: re.Match[str]) -> str:
        name = match.group(1)
        value = self.bound.get(name)
        return self.pick(self.lexicon[name]) if value is None else value


def fix_articles(text: str) -> str:
    """Write `an` before a vowel."""
    return _ARTICLE.sub(lambda found: found.group(1) + "n ", text)


def sentence(text: str) -> str:
    """Upper-case the first letter and close with a full stop where nothing closes it."""
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text[-1:] in ".!?)" else text + "."
