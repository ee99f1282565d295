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
    """Entries divided into a training part and a held-out part that share none.

    A fixed saying (`waste of money`) is vocabulary, as a word is: nothing else could teach its meaning, so
    both sides use it. `shared` holds these; names have no slots either, and are divided with `split_all`.
    """

    def __init__(self, block: str | Sequence[str], split_all: bool = False) -> None:
        entries = lines(block) if isinstance(block, str) else tuple(block)
        self.shared = () if split_all else tuple(entry for entry in entries if "{" not in entry)
        slotted = tuple(entry for entry in entries if entry not in set(self.shared))
        self.held_out = tuple(entry for entry in slotted if is_held_out(entry))
        self.train = tuple(entry for entry in slotted if entry not in self.held_out)
        self._parts = (self.train + self.shared, self.held_out + self.shared or self.train)

    def part(self, held_out: bool) -> tuple[str, ...]:
        """Return the entries that one side of the split draws from."""
        return self._parts[held_out]

    def joined(self, *more: "Pool | Sequence[str]") -> "Pool":
        """Return a pool that holds the entries of several."""
        entries = list(self.train + self.held_out + self.shared)
        for other in more:
            entries += (other.train + other.held_out + other.shared) if isinstance(other, Pool) else other
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
