"""A relQuery inside the simulated engine: its queue, its rows that decode, and the state policies see."""

from __future__ import annotations

from collections import Counter, defaultdict, deque

from lab.simulator.workload import RelSpec, RowSpec
from relserve.policies.model.lengths import RelLengths
from relserve.policies.scheduling.state import RelState


class SimRow:
    """One request in the engine.

    Attributes:
        num_tokens: tokens to compute when it is admitted: its prompt, and after a preemption its outputs too.
        prefill_left: of these, tokens still to compute once admitted.
        num_blocks: KV blocks held now.
        joined: the relQuery's decode clock when it began to decode.
    """

    __slots__ = (
        "generated", "hashes", "joined", "num_blocks", "num_output", "num_prompt", "num_tokens",
        "prefill_left", "rel",
    )  # fmt: skip

    def __init__(self, rel: SimRel, spec: RowSpec, hashes: tuple[int, ...]) -> None:
        self.rel, self.hashes = rel, hashes
        self.num_prompt = self.num_tokens = len(spec.prompt)
        self.num_output = spec.output_tokens
        self.generated = self.prefill_left = self.num_blocks = self.joined = 0


class SimRel:
    """A relQuery. Rows that decode together are counted, not looped over.

    `clock` counts the decode steps of this relQuery. A row that begins to decode at clock c finishes at
    c + (tokens it has still to give); it needs a new block whenever clock mod block_size has its phase.

    Attributes:
        waiting: rows not admitted; a preempted one comes first.
        partial: rows admitted, prompt not whole.
        decoding: rows that decode, in the order in which they began.
        finish: the rows that end at a clock.
        growth: how many rows need a new block, by phase of the clock.
        starts: how many rows would have given their first token at a clock, had they decoded ever since.
    """

    def __init__(self, spec: RelSpec, block_size: int, prefix_caching: bool, lengths: RelLengths) -> None:
        self.spec, self.block_size, self.lengths = spec, block_size, lengths
        self.waiting = deque(
            SimRow(self, row, row.block_hashes(block_size) if prefix_caching else ()) for row in spec.rows
        )
        self.partial: dict[SimRow, None] = {}
        self.decoding: dict[SimRow, None] = {}
        self.clock = 0
        self.finish: defaultdict[int, list[SimRow]] = defaultdict(list)
        self.growth = [0] * block_size
        self.starts: Counter[int] = Counter()
        self._waiting_outputs = sum(row.output_tokens for row in spec.rows)
        self.num_left = len(spec.rows)
        self.last_first_token_s = 0.0
        self.done_s: float | None = None
        self.state = self._state_at_arrival()
        self.renew_state()

    def _state_at_arrival(self) -> RelState:
        spec, waiting = self.spec, self.waiting
        num_rows, tokens = len(spec.rows), sum(row.num_tokens for row in waiting)
        return RelState(
            spec.rel_id, spec.arrival_s, num_rows, spec.output_cap,
            num_arrived=num_rows, arrived_tokens=tokens, num_waiting=num_rows, waiting_tokens=tokens,
            waiting_row_tokens=lambda: (row.num_tokens for row in waiting), is_named=spec.is_named,
            workflow_id=spec.workflow_id or None, stage=spec.stage or None,
            deadline_s=None if spec.slo_s is None else spec.arrival_s + spec.slo_s,
        )  # fmt: skip

    def admit_next(self) -> SimRow:
        """The first waiting row gets memory."""
        row = self.waiting.popleft()
        self.partial[row] = None
        self.state.waiting_tokens -= row.num_tokens
        self._waiting_outputs -= row.num_output - row.generated
        return row

    def preempt_last(self) -> SimRow:
        """The row that was admitted last loses its memory; it waits again, before all others."""
        if self.partial:
            row = next(reversed(self.partial))
            del self.partial[row]
            row.prefill_left = 0
        else:
            row = next(reversed(self.decoding))
            self.finish[row.joined + row.num_output - row.generated].remove(row)
            self.end_decode(row)
            row.num_tokens = row.num_prompt + row.generated
        self.waiting.appendleft(row)
        self.state.waiting_tokens += row.num_tokens
        self._waiting_outputs += row.num_output - row.generated
        return row

    @property
    def blocks_of_next_decode(self) -> int:
        """KV blocks that its decoding rows take if they decode once more."""
        return self.growth[self.clock % self.block_size]

    def begin_decode(self, row: SimRow) -> None:
        """A row has its whole prompt and its first token; it decodes from the next step on."""
        row.joined = clock = self.clock
        self.decoding[row] = None
        self.finish[clock + row.num_output - row.generated].append(row)
        self.growth[(clock - row.num_prompt - row.generated + 1) % self.block_size] += 1
        self.starts[clock - row.generated] += 1

    def end_decode(self, row: SimRow) -> None:
        """A row is finished or preempted; `generated` is brought up to date."""
        start = row.joined - row.generated
        self.growth[(start - row.num_prompt + 1) % self.block_size] -= 1
        if self.starts[start] == 1:
            del self.starts[start]
        else:
            self.starts[start] -= 1
        row.generated += self.clock - row.joined
        del self.decoding[row]

    def renew_state(self) -> None:
        """Bring the counts that policies see up to date."""
        state = self.state
        state.num_decoding = len(self.decoding)
        state.num_running = state.num_decoding + len(self.partial)
        state.prefill_left = sum([row.prefill_left for row in self.partial]) if self.partial else 0
        state.num_waiting = len(self.waiting)
        if self.spec.knows_outputs:
            self._tell_outputs()
        else:
            self._expect_outputs()

    def _expect_outputs(self) -> None:
        """Tell what the rows are taken to say."""
        state, lengths, clock, starts = self.state, self.lengths, self.clock, self.starts
        lengths.renew(clock - min(starts) if starts else -1, self._given)
        state.row_output, state.seen_output = lengths.row, lengths.seen
        state.longest_output = lengths.longest_left(0, state.num_rows)
        state.max_decode_left = state.sum_decode_left = 0.0
        if starts:
            expected, last = lengths.expected_left, len(lengths.expected_left) - 1
            state.max_decode_left = lengths.longest_left(clock - max(starts), state.num_decoding)
            state.sum_decode_left = sum(
                [n * expected[min(clock - start, last)] for start, n in starts.items()]
            )

    def _given(self) -> list[tuple[int, int]]:
        return [(self.clock - start, num_rows) for start, num_rows in self.starts.items()]

    def _tell_outputs(self) -> None:
        """Tell what the rows will truly say."""
        state = self.state
        remaining = [(clock - self.clock, len(rows)) for clock, rows in self.finish.items() if rows]
        state.max_decode_left = max((steps for steps, _ in remaining), default=0)
        state.sum_decode_left = sum(steps * num_rows for steps, num_rows in remaining)
        if self.waiting:
            state.row_output = self._waiting_outputs / len(self.waiting)
            state.longest_output = max(row.num_output - row.generated for row in self.waiting)
