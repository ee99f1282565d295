"""What policies see, made from vLLM's requests: one RelState a relQuery, renewed each step."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from relserve.policies.scheduling.state import RelState
from relserve.vllm_plugin.identity import Identity


class RelView:
    """The states of the relQueries in the engine.

    A request carries its state as `relserve_state`, so that no look-up by id is needed in a step.
    """

    def __init__(self, sample_size: int = 10, seed: int = 0) -> None:
        self.states: dict[str, RelState] = {}
        self._sample_size, self._random = sample_size, random.Random(seed)
        self._ran: set[str] = set()

    def arrive(self, request: Any, identity: Identity, now_s: float) -> None:
        """A request came."""
        state = self.states.get(identity.rel_id)
        if state is None:
            state = RelState(identity.rel_id, now_s, identity.rows, identity.output_cap)
            self.states[identity.rel_id] = state
        if state.num_arrived >= identity.rows:
            state.fcfs = state.priority = None  # more rows than announced: it is not what it was taken for
        state.num_rows = max(identity.rows, state.num_arrived + 1)
        state.output_cap = max(state.output_cap, identity.output_cap)
        state.num_arrived += 1
        state.arrived_tokens += request.num_prompt_tokens
        state.changed = True
        request.relserve_state = state

    def renew(self, running: Iterable[Any], active: Mapping[str, object]) -> None:
        """Count the running rows anew; forget relQueries that are not `active` any more."""
        states, ran = self.states, self._ran
        for rel_id in ran:
            state = states.get(rel_id)
            if state is not None:
                state.num_running = state.num_decoding = state.prefill_left = 0
                state.max_decode_left = state.sum_decode_left = 0
                state.changed = True
        ran.clear()
        for request in running:
            state = request.relserve_state
            state.num_running += 1
            ran.add(state.rel_id)
            if request.is_prefill_chunk:
                state.prefill_left += request.num_tokens - request.num_computed_tokens
            else:
                state.num_decoding += 1
                left = min(state.output_cap, request.max_tokens) - request.num_output_tokens
                left = max(left, 1)
                state.sum_decode_left += left
                state.max_decode_left = max(state.max_decode_left, left)
        if len(states) != len(active):
            for rel_id in [r for r in states if r not in active]:
                del states[rel_id]

    def sample(self, rows: Any) -> list[Any]:
        """A few waiting rows at random, for the miss ratio (Eq. 11)."""
        if len(rows) <= self._sample_size:
            return list(rows)
        # Indices, because a deque of thousands is cheap to index near its ends only.
        near = min(len(rows), 4 * self._sample_size)
        return [rows[i] for i in self._random.sample(range(near), self._sample_size)]


def state_of(request: Any) -> RelState:
    """The state of a request's relQuery."""
    state: RelState = request.relserve_state
    return state
