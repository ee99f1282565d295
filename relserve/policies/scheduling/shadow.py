"""The same relQueries first come, first served: how long each would take, as a guard has to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits, RelState

LEAST_ROWS = 1e-6  # less of a row is none
AT_ONCE = 64  # relQueries of which a step admits rows


@dataclass(slots=True)
class _Rel:
    """A relQuery in the shadow; rows are counted in parts.

    Attributes:
        state: the true one, which tells what its outputs are taken to be.
        tokens: uncached prompt tokens of a row.
        num_rows, num_admitted, num_decoding: rows that it is taken to have, that were admitted, that decode.
        admitted: rows admitted in one step, and that step's number.
        is_wanted: whether somebody will ask for its latency.
    """

    state: RelState
    tokens: float
    num_rows: int = 0
    num_admitted: float = 0.0
    num_decoding: float = 0.0
    admitted: list[tuple[float, int]] = field(default_factory=list)
    is_wanted: bool = True

    @property
    def num_waiting(self) -> float:
        """Rows that are not admitted, of those that are still believed to come."""
        remaining = min(self.num_rows, self.state.num_rows) - self.num_admitted
        return remaining if remaining >= LEAST_ROWS else 0.0

    @property
    def held_tokens(self) -> float:
        """KV tokens that a row takes on average; a prefix that is cached is there already."""
        return self.tokens + self.state.row_output / 2

    @property
    def longest_output(self) -> float:
        """Of its rows, as far as there is evidence: of a kind that is new nobody is to be kept waiting."""
        state = self.state
        longest, seen, mean = state.longest_output, state.seen_output, state.row_output
        evident = seen if seen > mean else mean
        return longest if longest < evident else evident

    def remaining_steps(self, step: int) -> float:
        """Decode steps until the last row that was admitted ends."""
        return self.longest_output - 1 - (step - self.admitted[-1][1])

    def end_rows(self, step: int) -> None:
        """Count the rows that decode on; outputs lie evenly about their mean, up to the longest."""
        state = self.state
        longest, mean = self.longest_output, state.row_output
        shortest, share = 2 * mean - longest, 2 * mean / longest
        spread = longest - shortest if shortest > 0.0 else longest
        share = share if share < 1.0 else 1.0  # few are much longer than all others
        num_decoding, num_ended = 0.0, 0
        for num_rows, start in self.admitted:
            remaining = longest - 1 - (step - start)
            if remaining <= 0:
                num_ended += 1
            elif remaining >= spread:
                num_decoding += num_rows
            else:
                num_decoding += num_rows * share * remaining / spread
        if num_ended:
            del self.admitted[: min(num_ended, len(self.admitted) - 1)]
        if state.num_rows < self.num_admitted:  # rows that turned out not to come are served no more
            num_decoding *= state.num_rows / max(self.num_admitted, 1.0)
        self.num_decoding = num_decoding


class FcfsShadow:
    """An engine in thought that serves what comes in vLLM's own order, at the pace of the cost model.

    Every step computes all decodes, and prompts in the order of arrival for as long as the step's tokens,
    slots and memory last. The rows of a relQuery give `row_output` tokens on average, and its last one
    `longest_output`. A step costs as much as it touches relQueries that decode.

    Attributes:
        latency_s: of the relQueries that would be done by now and have not left, by id.
    """

    def __init__(self) -> None:
        self.latency_s: dict[str, float] = {}
        self._rels: dict[str, _Rel] = {}
        self._waiting: dict[str, _Rel] = {}  # in order of arrival
        self._decoding: dict[str, _Rel] = {}
        self._done: dict[str, _Rel] = {}  # those of `latency_s`
        self._clock_s = self._prefill_s = 0.0  # of the latest step that computed prompts
        self._num_steps = 0

    def arrive(self, state: RelState, miss_ratio: float) -> None:
        """A relQuery has come, or more rows of it than were known."""
        rel = self._rels.get(state.rel_id) or self._done.pop(state.rel_id, None)
        if rel is None or rel.state is not state:  # an id may come again while its first rows are served here
            self._drop(state.rel_id)
            rel = _Rel(state, max(state.mean_tokens * miss_ratio, 1.0))
        self.latency_s.pop(state.rel_id, None)
        if not self._rels:
            self._clock_s = max(self._clock_s, state.arrival_s)
        self._rels[state.rel_id] = rel
        rel.num_rows = max(state.num_rows, rel.num_rows)
        if rel.num_waiting:
            self._waiting[state.rel_id] = rel
        else:
            self._decoding[state.rel_id] = rel

    def leave(self, rel_id: str, is_done: bool) -> None:
        """It left the true engine; one that was not done leaves this one, too."""
        self.latency_s.pop(rel_id, None)
        self._done.pop(rel_id, None)
        if not is_done:
            self._drop(rel_id)
        elif rel_id in self._rels:
            self._rels[rel_id].is_wanted = False

    def rest(self) -> None:
        """The true engine has nothing to do; so would this one, for neither is ever idle without need."""
        for rels in (self._rels, self._waiting, self._decoding, self._done, self.latency_s):
            rels.clear()

    def advance(self, now_s: float, cost: CostModel, limits: EngineLimits) -> None:
        """Serve until now."""
        while self._rels and self._clock_s < now_s:
            step_s = self._step(cost, limits)
            self._clock_s += step_s
            for rel in self._done_now():
                self._end(rel)
            if not step_s:
                break
        if not self._waiting and not self._decoding:
            self._clock_s = max(self._clock_s, now_s)

    def _end(self, rel: _Rel) -> None:
        rel_id = rel.state.rel_id
        self._drop(rel_id)
        if rel.is_wanted:
            self.latency_s[rel_id] = self._clock_s - rel.state.arrival_s
            self._done[rel_id] = rel

    def _drop(self, rel_id: str) -> None:
        for rels in (self._rels, self._waiting, self._decoding):
            rels.pop(rel_id, None)

    def forecast(self, cost: CostModel, limits: EngineLimits) -> dict[str, float]:
        """Latencies of those that are not done: their prompts at the latest pace, then their last row."""
        rows = sum([rel.num_decoding for rel in self._decoding.values()])
        rows += sum([rel.num_waiting for rel in self._waiting.values()])
        decode_s = cost.decode(min(rows, limits.max_num_seqs))
        token_s = max(self._prefill_s / limits.max_num_batched_tokens, cost.prefill_per_token_s)
        found, tokens = {}, 0.0
        for rel_id, rel in {**self._decoding, **self._waiting}.items():
            num_waiting = rel.num_waiting
            steps = rel.longest_output if num_waiting else rel.remaining_steps(self._num_steps)
            tokens += num_waiting * rel.tokens
            done_s = self._clock_s + tokens * token_s + (steps if steps > 1.0 else 1.0) * decode_s
            found[rel_id] = done_s - rel.state.arrival_s
        return found

    def _done_now(self) -> list[_Rel]:
        step, rels = self._num_steps, self._decoding.values()
        ended = [rel for rel in rels if not rel.admitted or rel.remaining_steps(step) <= 0]
        return [rel for rel in ended if not rel.num_waiting]

    def _step(self, cost: CostModel, limits: EngineLimits) -> float:
        """Compute a step; gives how long it takes."""
        num_decoding = held_tokens = 0.0
        for rel in self._decoding.values():
            rel.end_rows(self._num_steps)
            num_decoding += rel.num_decoding
            held_tokens += rel.num_decoding * rel.held_tokens
        admitted, tokens = self._admitted(num_decoding, limits.kv_tokens - held_tokens, limits)
        self._num_steps += 1
        for rel, num_rows in admitted:
            self._admit(rel, num_rows)
        seconds = cost.step(tokens, num_decoding)
        if tokens:
            self._prefill_s = seconds
        return seconds

    def _admit(self, rel: _Rel, num_rows: float) -> None:
        rel.num_admitted += num_rows
        rel.admitted.append((num_rows, self._num_steps))
        self._decoding[rel.state.rel_id] = rel
        if not rel.num_waiting:
            del self._waiting[rel.state.rel_id]

    def _admitted(
        self, num_decoding: float, memory: float, limits: EngineLimits
    ) -> tuple[list[tuple[_Rel, float]], float]:
        """The rows that a step admits into so many free KV tokens, and their prompts' tokens."""
        budget = remaining = max(limits.max_num_batched_tokens - num_decoding, 1.0)
        slots = limits.max_num_seqs - num_decoding
        admitted: list[tuple[_Rel, float]] = []
        for rel in list(islice(self._waiting.values(), AT_ONCE)):
            rel.num_rows = min(rel.num_rows, rel.state.num_rows)  # fewer may be believed to come than were
            if not rel.num_waiting:
                self._decoding[rel.state.rel_id] = self._waiting.pop(rel.state.rel_id)
                continue
            num_rows = min(rel.num_waiting, remaining / rel.tokens, slots, memory / rel.held_tokens)
            if not self._decoding and not admitted:  # an empty engine takes a row, however large
                num_rows = max(num_rows, min(rel.num_waiting, 1.0))
            if num_rows < LEAST_ROWS:
                break
            admitted.append((rel, num_rows))
            remaining -= num_rows * rel.tokens
            slots -= num_rows
            memory -= num_rows * rel.held_tokens
        return admitted, budget - remaining
