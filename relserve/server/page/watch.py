"""Looking at the server again and again: totals that only grow, and the pace at which they do."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from relserve.call.relquery import Usage
from relserve.machine.embedded import called
from relserve.machine.engine_status import EngineStatus
from relserve.server.page.counters import CounterValues
from relserve.server.page.facts import ServerFacts
from relserve.session.history import QueryRecord

EVERY_S = 1.0
WINDOW_S = 10.0  # what a pace is taken over
LEAST_S = 0.9  # and over no less, for replies come in bursts
STEP_S, NUM_STEPS = 5.0, 120  # of the series: ten minutes


class ServerLook(NamedTuple):
    """What was seen at one moment of a monotonic clock.

    Attributes:
        usage: tokens of all relQueries since the server started.
        running, waiting: requests in the engines.
        kv_used: share of the fullest engine's KV cache; None without an engine.
        active: clients with a statement under way.
    """

    at_s: float
    counted: CounterValues
    usage: Usage
    running: int
    waiting: int
    kv_used: float | None
    active: int


@dataclass
class LlmTotals:
    """What one user's relQueries of one model have come to since the server started.

    Attributes:
        rows: table rows whose prompt has its reply.
        failed: table rows that are NULL for want of an answer.
    """

    relqueries: int = 0
    rows: int = 0
    failed: int = 0
    usage: Usage = Usage()
    cost: float = 0.0  # US dollars, of what has a known price


@dataclass
class _Followed:
    """How far a relQuery was, when it was looked at last and before."""

    usage: Usage = Usage()
    rows: int = 0
    failed: int = 0
    cost: float = 0.0
    marks: deque[tuple[float, int]] = field(default_factory=deque)  # when, and tokens until then


class ServerWatch:
    """Follows a server.

    Attributes:
        lock: to be held by whoever reads several of these, while other threads may look.
        queries: the relQueries on record at the latest look, each with its user.
        totals: by user and model.
        looks: of the last `WINDOW_S` seconds, oldest first, and the one before.
        steps: one look each `STEP_S` seconds, oldest first.
    """

    def __init__(self, facts: ServerFacts, clock: Callable[[], float]) -> None:
        self.facts, self._clock, self.lock = facts, clock, threading.RLock()
        self.queries: list[tuple[str, QueryRecord]] = []
        self.totals: defaultdict[tuple[str, str], LlmTotals] = defaultdict(LlmTotals)
        self.looks: deque[ServerLook] = deque()
        self.steps: deque[ServerLook] = deque(maxlen=NUM_STEPS + 1)
        self._followed: dict[str, _Followed] = {}

    def look(self) -> ServerLook:
        """Look once more; the latest look where that is only just past."""
        with self.lock:
            return self._look(self._clock())

    def _look(self, now_s: float) -> ServerLook:
        if self.looks and now_s - self.looks[-1].at_s < EVERY_S / 2:
            return self.looks[-1]
        self.queries = self.facts.queries()
        self._follow(now_s)
        engines = self.facts.engines()
        look = ServerLook(
            now_s, self.facts.counters.read(), _sum(each.usage for each in self.totals.values()),
            sum(engine.running for engine in engines), sum(engine.waiting for engine in engines),
            _fullest(engines), sum(client.state == "active" for client in self.facts.clients()),
        )  # fmt: skip
        self.looks.append(look)
        while len(self.looks) > 1 and now_s - self.looks[1].at_s >= WINDOW_S:
            self.looks.popleft()
        if not self.steps or now_s - self.steps[-1].at_s >= STEP_S:
            self.steps.append(look)
        return look

    def pace(self, count: Callable[[ServerLook], float]) -> float | None:
        """How much a count grows in a second; None while there is too little to compare."""
        seconds = self.looks[-1].at_s - self.looks[0].at_s if self.looks else 0.0
        return (count(self.looks[-1]) - count(self.looks[0])) / seconds if seconds >= LEAST_S else None

    def tokens_per_s(self, rel_id: str) -> float | None:
        """Tokens of prompts and replies that a relQuery gets in a second; None while nothing tells."""
        followed = self._followed.get(rel_id)
        marks = followed.marks if followed is not None else ()
        if not marks or (seconds := marks[-1][0] - marks[0][0]) < LEAST_S:
            return None
        return (marks[-1][1] - marks[0][1]) / seconds

    def _follow(self, now_s: float) -> None:
        followed: dict[str, _Followed] = {}
        for user, record in self.queries:
            model = called(record.model)
            before = self._followed.get(record.rel_id)
            if before is None:
                before = _Followed()
                self.totals[user, model].relqueries += 1
            followed[record.rel_id] = before
            if record.state == "running" or before.marks or _has_grown(before, record):
                _advance(before, record, self.totals[user, model], now_s)
        self._followed = followed


def _has_grown(followed: _Followed, record: QueryRecord) -> bool:
    return followed.usage is not record.usage or followed.cost != (record.cost or 0.0)


def _advance(followed: _Followed, record: QueryRecord, totals: LlmTotals, now_s: float) -> None:
    """Add what a relQuery has come to since it was looked at last."""
    usage, rows, failed = record.usage, record.num_rows_done, record.num_failed
    grown = zip(totals.usage, usage, followed.usage, strict=True)
    totals.usage = Usage(*(total + now - before for total, now, before in grown))
    totals.rows += rows - followed.rows
    cost = record.cost or 0.0
    totals.cost += cost - followed.cost
    totals.failed += failed - followed.failed
    followed.usage, followed.rows, followed.failed, followed.cost = usage, rows, failed, cost
    if record.state != "running":
        followed.marks.clear()
        return
    followed.marks.append((now_s, usage.prompt_tokens + usage.output_tokens))
    while len(followed.marks) > 1 and now_s - followed.marks[1][0] >= WINDOW_S:
        followed.marks.popleft()


def _sum(usages: Iterable[Usage]) -> Usage:
    return Usage(*map(sum, zip(Usage(), *usages, strict=True)))


def _fullest(engines: list[EngineStatus]) -> float | None:
    return max((engine.kv_used for engine in engines), default=None)
