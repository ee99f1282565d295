"""The hybrid-cache scheduling problem (Apt-Serve, Definition 1), solved greedily within a factor of two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.caching.requests import Bools, Floats, Ints


class Offers(NamedTuple):
    """What each candidate brings and takes, an entry a candidate.

    Attributes:
        value: of running it with keys and values, g with beta = 0 (Eq. 8).
        hidden_value: of running it as hidden, g with beta = 1; at most `value`, and below 0 where hidden
            costs the others more than it gains.
        kv, hidden: blocks that it takes as one and as the other; at least 1.
        tie: decides between equals, the smaller first.
    """

    value: Floats
    hidden_value: Floats
    kv: Ints
    hidden: Ints
    tie: Ints


class ChosenCandidates(NamedTuple):
    """Candidates by number, the best value per block first, and which of them are hidden."""

    which: Ints
    hidden: Bools


class _Entries(NamedTuple):
    """Eq. 10's candidate schedules: candidates, blocks, and whether they upgrade."""

    which: Ints
    blocks: Ints
    upgrades: Bools


def choose(offers: Offers, capacity: int) -> ChosenCandidates:
    """The candidates to run, and as what (Eq. 7 to 11); in blocks at most `capacity`.

    Entries are taken by marginal value per block. A sum below the value of one candidate alone gives way to
    that one: this check makes the greedy sum at least half the best (the program of the paper's authors has
    it, but with nothing selected in that case).
    """
    entries = _entries(offers, capacity)
    taken = _taken(entries, capacity, len(offers.kv))
    base, upgraded = entries.which[taken & ~entries.upgrades], entries.which[taken & entries.upgrades]
    hidden = _is_hidden(offers, capacity)
    hidden[upgraded] = False
    total = np.where(hidden, offers.hidden_value, offers.value)[base].sum()
    fits = offers.kv <= capacity
    alone = np.where(fits, offers.value, np.where(offers.hidden <= capacity, offers.hidden_value, -1.0))
    if len(alone) and alone.max() > total:
        best = int(np.lexsort((offers.tie, -alone))[0])
        return ChosenCandidates(np.array([best]), np.array([not fits[best]]))
    return ChosenCandidates(base, hidden[base])


def _is_hidden(offers: Offers, capacity: int) -> Bools:
    """Where hidden comes first: its value per block is the better one, or only it fits.

    Elsewhere the paper avoids hidden altogether. It compares a half of the memory with the whole; blocks are
    whole, so the true numbers are compared, and then a candidate's upgrade never comes before its base.
    """
    possible = (offers.hidden_value >= 0) & (offers.hidden < offers.kv) & (offers.hidden <= capacity)
    better = offers.hidden_value * offers.kv >= offers.value * offers.hidden
    return possible & (better | (offers.kv > capacity))


def _entries(offers: Offers, capacity: int) -> _Entries:
    """Eq. 10, the best first: what fits as one type or the other, then from hidden to keys and values."""
    hidden, fits = _is_hidden(offers, capacity), offers.kv <= capacity
    base = np.flatnonzero(hidden | fits)
    more = np.flatnonzero(hidden & fits & (offers.value > offers.hidden_value))
    which = np.concatenate([base, more])
    first, rest = np.where(hidden, offers.hidden_value, offers.value), offers.value - offers.hidden_value
    gain = np.concatenate([first[base], rest[more]])
    least = np.where(hidden, offers.hidden, offers.kv)
    blocks = np.concatenate([least[base], (offers.kv - offers.hidden)[more]])
    upgrades = np.arange(len(which)) >= len(base)
    theta = gain / blocks
    best = np.lexsort((offers.tie[which], upgrades, -theta))
    return _Entries(which[best], blocks[best], upgrades[best])


def _taken(entries: _Entries, capacity: int, num_candidates: int) -> Bools:
    """Which entries the greedy pass takes: each that still fits, an upgrade only over its base."""
    ends = np.cumsum(entries.blocks)
    first = int(np.searchsorted(ends, capacity, side="right"))
    taken = np.arange(len(ends)) < first
    remaining = capacity - (int(ends[first - 1]) if first else 0)
    tail = first + np.flatnonzero(entries.blocks[first:] <= remaining)
    has_base = np.zeros(num_candidates, np.bool_)
    has_base[entries.which[:first]] = True
    columns = (tail, entries.blocks[tail], entries.which[tail], entries.upgrades[tail])
    least = int(entries.blocks[tail].min()) if len(tail) else 0
    for at, blocks, which, upgrades in zip(*(column.tolist() for column in columns), strict=True):
        if remaining < least:
            break
        if blocks <= remaining and (not upgrades or has_base[which]):
            taken[at] = has_base[which] = True
            remaining -= blocks
    return taken
