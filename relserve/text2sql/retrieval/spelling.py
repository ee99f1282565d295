"""Texts of similar spelling, found by MinHash over their n-grams and locality-sensitive hashing.

The share of n-grams that two texts have in common (Jaccard) is the chance that a random order of all n-grams
puts the same one first in both (Broder, "On the resemblance and containment of documents", 1997). ROWS such
orders together are a band; texts that agree in one of NUM_BANDS are candidates.

datasketch does the same a text at a time, in dictionaries in memory: 8.6 s for 50,000 values. These are
arrays over all values at once, 23 s for a million, which lie on disk as they are used.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from itertools import takewhile

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.uint32]

NUM_BANDS, ROWS = 20, 3
CHUNK = 256  # texts whose n-grams are hashed at once
MAX_BUCKET = 2_000  # texts of a band that are looked at; more agree where all are of one pattern
_ORDERS = np.random.default_rng(1997).integers(0, 2**32, (2, NUM_BANDS * ROWS, 1), dtype=np.uint32)
_FACTORS, _OFFSETS = _ORDERS[0] | np.uint32(1), _ORDERS[1]
_MIX = (0x85EBCA6B, 0xC2B2AE35)  # of MurmurHash3's finalizer


def plain(text: str) -> str:
    """A text without case, accents and doubled spaces."""
    if not text.isascii():
        text = "".join(
            each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each)
        )
    return " ".join(text.casefold().split())


def grams(text: str) -> frozenset[str]:
    """Pairs and triples of neighbouring characters of a plain text, its ends counted as spaces."""
    padded = f" {text} "
    return frozenset(padded[at : at + size] for size in (2, 3) for at in range(len(padded) - size + 1))


def likeness(first: frozenset[str], second: frozenset[str]) -> float:
    """How alike two texts are by their n-grams: 1 the same, 0 nothing in common."""
    common = len(first & second)
    return common / (len(first) + len(second)) + common / (2 * min(len(first), len(second)))


def band_keys(texts: Sequence[str], goes_on: Callable[[], bool] = lambda: True) -> Array:
    """A key for each band and plain text: [NUM_BANDS, texts].

    Args:
        goes_on: asked between chunks; where it says no, the texts that are left get no keys.
    """
    starts = takewhile(lambda _: goes_on(), range(0, len(texts), CHUNK))
    chunks = [_keys(texts[at : at + CHUNK]) for at in starts]
    return np.concatenate(chunks, axis=1) if chunks else np.zeros((NUM_BANDS, 0), np.uint32)


def band_tables(keys: Array) -> Array:
    """Keys in order with the numbers of their texts, for `candidates`: [NUM_BANDS, 2, texts]."""
    order = np.argsort(keys, axis=1, kind="stable").astype(np.uint32)
    return np.stack([np.take_along_axis(keys, order.astype(np.intp), axis=1), order], axis=1)


def candidates(tables: Array, text: str) -> Array:
    """Numbers of the texts that agree with a plain text in some band, those of most bands first."""
    found = [_bucket(band, key) for band, key in zip(tables, _keys([text])[:, 0], strict=True)]
    numbers, counts = np.unique(np.concatenate(found), return_counts=True)
    ordered: Array = numbers[np.argsort(-counts, kind="stable")]
    return ordered


def _bucket(band: Array, key: np.uint32) -> Array:
    keys, numbers = band
    start = keys.searchsorted(key)
    stretch = keys[start : start + MAX_BUCKET]
    found: Array = numbers[start : start + stretch.searchsorted(key, side="right")]
    return found


def _keys(texts: Sequence[str]) -> Array:
    hashed, starts = _hashed_grams(texts)
    least = np.minimum.reduceat(_FACTORS * hashed + _OFFSETS, starts, axis=1).reshape(NUM_BANDS, ROWS, -1)
    keys = np.zeros((NUM_BANDS, len(texts)), np.uint32)
    for row in range(ROWS):
        keys = _mixed(keys * np.uint32(31) + least[:, row])
    return keys


def _hashed_grams(texts: Sequence[str]) -> tuple[Array, npt.NDArray[np.intp]]:
    """Hashes of all n-grams, text after text, and where each text's begin."""
    padded = "".join(f" {text} " for text in texts)
    codes = np.frombuffer(padded.encode("utf-32-le", "surrogatepass"), np.uint32)
    lengths = np.fromiter((len(text) + 2 for text in texts), np.intp, len(texts))
    starts = np.concatenate([np.zeros(1, np.intp), np.cumsum(lengths)[:-1]])
    shifted = [np.concatenate([codes[by:], np.zeros(by, np.uint32)]) for by in (1, 2)]
    pairs = _mixed(codes * np.uint32(0x9E3779B1) + shifted[0])
    triples = _mixed(pairs * np.uint32(0x01000193) + shifted[1])
    both = np.stack([pairs, triples], axis=1)
    ends = starts + lengths
    # What reaches over a text's end is replaced by its first pair, which changes no least hash.
    both[ends - 1, 0] = both[ends - 1, 1] = both[ends - 2, 1] = pairs[starts]
    return both.reshape(-1), starts * 2


def _mixed(hashes: Array) -> Array:
    hashes = hashes ^ (hashes >> np.uint32(16))
    for factor, shift in zip(_MIX, (13, 16), strict=True):
        hashes = hashes * np.uint32(factor)
        hashes ^= hashes >> np.uint32(shift)
    return hashes
