"""Batch decomposition and the priority estimation model (RelServe, Algorithm 1 and Eq. 10)."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import NamedTuple

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.state import Limits, RelState, RemainingWork, Work


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


def pem_exact(state: RelState, cost: CostModel, limits: Limits) -> RemainingWork:
    """Eq. 10 over Algorithm 1, row by row: predicted seconds of what is left of a relQuery.

    Rows in progress: their prompts' rest joins the first prefill batch, and they decode for their
    remaining steps beside the first wave; finished work costs nothing.
    """
    rows = list(state.waiting_row_tokens()) if state.waiting_row_tokens is not None else []
    rows += [round(state.mean_tokens)] * state.num_unseen
    batches = batch_decompose((max(t * state.miss_ratio, 1.0) for t in rows), state.output_cap, limits)
    tokens, outputs = sum(batches.prefills), sum(batches.decodes)
    return _left(state, cost, tokens, outputs, len(batches.prefills), len(batches.decodes))


def pem(state: RelState, cost: CostModel, limits: Limits) -> RemainingWork:
    """Eq. 10 in closed form: rows taken as equal to their mean, so the cost does not grow with rows.

    Within one prefill batch and one wave of `pem_exact`; the difference is the rows' spread.
    """
    rows = state.num_waiting + state.num_unseen
    if not rows:
        return _left(state, cost, 0.0, 0, 0, 0)
    waiting_mean = state.waiting_tokens / state.num_waiting if state.num_waiting else state.mean_tokens
    tokens = max(waiting_mean * state.miss_ratio, 1.0)
    wave = max(1, min(limits.max_num_seqs, int(limits.kv_tokens / tokens)))
    rows_a_batch = max(1, int(limits.max_num_batched_tokens / tokens))
    full, rest = divmod(rows, wave)
    prefills = full * ceil(wave / rows_a_batch) + ceil(rest / rows_a_batch)
    decodes = ceil(rows / wave) * state.output_cap
    return _left(state, cost, rows * tokens, rows * state.output_cap, prefills, decodes)


def _left(
    state: RelState, cost: CostModel, tokens: float, outputs: int, prefills: int, decodes: int
) -> RemainingWork:
    """Price the batches of the waiting rows, and what the rows in progress add to them."""
    prefills += bool(state.prefill_left and not prefills)
    decodes += max(0, state.max_decode_left - (state.output_cap if decodes else 0))
    tokens, outputs = tokens + state.prefill_left, outputs + state.sum_decode_left
    return RemainingWork(
        cost.prefill_per_token_s * tokens + cost.decode_per_request_s * outputs,
        cost.prefill_base_s * prefills + cost.decode_base_s * decodes,
    )


def work_left(state: RelState, limits: Limits) -> Work:
    """What is left of a relQuery when it shares a full engine with others, by its cap on outputs."""
    tokens = (state.waiting_tokens + state.num_unseen * state.mean_tokens) * state.miss_ratio
    outputs = (state.num_waiting + state.num_unseen) * state.output_cap + state.sum_decode_left
    rows_at_once = min(limits.max_num_seqs, limits.kv_tokens / (state.mean_tokens + state.output_cap))
    return Work(tokens + state.prefill_left, outputs, outputs / max(rows_at_once, 1.0))
