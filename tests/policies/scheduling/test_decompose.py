"""Algorithm 1 and PEM: what batches must obey, and that the closed form agrees with the row-by-row one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.decompose import AloneWork, batch_decompose, pem, pem_exact
from relserve.policies.scheduling.state import EngineLimits, RelState

COST = CostModel(1e-4, 5e-3, 1e-4, 2e-2)
limits = st.builds(EngineLimits, st.integers(1, 64), st.integers(64, 4096), st.integers(64, 20_000))
row_lists = st.lists(st.integers(1, 600), max_size=120)


@given(row_lists, st.integers(1, 100), limits)
def test_batches_hold_every_row_once_and_obey_the_limits(
    rows: list[int], cap: int, lim: EngineLimits
) -> None:
    batches = batch_decompose(rows, cap, lim)
    assert sum(batches.prefills) == sum(rows)
    assert sum(batches.decodes) == len(rows) * cap
    assert all(d <= lim.max_num_seqs for d in batches.decodes)
    largest = max(rows, default=0)
    assert all(p <= max(lim.max_num_batched_tokens, largest) for p in batches.prefills)


def test_the_erratum_accum_is_reset_after_a_wave() -> None:
    """As printed, every row after the first full wave would start a wave of its own."""
    batches = batch_decompose([100] * 40, 2, EngineLimits(64, 1000, 1000))
    assert batches.decodes == [10, 10] * 4
    assert batches.prefills == [1000.0] * 4


def test_pem_by_hand() -> None:
    state = relation(rows=[100] * 3, cap=4)
    lim = EngineLimits(8, 1000, 10_000)
    expected = COST.prefill(300) + 4 * COST.decode(3)
    assert seconds(pem_exact(state, 1.0, lim)) == pytest.approx(expected)
    assert seconds(pem(state, 1.0, lim)) == pytest.approx(expected)


def test_rows_that_have_not_arrived_are_extrapolated() -> None:
    lim = EngineLimits(64, 4096, 100_000)
    half, whole = relation([100] * 5, cap=10), relation([100] * 10, cap=10)
    half.num_rows = 10
    assert seconds(pem(half, 1.0, lim)) == pytest.approx(seconds(pem(whole, 1.0, lim)))
    assert seconds(pem_exact(half, 1.0, lim)) == pytest.approx(seconds(pem_exact(whole, 1.0, lim)))


@given(st.lists(st.integers(50, 300), min_size=1, max_size=100), st.integers(1, 100), limits)
def test_the_closed_form_is_near_the_exact_one(rows: list[int], cap: int, lim: EngineLimits) -> None:
    """Apart by at most the waves and batches that unequal rows shift."""
    state = relation(rows, cap)
    exact, closed = seconds(pem_exact(state, 1.0, lim)), seconds(pem(state, 1.0, lim))
    batches = batch_decompose(rows, cap, lim)
    waves = len(batches.decodes) / cap
    slack = (waves + 1) * cap * COST.decode_base_s + (len(batches.prefills) + 1) * COST.prefill_base_s
    assert abs(exact - closed) <= slack + 0.1 * exact


@given(row_lists.filter(len), st.integers(2, 100), limits, st.data())
def test_priority_falls_as_work_is_done(
    rows: list[int], cap: int, lim: EngineLimits, data: st.DataObject
) -> None:
    """A row less, or a decode step done, never raises the estimate."""
    state = relation(rows, cap)
    fewer = relation(rows[:-1], cap)
    assert seconds(pem_exact(fewer, 1.0, lim)) <= seconds(pem_exact(state, 1.0, lim)) + 1e-9
    running = data.draw(st.integers(1, 20))
    steps = data.draw(st.integers(2, cap))
    before, after = relation(rows, cap), relation(rows, cap)
    before.num_running = after.num_running = before.num_decoding = after.num_decoding = running
    before.max_decode_left, before.sum_decode_left = steps, steps * running
    after.max_decode_left, after.sum_decode_left = steps - 1, (steps - 1) * running
    assert seconds(pem(after, 1.0, lim)) <= seconds(pem(before, 1.0, lim))


def seconds(work: AloneWork) -> float:
    return float(work.seconds(COST).alone_s)


def relation(rows: list[int], cap: int) -> RelState:
    return RelState(
        "r", 0.0, len(rows), cap, num_arrived=len(rows), arrived_tokens=sum(rows), num_waiting=len(rows),
        waiting_tokens=sum(rows), waiting_row_tokens=lambda: rows,
    )  # fmt: skip
