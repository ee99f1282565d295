"""Batch decomposition and the priority estimation model (RelServe, Algorithm 1 and Eq. 10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.book import Counts
from relserve.policies.scheduling.order import Floats
from relserve.policies.scheduling.state import Limits, RelState


class Batches(NamedTuple):
    """A relQuery's execution as batches: uncached tokens of each prefill, requests of each decode."""

    prefills: list[float]
    decodes: list[int]


def batch_decompose(row_tokens: Iterable[float], output_cap: int, limits: Limits) -> Batches:
    """Algorithm 1: the prefill and decode batches of a relQuery that runs alone.

    Args:
        row_tokens: uncached tokens utok(r_i) of each row, in order.
        output_cap: OL(R): decode batches after each wave.
        limits: cap, max_num_seqs and max_num_batched_tokens.

    Erratum corrected: the published text never resets `accum` after a wave; here it is reset.
    """
    prefills: list[float] = []
    decodes: list[int] = []
    wave, batch, accum = 0, 0.0, 0.0
    for tokens in row_tokens:
        if wave and (tokens + accum > limits.kv_tokens or wave + 1 > limits.max_num_seqs):
            prefills.append(batch)
            decodes.extend([wave] * output_cap)
            wave, batch, accum = 0, 0.0, 0.0
        if batch and tokens + batch > limits.max_num_batched_tokens:
            prefills.append(batch)
            batch = 0.0
        batch += tokens
        accum += tokens
        wave += 1
    if wave:
        prefills.append(batch)
        decodes.extend([wave] * output_cap)
    return Batches(prefills, decodes)


class AloneWork(NamedTuple):
    """What relQueries have left when each has the engine for itself (Eq. 10); arrays, an element a relQuery.

    Attributes:
        tokens, outputs: uncached prompt tokens, and output tokens by the cap.
        prefills, decodes: steps of either kind.
    """

    tokens: Floats
    outputs: Floats
    prefills: Floats
    decodes: Floats

    def seconds(self, cost: CostModel) -> RemainingSeconds:
        """How long it takes."""
        return RemainingSeconds(
            cost.prefill_per_token_s * self.tokens + cost.decode_per_request_s * self.outputs,
            cost.prefill_base_s * self.prefills + cost.decode_base_s * self.decodes,
        )


class RemainingSeconds(NamedTuple):
    """`AloneWork` in seconds, in two parts.

    `work_s` is of its tokens and outputs; `bases_s`, of its steps, is paid once by all that share a step.
    """

    work_s: Floats
    bases_s: Floats

    @property
    def alone_s(self) -> Floats:
        """PEM's estimate: both."""
        return self.work_s + self.bases_s


class SharedWork(NamedTuple):
    """Work on an engine that is full of others' rows too: prefill batches are full, their bases vanish.

    Attributes:
        tokens, outputs: uncached prompt tokens, and output tokens.
        steps: the decode steps that give them.
    """

    tokens: Floats
    outputs: Floats
    steps: Floats

    def seconds(self, cost: CostModel) -> Floats:
        """How long it takes."""
        decode_s = cost.decode_per_request_s * self.outputs + cost.decode_base_s * self.steps
        return cost.prefill_per_token_s * self.tokens + decode_s


def pem_exact(state: RelState, miss_ratio: float, limits: Limits) -> AloneWork:
    """Eq. 10 over Algorithm 1, row by row: what is left of one relQuery.

    Rows in progress: their prompts' rest joins the first prefill batch, and they decode for their
    remaining steps beside the first wave; finished work costs nothing.
    """
    rows = list(state.waiting_row_tokens()) if state.waiting_row_tokens is not None else []
    rows += [round(state.mean_tokens)] * state.num_unseen
    batches = batch_decompose((max(t * miss_ratio, 1.0) for t in rows), state.output_cap, limits)
    outputs = state.waiting_outputs + state.num_unseen * state.output_cap
    numbers = (sum(batches.prefills), outputs, len(batches.prefills), len(batches.decodes))
    waiting = AloneWork(*(np.array([float(number)]) for number in numbers))
    return _with_running(waiting, Counts.of([state]))


def pem(counts: Counts, miss_ratio: Floats, limits: Limits) -> AloneWork:
    """Eq. 10 in closed form: rows taken as equal to their mean, so the cost does not grow with rows.

    Within one prefill batch and one wave of `pem_exact`; the difference is the rows' spread.
    """
    rows = counts.num_waiting + counts.num_unseen
    waiting_mean = counts.waiting_tokens / np.maximum(counts.num_waiting, 1.0)
    mean = np.where(counts.num_waiting > 0, waiting_mean, counts.mean_tokens)
    tokens = np.maximum(mean * miss_ratio, 1.0)
    wave = np.maximum(1.0, np.minimum(limits.max_num_seqs, np.trunc(limits.kv_tokens / tokens)))
    rows_a_batch = np.maximum(1.0, np.trunc(limits.max_num_batched_tokens / tokens))
    full, rest = np.divmod(rows, wave)
    prefills = full * np.ceil(wave / rows_a_batch) + np.ceil(rest / rows_a_batch)
    decodes = np.ceil(rows / wave) * counts.output_cap
    outputs = counts.waiting_outputs + counts.num_unseen * counts.output_cap
    return _with_running(AloneWork(rows * tokens, outputs, prefills, decodes), counts)


def _with_running(waiting: AloneWork, counts: Counts) -> AloneWork:
    """Add what the rows in progress add to the batches of the waiting ones."""
    tokens, outputs, prefills, decodes = waiting
    first_wave = np.where(decodes > 0, counts.output_cap, 0.0)
    return AloneWork(
        tokens + counts.prefill_left,
        outputs + counts.sum_decode_left,
        prefills + ((counts.prefill_left > 0) & (prefills == 0)),
        decodes + np.maximum(0.0, counts.max_decode_left - first_wave),
    )


def shared_work(counts: Counts, miss_ratio: Floats, limits: Limits) -> SharedWork:
    """What is left of relQueries when each shares a full engine with others, by its cap on outputs."""
    mean = counts.mean_tokens
    tokens = (counts.waiting_tokens + counts.num_unseen * mean) * miss_ratio
    outputs = counts.waiting_outputs + counts.num_unseen * counts.output_cap + counts.sum_decode_left
    rows_at_once = np.minimum(limits.max_num_seqs, limits.kv_tokens / (mean + counts.output_cap))
    return SharedWork(tokens + counts.prefill_left, outputs, outputs / np.maximum(rows_at_once, 1.0))
