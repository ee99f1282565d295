"""Made-up vocabularies: the tokens of the embedded model first, then words out of random letters."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from functools import cache

from relserve.tiny import MODEL_DIR

SEED = 12
LETTERS = "etaoinshrdlucmfwypvbgkqjxz"
# What stands at the beginnings of tokens in real vocabularies: JSON's marks, white space, other alphabets.
RARE = (
    '"', '",', '":', '"}', '{"', '["', '"]', ', "', "{", "[", ": ", "}\n", "\n", "\n\n", "\t", "  ", "    ",
    "(", ".", "ä", "é", "ñ", "ß", "ж", "но", "ση", "の", "日本", "中", "한", "श", "🙂", "🦆",
)  # fmt: skip
NUM_RARE = 0.06  # the share of words that begin with one of them


@cache
def byte_letters() -> dict[int, str]:
    """The letter that stands for each byte in byte-level vocabularies (GPT-2's table)."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + i) for i, byte in enumerate(hidden)}


@cache
def known_merges() -> tuple[tuple[str, str], ...]:
    """The merges of the embedded model's tokenizer, as byte-level letters."""
    read = json.loads((MODEL_DIR / "tokenizer.json").read_text(encoding="utf-8"))
    return tuple((left, right) for left, right in read["model"]["merges"])


@cache
def _bytes_by_letter() -> dict[str, int]:
    return {letter: byte for byte, letter in byte_letters().items()}


def spelled_out(token: str) -> str:
    """The text of a byte-level token; with U+FFFD where it is a part of a character."""
    return bytes(_bytes_by_letter()[letter] for letter in token).decode("utf-8", "replace")


def words(digits: int) -> Iterator[str]:
    """Endless words; numbers of up to so many digits first."""
    for width in range(2, digits + 1):
        yield from (f"{number:0{width}}" for number in range(10**width))
    rng = random.Random(SEED)
    weights = range(len(LETTERS), 0, -1)
    while True:
        word = "".join(rng.choices(LETTERS, weights, k=rng.randint(2, 9)))
        yield rng.choice(RARE) + word if rng.random() < NUM_RARE else rng.choice(("", " ", " ")) + word


def vocabulary(
    known: Iterable[tuple[str, str]], spelled: Iterable[str], base: Iterable[str], size: int
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Tokens by their numbers, and the merges by which BPE makes them.

    Args:
        known: the first merges; one whose parts are no tokens is left out.
        spelled: words in the letters of the vocabulary; all their beginnings become tokens too.
        base: the tokens that no merge makes; they hold all letters of the words.
        size: how many tokens there shall be.
    """
    tokens = {token: number for number, token in enumerate(base)}
    beginnings = ((word[:end], word[end]) for word in spelled for end in range(1, len(word)))
    merges = []
    for left, right in itertools.chain(known, beginnings):
        if len(tokens) >= size:
            break
        if left in tokens and right in tokens and left + right not in tokens:
            tokens[left + right] = len(tokens)
            merges.append((left, right))
    return tokens, merges


def letters_of(num_words: int) -> list[str]:
    """The distinct letters of so many words."""
    return sorted(set("".join(itertools.islice(words(0), num_words))))
