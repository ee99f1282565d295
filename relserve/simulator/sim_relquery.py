"""A relQuery inside the simulated engine: its queue, its rows that decode, and the state policies see."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field

from relserve.policies.scheduling.state import RelState
from relserve.simulator.workload import RelSpec


@dataclass(slots=True, eq=False)
class SimRow:
    """One request in the engine."""

    rel: SimRel
    num_prompt: int
    num_output: int
    hashes: tuple[int, ...]
    generated: int = 0
    prefill_left: int = 0  # tokens still to compute once admitted
    num_blocks: int = 0  # held now
    joined: int = 0  # the relQuery's decode clock when it began to decode

    @property
    def tokens_to_compute(self) -> int:
        """Prompt tokens, and after a preemption the generated ones too."""
        return self.num_prompt + self.generated


@dataclass(slots=True, eq=False)
class SimRel:
    """A relQuery. Rows that decode together are counted, not looped over.

    `clock` counts the decode steps of this relQuery. A row that begins to decode at clock c finishes at
    c + (tokens it has still to give); it needs a new block whenever clock mod block_size has its phase.
    """

    spec: RelSpec
    state: RelState
    waiting: deque[SimRow] = field(default_factory=deque)
    partial: list[SimRow] = field(default_factory=list)  # admitted, prompt not whole
    clock: int = 0
    decoding: dict[SimRow, None] = field(default_factory=dict)  # in the order in which they began
    finish: defaultdict[int, list[SimRow]] = field(default_factory=lambda: defaultdict(list))
    grow: Counter[int] = field(default_factory=Counter)
    starts: Counter[int] = field(default_factory=Counter)  # clock at which a row's first token would be
    num_left: int = 0
    last_first_token_s: float = 0.0
    done_s: float | None = None
    num_preempted: int = 0
    has_changed: bool = True  # since the policy's last view

    def begin_decode(self, row: SimRow, block_size: int) -> None:
        """A row has its whole prompt and its first token; it decodes from the next step on."""
        row.joined = self.clock
        self.decoding[row] = None
        self.finish[self.clock + row.num_output - row.generated].append(row)
        self.grow[(self.clock - row.num_prompt - row.generated + 1) % block_size] += 1
        self.starts[self.clock - row.generated] += 1

    def end_decode(self, row: SimRow, block_size: int) -> None:
        """A row is finished or preempted; `generated` is brought up to date."""
        start = row.joined - row.generated
        self.grow[(row.joined - row.num_prompt - row.generated + 1) % block_size] -= 1
        self.starts[start] -= 1
        if not self.starts[start]:
            del self.starts[start]
        row.generated += self.clock - row.joined
        del self.decoding[row]

    def renew_state(self) -> None:
        """Bring the counts that policies see up to date."""
        state, cap, clock = self.state, self.spec.output_cap, self.clock
        state.num_decoding = len(self.decoding)
        state.num_running = state.num_decoding + len(self.partial)
        state.prefill_left = sum(r.prefill_left for r in self.partial)
        state.max_decode_left = max(1, cap - clock + max(self.starts)) if self.starts else 0
        total = sum(start * count for start, count in self.starts.items())
        state.sum_decode_left = state.num_decoding * (cap - clock) + total
        state.num_waiting = len(self.waiting)
        self.has_changed = True
