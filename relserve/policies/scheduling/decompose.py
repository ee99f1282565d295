"""Batch decomposition and the priority estimation model (RelServe, Algorithm 1 and Eq. 10)."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any, NamedTuple

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits, RelState


class Batches(NamedTuple):
    """A relQuery's execution as batches: uncached tokens of each prefill, requests of each decode."""

    prefills: list[float]
    decodes: list[int]


def batch_decompose(row_tokens: Iterable[float], output_cap: int, limits: EngineLimits) -> Batches:
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


Quantity = Any  # a number of one relQuery, or a vector with an element for each of several


class AloneWork(NamedTuple):
    """What relQueries have left when each has the engine for itself (Eq. 10).

    Attributes:
        tokens, outputs: uncached prompt tokens, and output tokens.
        prefills, decodes: steps of either kind.
    """

    tokens: Quantity
    outputs: Quantity
    prefills: Quantity
    decodes: Quantity

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

    work_s: Quantity
    bases_s: Quantity

    @property
    def alone_s(self) -> Quantity:
        """PEM's estimate: both."""
        return self.work_s + self.bases_s


def pem_exact(state: RelState, miss_ratio: float, limits: EngineLimits) -> AloneWork:
    """Eq. 10 over Algorithm 1, row by row: what is left of one relQuery.

    Rows in progress: their prompts' rest joins the first prefill batch, and they decode for their
    remaining steps beside the first wave; finished work costs nothing.
    """
    rows = list(state.waiting_row_tokens()) if state.waiting_row_tokens is not None else []
    num_unseen = state.num_unseen
    rows += [round(state.mean_tokens)] * num_unseen
    batches = batch_decompose((max(t * miss_ratio, 1.0) for t in rows), state.output_cap, limits)
    num_prefills, num_decodes = len(batches.prefills), len(batches.decodes)
    return _with_running(state, num_unseen, sum(batches.prefills), num_prefills, num_decodes)


def pem(state: RelState, miss_ratio: float, limits: EngineLimits) -> AloneWork:
    """Eq. 10 in closed form: rows taken as equal to their mean, so the cost does not grow with rows.

    Within one prefill batch and one wave of `pem_exact`; the difference is the rows' spread.
    """
    num_waiting, num_unseen = state.num_waiting, state.num_unseen
    rows = num_waiting + num_unseen
    if not rows:
        return _with_running(state, 0, 0.0, 0, 0)
    mean = state.waiting_tokens / num_waiting if num_waiting else state.mean_tokens
    tokens = max(mean * miss_ratio, 1.0)
    wave = min(limits.max_num_seqs, int(limits.kv_tokens / tokens)) or 1
    rows_a_batch = int(limits.max_num_batched_tokens / tokens) or 1
    full, rest = divmod(rows, wave)
    prefills = ceil(rest / rows_a_batch)
    if full:
        prefills += full * ceil(wave / rows_a_batch)
    decodes = (full + (rest > 0)) * state.longest_output
    return _with_running(state, num_unseen, rows * tokens, prefills, decodes)


def _with_running(
    state: RelState, num_unseen: int, tokens: float, prefills: int, decodes: float
) -> AloneWork:
    """The batches of the waiting rows, and what the rows in progress add to them."""
    prefill_left, remaining = state.prefill_left, state.max_decode_left
    if prefill_left and not prefills:
        prefills = 1
    if decodes:  # those that run decode beside the first wave
        remaining -= state.longest_output
    if remaining > 0:
        decodes += remaining
    outputs = (state.num_waiting + num_unseen) * state.row_output + state.sum_decode_left
    return AloneWork(tokens + prefill_left, outputs, prefills, decodes)


def full_steps(state: RelState, outputs: float, limits: EngineLimits) -> float:
    """The decode steps that give so many of its outputs on an engine that is full of rows like its own."""
    rows_at_once = min(limits.max_num_seqs, limits.kv_tokens / (state.mean_tokens + state.row_output))
    return outputs / max(rows_at_once, 1.0)
