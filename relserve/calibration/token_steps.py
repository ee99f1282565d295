"""Steps that tell what a token in memory costs, by type of cache: decodes of short rows and of long ones."""

from __future__ import annotations

from typing import NamedTuple

from relserve.policies.caching.requests import CacheType

SHORT, LONG = 32, 1024  # prompt tokens of the rows, where so many fit
ROWS = (2, 8, 32)
TYPES: tuple[CacheType, ...] = ("kv", "hidden")


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
    for wanted in ROWS:
        num_rows = min(wanted, max_seqs)
        room = min(max_model_len, kv_tokens // (2 * num_rows)) - num_decodes
        for length in (SHORT, LONG):
            for cache in TYPES:
                found[TokenPoint(cache, num_rows, max(min(length, room), 1))] = None
    return list(found)
