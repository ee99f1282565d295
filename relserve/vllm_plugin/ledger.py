"""The one book of rows inside an engine: which wait and which run, by relQuery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from relserve.call.rel_tag import RelTag
from relserve.policies.model.lengths import DISBELIEF, CapLengths, RelLengths
from relserve.policies.scheduling.state import RelState
from relserve.vllm_plugin.host import HostRequest, awaits_input

LINGER_S = 60.0  # how long an idle relQuery may wait for rows that it announced
MOST_IDLE = 1024  # relQueries that may do so at once
AT_FIRST, FOR_EACH = 16, 4  # rows believed to be on the way: at first, and for each that came
LOOKS = 8  # waiting relQueries of which a step looks whether more is known of their lengths by now

LengthsOf = Callable[[str | None, int, int | None], RelLengths]  # by kind, cap, and most that is likely


@dataclass(slots=True)
class RelRecord(RelState):
    """One relQuery in the engine, with what policies do not need; times are seconds of one monotonic clock.

    Attributes:
        num_announced: rows that its client says it has, or seen if more; `num_rows` is what is believed.
        running: its running rows by request id.
        lengths: what its rows' outputs are taken to be.
        num_expected: rows of which `longest_output` is the longest.
        is_known: whether news told of it.
        num_paused: rows that await the next piece of a streamed input; neither waiting nor running.
        num_finished: rows that were answered; num_aborted of them ended without an answer.
        num_past_core: rows that have had their first token, or ended without one.
        last_active_s: when a row last arrived or ended.
    """

    num_announced: int = 0
    running: dict[str, HostRequest] = field(default_factory=dict, repr=False)
    lengths: RelLengths = field(default_factory=lambda: CapLengths(1), repr=False)
    num_expected: int = 0
    is_known: bool = False
    num_paused: int = 0
    num_finished: int = 0
    num_aborted: int = 0
    num_past_core: int = 0
    last_active_s: float = 0.0

    @property
    def num_resident(self) -> int:
        """Rows in the engine."""
        return self.num_waiting + self.num_running + self.num_paused

    @property
    def phase(self) -> str:
        """The phase that it is in, in words."""
        if self.first_scheduled_s is None:
            return "waiting"
        return "core running" if self.num_past_core < self.num_announced else "tail running"

    def believe(self) -> None:
        """Believe its client's word on the rows to come as far as those that came bear it out.

        An honest client's rows follow each other within milliseconds, or as fast as they are answered. Rows
        that are announced and do not come would else make others wait in every forecast.
        """
        before, unseen = self.num_rows, self.num_announced - self.num_arrived
        most = AT_FIRST + FOR_EACH * self.num_arrived if self.num_resident else 0
        self.num_rows = self.num_arrived + min(max(unseen, 0), most)
        self.num_unannounced += self.num_arrived > 1 and self.num_rows > before

    def count_running(self) -> None:
        """Bring up to date what the running rows have still to compute and to give."""
        left = self.lengths.expected_left
        last = len(left) - 1
        num_decoding = prefill_left = 0
        most, least, total = -1, last, 0.0
        for request in self.running.values():
            if request.is_prefill_chunk:
                prefill_left += request.num_tokens - request.num_computed_tokens
                continue
            # Every step comes by here for every row: builtins would take twice as long.
            given = request.num_output_tokens
            if given > most:
                most = given
            if given < least:
                least = given
            num_decoding += 1
            total += left[given if given < last else last]
        self.num_decoding, self.prefill_left, self.sum_decode_left = num_decoding, prefill_left, total
        self._expect_outputs(most, least)

    def _expect_outputs(self, most: int, least: int) -> None:
        """Bring up to date what outputs are taken to be; those that decode gave so many tokens so far."""
        lengths = self.lengths
        if lengths.renew(most, self._given) or self.num_rows != self.num_expected:
            self.row_output, self.seen_output = lengths.row, lengths.seen
            self.longest_output, self.num_expected = lengths.longest_left(0, self.num_rows), self.num_rows
        if most >= self.output_cap:  # the client's word, which a row has belied
            self.output_cap = DISBELIEF * (most + 1)
        self.max_decode_left = lengths.longest_left(least, self.num_decoding) if self.num_decoding else 0.0

    def _given(self) -> Iterable[tuple[int, int]]:
        if len(self.running) == 1:
            return [(r.num_output_tokens, 1) for r in self.running.values() if not r.is_prefill_chunk]
        return Counter(r.num_output_tokens for r in self.running.values() if not r.is_prefill_chunk).items()


@dataclass(slots=True)
class _Row:
    rel: RelRecord
    request: HostRequest
    waiting_tokens: int
    arrival_s: float
    is_running: bool = False
    is_paused: bool = False
    last_token_s: float | None = None


class News(NamedTuple):
    """What happened since the last news: relQueries that changed (all that run do), and known ones gone.

    Of those gone, some were `cancelled` before all their rows were answered.
    """

    changed: Sequence[RelRecord]
    gone: Sequence[str]
    cancelled: frozenset[str]


class RowLedger:
    """Counts the rows of every relQuery in the engine; the scheduler and its queue tell it of every event.

    Attributes:
        active: the unfinished relQueries by id, in order of arrival.
        lengths_of: tells what the outputs of a relQuery that comes are taken to be.
    """

    def __init__(self, linger_s: float = LINGER_S) -> None:
        self.lengths_of: LengthsOf = lambda _kind, cap, _likely: CapLengths(cap)
        self.active: dict[str, RelRecord] = {}
        self._rows: dict[str, _Row] = {}
        self._running: dict[str, RelRecord] = {}
        self._idle: dict[str, RelRecord] = {}  # no row here, but more were announced
        self._linger_s = linger_s
        self._changed: dict[str, RelRecord] = {}
        self._gone: list[str] = []
        self._cancelled: set[str] = set()
        self._round: Iterator[RelRecord] = iter(())

    def __len__(self) -> int:
        """Requests in the engine."""
        return len(self._rows)

    @property
    def running(self) -> Sequence[RelRecord]:
        """relQueries with running rows."""
        return list(self._running.values())

    def rel_of(self, request: HostRequest) -> RelRecord:
        """The relQuery of a request in the engine."""
        return self._rows[request.request_id].rel

    def times_of(self, request: HostRequest) -> tuple[float, float | None]:
        """When a request in the engine came, and gave its latest token; None before the first."""
        row = self._rows[request.request_id]
        return row.arrival_s, row.last_token_s

    def news(self) -> News:
        """What a policy has to be shown; each event is told of once."""
        for rel in self._running.values():
            rel.count_running()
        self._look_round()
        for rel in self._changed.values():
            rel.is_known = True
        changed, gone = {**self._changed, **self._running}, self._gone
        cancelled = frozenset(self._cancelled)
        self._changed, self._gone, self._cancelled = {}, [], set()
        return News(list(changed.values()), gone, cancelled)

    def _look_round(self) -> None:
        """Bring some relQueries up to date that only wait: rows of their kind may have ended."""
        for _ in range(min(LOOKS, len(self.active))):
            rel = next(self._round, None)
            if rel is None:
                self._round = iter(list(self.active.values()))
                rel = next(self._round)
            if rel.lengths.is_outdated and self.active.get(rel.rel_id) is rel:
                rel.count_running()
                self._changed[rel.rel_id] = rel

    def arrive(self, request: HostRequest, identity: RelTag, now_s: float) -> None:
        """A request came, and waits."""
        known = self._rows.get(request.request_id)
        if known is not None:
            self._go_on(known)
            return
        rel = self.active.get(identity.rel_id)
        self._forget_lingering(now_s, but=rel)
        if rel is None:
            rel = self._new(identity, now_s)
        self._idle.pop(identity.rel_id, None)
        rel.num_arrived += 1
        rel.arrived_tokens += request.num_prompt_tokens
        rel.num_announced = max(identity.rows, rel.num_arrived)
        rel.output_cap = max(rel.output_cap, identity.output_cap)
        rel.lengths.allow(identity.output_cap)
        rel.last_active_s = now_s
        row = self._rows[request.request_id] = _Row(rel, request, request.num_tokens, now_s)
        self._add_waiting(row)
        rel.believe()

    def _new(self, identity: RelTag, now_s: float) -> RelRecord:
        """A relQuery comes."""
        lengths = self.lengths_of(identity.kind, identity.output_cap, identity.likely)
        num_rows = min(identity.rows, 1 + AT_FIRST + FOR_EACH)
        rel = RelRecord(identity.rel_id, now_s, num_rows, identity.output_cap, lengths=lengths)
        rel.workflow_id, rel.stage, rel.deadline_s = identity.workflow_id, identity.stage, identity.deadline_s
        rel.is_named, rel.is_background = identity.is_named, identity.is_background
        rel.row_output, rel.longest_output = lengths.row, lengths.longest_left(0, num_rows)
        rel.seen_output = lengths.seen
        return self.active.setdefault(identity.rel_id, rel)

    def wait(self, request: HostRequest) -> None:
        """A request is in the waiting queue: for the first time, or again after a preemption."""
        row = self._rows.get(request.request_id)
        if row is None:
            return
        rel, was_running, awaits = row.rel, row.is_running, awaits_input(request)
        if not (was_running or row.is_paused or awaits) and row.waiting_tokens == request.num_tokens:
            self._changed[rel.rel_id] = rel  # counted as it is, as a row that has just come
            return
        self._take_out(row)
        if was_running and not rel.running:
            rel.count_running()
        row.waiting_tokens = request.num_tokens  # kept, for a token may still come in while it waits
        if awaits:
            row.is_paused = True
            rel.num_paused += 1
        else:
            self._add_waiting(row)

    def run(self, request_ids: Iterable[str], now_s: float) -> None:
        """Requests were taken from the waiting queue, for the first time or again."""
        for request_id in request_ids:
            row = self._rows.get(request_id)
            if row is None or row.is_running:
                continue
            self._take_out(row)
            row.is_running = True
            rel = row.rel
            rel.running[request_id] = row.request
            rel.num_running += 1
            self._running[rel.rel_id] = rel
            if rel.first_scheduled_s is None:
                rel.first_scheduled_s = now_s

    def token(self, request_id: str, now_s: float) -> None:
        """A request has new tokens."""
        row = self._rows.get(request_id)
        if row is None:
            return
        if row.last_token_s is None:
            row.rel.num_past_core += 1
        row.last_token_s = now_s

    def end(self, request_id: str, now_s: float, aborted: bool = False) -> None:
        """A request left the engine, answered or not."""
        row = self._rows.pop(request_id, None)
        if row is None:
            return
        rel, given = row.rel, row.request.num_output_tokens
        if given:
            rel.most_output = max(rel.most_output, given)
            rel.lengths.ended(given, is_whole=not aborted and given < row.request.max_tokens)
        was_running = row.is_running
        self._take_out(row)
        rel.num_past_core += row.last_token_s is None
        rel.num_aborted, rel.num_finished = rel.num_aborted + aborted, rel.num_finished + (not aborted)
        rel.last_active_s = now_s
        # After an abort no more rows come; else those announced may still be on their way.
        if not rel.num_resident and (aborted or rel.num_arrived >= rel.num_announced):
            self._forget(rel)
            return
        if was_running and not rel.running:
            rel.count_running()
        if not rel.num_resident:
            rel.believe()
            self._idle[rel.rel_id] = rel
            self._forget_lingering(now_s)

    def _go_on(self, row: _Row) -> None:
        """A further piece of a streamed input came; the row can be admitted if it had paused for it."""
        if row.is_paused:
            self._take_out(row)
            self._add_waiting(row)

    def _take_out(self, row: _Row) -> None:
        """Count a row no more where it was counted."""
        if row.is_paused:
            row.is_paused = False
            row.rel.num_paused -= 1
        elif row.is_running:
            self._remove_running(row)
        else:
            self._remove_waiting(row)

    def _add_waiting(self, row: _Row) -> None:
        row.rel.num_waiting += 1
        row.rel.waiting_tokens += row.waiting_tokens
        self._changed[row.rel.rel_id] = row.rel

    def _remove_waiting(self, row: _Row) -> None:
        row.rel.num_waiting -= 1
        row.rel.waiting_tokens -= row.waiting_tokens
        self._changed[row.rel.rel_id] = row.rel

    def _remove_running(self, row: _Row) -> None:
        row.is_running, rel = False, row.rel
        del rel.running[row.request.request_id]
        rel.num_running -= 1
        self._changed[rel.rel_id] = rel
        if not rel.running:
            del self._running[rel.rel_id]

    def _forget(self, rel: RelRecord) -> None:
        self._idle.pop(rel.rel_id, None)
        self._changed.pop(rel.rel_id, None)
        del self.active[rel.rel_id]
        rel.lengths.rest()
        if rel.is_known:
            self._gone.append(rel.rel_id)
            if rel.num_aborted:
                self._cancelled.add(rel.rel_id)

    def _forget_lingering(self, now_s: float, but: RelRecord | None = None) -> None:
        # Insertion order is order of idleness, so only the front is looked at.
        while self._idle:
            rel = next(iter(self._idle.values()))
            is_patient = now_s - rel.last_active_s <= self._linger_s and len(self._idle) <= MOST_IDLE
            if rel is but or is_patient:
                return
            self._forget(rel)
