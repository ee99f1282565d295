"""What the scheduler knows of each relQuery: how many rows wait, run and are done, and its phases."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from relserve.call.relquery import Phases
from relserve.vllm_plugin.identity import Identity

KEPT = 256  # finished relQueries remembered
LINGER_S = 60.0  # how long an idle relQuery may wait for rows that it announced


class RowState(Enum):
    """Where one request stands."""

    WAITING = auto()
    RUNNING = auto()


@dataclass(slots=True)
class RelProgress:
    """One relQuery in the engine; times are seconds of one monotonic clock.

    Attributes:
        rows_expected: rows announced, or seen if that is more.
        output_cap: most tokens that a row may answer.
        aborted: rows that ended without an answer; not counted in `finished`.
        past_core: rows that have had their first token, or ended without one.
        last_active_s: when a row last arrived or ended.
    """

    rel_id: str
    rows_expected: int
    output_cap: int
    first_arrival_s: float
    last_active_s: float
    arrived: int = 0
    waiting: int = 0
    running: int = 0
    finished: int = 0
    aborted: int = 0
    past_core: int = 0
    first_scheduled_s: float | None = None
    last_first_token_s: float | None = None
    last_token_s: float | None = None

    @property
    def resident(self) -> int:
        """Rows in the engine."""
        return self.waiting + self.running

    @property
    def phase(self) -> str:
        """The phase that it is in, in words."""
        if self.first_scheduled_s is None:
            return "waiting"
        return "core running" if self.past_core < self.rows_expected else "tail running"

    @property
    def phases(self) -> Phases | None:
        """Waiting, core and tail seconds so far (RelServe, section 3); None before its first token."""
        if self.first_scheduled_s is None or self.last_first_token_s is None or self.last_token_s is None:
            return None
        return Phases(
            self.first_scheduled_s - self.first_arrival_s,
            max(0.0, self.last_first_token_s - self.first_scheduled_s),
            max(0.0, self.last_token_s - self.last_first_token_s),
        )


@dataclass(slots=True)
class _Row:
    rel: RelProgress
    state: RowState = RowState.WAITING
    has_token: bool = False


class Tracker:
    """Counts the rows of every relQuery in the engine; told of each event by the scheduler."""

    def __init__(self, kept: int = KEPT, linger_s: float = LINGER_S) -> None:
        self.active: dict[str, RelProgress] = {}
        self.done: deque[RelProgress] = deque(maxlen=kept)
        self._rows: dict[str, _Row] = {}
        self._idle: dict[str, RelProgress] = {}  # no row here, but more were announced
        self._linger_s = linger_s

    def __len__(self) -> int:
        """Requests tracked."""
        return len(self._rows)

    def arrive(self, request_id: str, identity: Identity, now_s: float) -> None:
        """A request came."""
        if request_id in self._rows:  # a further piece of a streamed input
            return
        rel = self.active.get(identity.rel_id)
        self._forget_lingering(now_s, but=rel)
        if rel is None:
            rel = RelProgress(identity.rel_id, identity.rows, identity.output_cap, now_s, now_s)
            self.active[identity.rel_id] = rel
        self._idle.pop(identity.rel_id, None)
        rel.arrived += 1
        rel.waiting += 1
        rel.rows_expected = max(identity.rows, rel.arrived)
        rel.output_cap = max(rel.output_cap, identity.output_cap)
        rel.last_active_s = now_s
        self._rows[request_id] = _Row(rel)

    def schedule(self, request_ids: Iterable[str], now_s: float) -> None:
        """Requests were taken from the waiting queue, for the first time or again."""
        for request_id in request_ids:
            row = self._rows.get(request_id)
            if row is None or row.state is RowState.RUNNING:
                continue
            row.state = RowState.RUNNING
            row.rel.waiting -= 1
            row.rel.running += 1
            if row.rel.first_scheduled_s is None:
                row.rel.first_scheduled_s = now_s

    def preempt(self, request_ids: Iterable[str]) -> None:
        """Running requests lost their place and wait again."""
        for request_id in request_ids:
            row = self._rows.get(request_id)
            if row is None or row.state is RowState.WAITING:
                continue
            row.state = RowState.WAITING
            row.rel.running -= 1
            row.rel.waiting += 1

    def token(self, request_id: str, now_s: float) -> None:
        """A request has new tokens."""
        row = self._rows.get(request_id)
        if row is None:
            return
        row.rel.last_token_s = now_s
        if not row.has_token:
            row.has_token = True
            row.rel.past_core += 1
            row.rel.last_first_token_s = now_s

    def end(self, request_id: str, now_s: float, aborted: bool = False) -> None:
        """A request left the engine, answered or not."""
        row = self._rows.pop(request_id, None)
        if row is None:
            return
        rel = row.rel
        if row.state is RowState.WAITING:
            rel.waiting -= 1
        else:
            rel.running -= 1
        if not row.has_token:
            rel.past_core += 1
        if aborted:
            rel.aborted += 1
        else:
            rel.finished += 1
        rel.last_active_s = now_s
        if rel.resident == 0:
            # After an abort no more rows come; else those announced may still be on their way.
            if aborted or rel.arrived >= rel.rows_expected:
                self._forget(rel)
            else:
                self._idle[rel.rel_id] = rel
                self._forget_lingering(now_s)

    def _forget(self, rel: RelProgress) -> None:
        self._idle.pop(rel.rel_id, None)
        del self.active[rel.rel_id]
        self.done.append(rel)

    def _forget_lingering(self, now_s: float, but: RelProgress | None = None) -> None:
        # Insertion order is order of idleness, so only the front is looked at.
        while self._idle:
            rel = next(iter(self._idle.values()))
            if rel is but or now_s - rel.last_active_s <= self._linger_s:
                return
            self._forget(rel)
