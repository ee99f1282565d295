"""Which steps are measured: prefills and decodes of sizes that double, and some of both at once.

Decodes of short rows and of long ones tell what a token in memory costs, by type of cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from relserve.policies.caching.requests import CacheType

SMALLEST_PREFILL = 16
MIXED = ((1 / 8, 1 / 4), (1 / 2, 1 / 4), (1 / 8, 1), (1 / 2, 1))  # of the largest prefill and decode
NUM_DECODES = 6  # steps of each decode point
CONTEXT = 64  # prompt tokens of rows that decode
_SHORT, LONG = 32, 1024  # prompt tokens of the rows, where so many fit
_ROWS = (2, 8, 32)
_TYPES: tuple[CacheType, ...] = ("kv", "hidden")


class Point(NamedTuple):
    """Steps to measure: with both, prompts of `prefill_tokens` come while `num_decodes` rows decode."""

    prefill_tokens: int
    num_decodes: int


def points(max_tokens: int, max_seqs: int) -> list[Point]:
    """The points of one round, small ones first and the kinds in turn, so that a round cut short has all.

    Args:
        max_tokens: most tokens of a step.
        max_seqs: most rows of a step.
    """
    prefills = [Point(size, 0) for size in _doubling(min(SMALLEST_PREFILL, max_tokens), max_tokens)]
    decodes = [Point(0, size) for size in _doubling(1, max_seqs)]
    mixed = []
    for of_tokens, of_seqs in MIXED:
        # A row's place and a token of the step must be left for each of both kinds.
        rows = min(max(1, int(of_seqs * max_seqs)), max_seqs - 1, max_tokens // 2)
        tokens = min(max(1, int(of_tokens * max_tokens)), max_tokens - rows)
        if rows > 0:
            mixed.append(Point(tokens, rows))
    in_turn = zip_longest(prefills, decodes, mixed)
    return [point for trio in in_turn for point in trio if point is not None]


def prompt_lengths(tokens: int, max_rows: int, longest: int) -> list[int]:
    """Prompts that make up a prefill of so many tokens, where that many fit: about 128 tokens each."""
    rows = max(1, min(max_rows, max(-(-tokens // 128), -(-tokens // longest))))
    each, rest = divmod(tokens, rows)
    return [min(each + (i < rest), longest) for i in range(rows)]


def _doubling(first: int, last: int) -> Iterator[int]:
    size = first
    while size < last:
        yield size
        size *= 2
    yield last


class TokenPoint(NamedTuple):
    """So many rows of so many tokens decode, kept as this type."""

    cache: CacheType
    num_rows: int
    num_tokens: int


def token_points(max_seqs: int, max_model_len: int, kv_tokens: int, num_decodes: int) -> list[TokenPoint]:
    """The points of one round, the types in turn.

    Args:
        max_seqs: most rows of a step.
        max_model_len: most tokens of a row.
        kv_tokens: tokens that fit into memory as keys and values, so as not to preempt.
        num_decodes: tokens that each row answers.
    """
    found: dict[TokenPoint, None] = {}
    for wanted in _ROWS:
        num_rows = min(wanted, max_seqs)
        room = min(max_model_len, kv_tokens // (2 * num_rows)) - num_decodes
        for length in (_SHORT, LONG):
            for cache in _TYPES:
                found[TokenPoint(cache, num_rows, max(min(length, room), 1))] = None
    return list(found)
