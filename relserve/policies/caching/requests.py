"""The unfinished requests as columns, so that a policy reads thousands in a fraction of a millisecond."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf, isnan, nan
from typing import Literal, NamedTuple

import numpy as np

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]
Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]

CacheType = Literal["kv", "hidden"]

NOTHING, KV, HIDDEN = -1, 0, 1
_NAMES: dict[int, CacheType | None] = {NOTHING: None, KV: "kv", HIDDEN: "hidden"}
_CODES = {name: code for code, name in _NAMES.items()}
_PROMPT, _TOKENS, _COMPUTED, _HOLDS, _ONLY, _SHARED_KV, _SHARED_HIDDEN, _ORDER = range(8)
_ARRIVAL, _LAST, _TTFT, _TBT, _LEFT, _RANK = range(6)


class RequestState(NamedTuple):
    """One unfinished request.

    Attributes:
        arrival_s: when it came, in seconds.
        num_prompt: tokens of its prompt.
        num_tokens: its prompt and what it has answered so far; all of them are in memory after its next step.
        num_computed: of them, those that are in memory; where it holds nothing, those that it can begin with,
            since others computed them.
        cache: what it holds; None where it holds nothing and waits.
        last_token_s: when it gave its last token; None before the first.
        ttft_slo_s, tpot_slo_s: how long its first token, and each other one, may take.
        expected_left: tokens that it is expected to answer yet.
        rank: its urgency as others see it (its relQuery's, say), the smaller the sooner.
        only: the one type that it may hold; None where it may hold either.
        shared_kv, shared_hidden: blocks of its tokens as the one type or the other that others hold as well:
            to let it in takes as many less, and to drop it frees as many less.
    """

    request_id: str
    arrival_s: float
    num_prompt: int
    num_tokens: int
    num_computed: int = 0
    cache: CacheType | None = None
    last_token_s: float | None = None
    ttft_slo_s: float = inf
    tpot_slo_s: float = inf
    expected_left: float = 0.0
    rank: float = 0.0
    only: CacheType | None = None
    shared_kv: int = 0
    shared_hidden: int = 0


class RequestColumns:
    """The unfinished requests, a row each, in no order; the owner of the queues keeps it up to date.

    Columns are read as attributes: arrays as long as there are requests, the names those of `RequestState`.
    `holds` and `only` are NOTHING, KV or HIDDEN, `last_token_s` NaN before the first token, and `order`
    counts requests as they came, so that ties have one outcome. Rows move when a request goes, so they are
    good for one step.
    """

    def __init__(self, requests: Iterable[RequestState] = ()) -> None:
        self.ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._ints = np.zeros((8, 64), np.int64)
        self._floats = np.zeros((6, 64), np.float64)
        self._came = 0
        for request in requests:
            self.put(request)

    def put(self, request: RequestState) -> None:
        """Add a request, or renew all that is known of it."""
        row = self._rows.get(request.request_id)
        if row is None:
            row = self._add(request.request_id)
        last = nan if request.last_token_s is None else request.last_token_s
        self._ints[:, row] = (
            request.num_prompt, request.num_tokens, request.num_computed, _CODES[request.cache],
            _CODES[request.only], request.shared_kv, request.shared_hidden, int(self._ints[_ORDER, row]),
        )  # fmt: skip
        slos = (request.ttft_slo_s, request.tpot_slo_s)
        self._floats[:, row] = (request.arrival_s, last, *slos, request.expected_left, request.rank)

    def _add(self, request_id: str) -> int:
        row = len(self.ids)
        if row == self._ints.shape[1]:
            self._ints = np.concatenate([self._ints, np.zeros_like(self._ints)], axis=1)
            self._floats = np.concatenate([self._floats, np.zeros_like(self._floats)], axis=1)
        self.ids.append(request_id)
        self._rows[request_id] = row
        self._ints[_ORDER, row] = self._came
        self._floats[_LAST, row] = nan
        self._came += 1
        return row

    def remove(self, request_id: str) -> None:
        """Forget a request that has finished or was aborted.

        Raises:
            KeyError: there is no such request.
        """
        row, last = self._rows.pop(request_id), len(self.ids) - 1
        if row != last:
            self.ids[row] = moved = self.ids[last]
            self._rows[moved] = row
            self._ints[:, row] = self._ints[:, last]
            self._floats[:, row] = self._floats[:, last]
        self.ids.pop()

    def answered(self, request_ids: Sequence[str], now_s: float) -> None:
        """Each of these has computed all its tokens, and given one more now."""
        rows = np.array([self._rows[request_id] for request_id in request_ids], np.int64)
        self._ints[_COMPUTED, rows] = self._ints[_TOKENS, rows]
        self._ints[_TOKENS, rows] += 1
        self._floats[_LAST, rows] = now_s
        self._floats[_LEFT, rows] = np.maximum(self._floats[_LEFT, rows] - 1.0, 0.0)

    def holds_of(self, request_ids: Sequence[str]) -> Ints:
        """NOTHING, KV or HIDDEN of these requests; NOTHING of those that there are not."""
        rows = np.fromiter([self._rows.get(request_id, -1) for request_id in request_ids], np.int64)
        return np.where(rows < 0, NOTHING, self._ints[_HOLDS, rows])

    def rows_of(self, request_ids: Iterable[str]) -> Ints:
        """The rows of these requests, which are good until one is removed."""
        return np.fromiter(map(self._rows.__getitem__, request_ids), np.int64)

    def renew(self, rows: Ints, num_tokens: Ints, num_computed: Ints, last_token_s: Floats) -> None:
        """What has changed of requests at work; of each token that they gave, one less is expected."""
        given = num_tokens - self._ints[_TOKENS, rows]
        self._ints[_TOKENS, rows], self._ints[_COMPUTED, rows] = num_tokens, num_computed
        self._floats[_LAST, rows] = last_token_s
        self._floats[_LEFT, rows] = np.maximum(self._floats[_LEFT, rows] - given, 0.0)

    def share(self, request_id: str, cache: CacheType, num_shared: int) -> None:
        """So many blocks of a request at work are held by others as well."""
        self._ints[_SHARED_HIDDEN if cache == "hidden" else _SHARED_KV, self._rows[request_id]] = num_shared

    def hold(self, request_id: str, cache: CacheType | None, num_computed: int) -> None:
        """What a request holds from now on: so many of its tokens as this type; None and 0 for nothing."""
        row = self._rows[request_id]
        self._ints[_HOLDS, row], self._ints[_COMPUTED, row] = _CODES[cache], num_computed

    def begins_with(self, request_id: str, num_computed: int, shared_kv: int, shared_hidden: int) -> None:
        """What one that waits can begin with, since others computed it and hold it."""
        places = [_COMPUTED, _SHARED_KV, _SHARED_HIDDEN]
        self._ints[places, self._rows[request_id]] = num_computed, shared_kv, shared_hidden

    def row(self, request_id: str) -> int:
        """The row of a request, which is good until one is removed."""
        return self._rows[request_id]

    def in_order(self, mask: Bools) -> Ints:
        """The rows of a mask, in the order in which the requests came."""
        rows = np.flatnonzero(mask)
        return rows[np.argsort(self.order[rows])]

    def __getitem__(self, request_id: str) -> RequestState:
        row = self._rows[request_id]
        prompt, tokens, computed, holds, only, *shared, _ = self._ints[:, row].tolist()
        arrival, last, ttft_slo_s, tpot_slo_s, expected_left, rank = self._floats[:, row].tolist()
        return RequestState(
            request_id, arrival, prompt, tokens, computed, _NAMES[holds], None if isnan(last) else last,
            ttft_slo_s, tpot_slo_s, expected_left, rank, _NAMES[only], *shared,
        )  # fmt: skip

    def __iter__(self) -> Iterator[RequestState]:
        return (self[request_id] for request_id in self.ids)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._rows

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def num_prompt(self) -> Ints:
        """Tokens of the prompts."""
        return self._ints[_PROMPT, : len(self.ids)]

    @property
    def num_tokens(self) -> Ints:
        """Tokens of prompts and answers so far."""
        return self._ints[_TOKENS, : len(self.ids)]

    @property
    def num_computed(self) -> Ints:
        """Tokens in memory."""
        return self._ints[_COMPUTED, : len(self.ids)]

    @property
    def holds(self) -> Ints:
        """NOTHING, KV or HIDDEN."""
        return self._ints[_HOLDS, : len(self.ids)]

    @property
    def order(self) -> Ints:
        """A number that grows with each request that comes."""
        return self._ints[_ORDER, : len(self.ids)]

    @property
    def only(self) -> Ints:
        """KV or HIDDEN where a request may hold nothing else; else NOTHING."""
        return self._ints[_ONLY, : len(self.ids)]

    @property
    def shared_kv(self) -> Ints:
        """Blocks that others hold as well, of a request's tokens as keys and values."""
        return self._ints[_SHARED_KV, : len(self.ids)]

    @property
    def shared_hidden(self) -> Ints:
        """Blocks that others hold as well, of a request's tokens as hidden states."""
        return self._ints[_SHARED_HIDDEN, : len(self.ids)]

    @property
    def arrival_s(self) -> Floats:
        """When requests came."""
        return self._floats[_ARRIVAL, : len(self.ids)]

    @property
    def last_token_s(self) -> Floats:
        """When requests gave their last token; NaN before the first."""
        return self._floats[_LAST, : len(self.ids)]

    @property
    def ttft_slo_s(self) -> Floats:
        """How long the first token may take."""
        return self._floats[_TTFT, : len(self.ids)]

    @property
    def tpot_slo_s(self) -> Floats:
        """How long each other token may take."""
        return self._floats[_TBT, : len(self.ids)]

    @property
    def expected_left(self) -> Floats:
        """Tokens that are expected yet."""
        return self._floats[_LEFT, : len(self.ids)]

    @property
    def rank(self) -> Floats:
        """Urgency as others see it; can be written to."""
        return self._floats[_RANK, : len(self.ids)]
