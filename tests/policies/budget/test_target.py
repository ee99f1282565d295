"""The target of Eq. 3 to 7: the trade-off that is found, its bounds, and which of them is taken."""

from __future__ import annotations

from math import inf

import pytest

from relserve.policies.budget.lens import TradeOff, bounds, target_s
from relserve.policies.budget.state import EndedRequest


def trade(num_output: int, slope: float = -100.0) -> TradeOff:
    found = TradeOff()
    for i in range(200):
        tpot_s = 0.01 + 0.0001 * (i % 50)
        found.add(EndedRequest(3.0 + slope * tpot_s, tpot_s, num_output))
    return found


def test_the_trade_off_is_found() -> None:
    alpha, beta = trade(150).alpha_beta
    assert alpha == pytest.approx(3.0)
    assert beta == pytest.approx(100.0)
    assert trade(150).mean_output == pytest.approx(150)
    assert trade(150, slope=50.0).alpha_beta[1] == 0.0


def test_long_answers_take_the_least_feasible_and_short_ones_the_largest() -> None:
    """Eq. 5: (3 - 1.8) / 100 = 12 ms."""
    assert bounds(trade(150), 1.8, 0.02) == pytest.approx((0.012, 0.02))
    assert target_s(trade(150), 1.8, 0.02, 0.001) == pytest.approx(0.012)
    assert target_s(trade(50), 1.8, 0.02, 0.001) == 0.02
    assert target_s(trade(150), 2.9, 0.02, 0.005) == 0.005


def test_where_no_target_keeps_both_the_nearest_bound_is_taken() -> None:
    assert target_s(trade(150), 0.1, 0.02, 0.001) == 0.02


def test_without_a_trade_off_the_first_token_decides() -> None:
    flat = trade(150, slope=50.0)
    assert bounds(flat, 10.0, 0.02) == (-inf, 0.02)
    assert bounds(flat, 0.1, 0.02) == (inf, 0.02)
    assert target_s(flat, 10.0, 0.02, 0.005) == 0.005
    assert target_s(flat, 0.1, 0.02, 0.005) == 0.02


def test_nothing_has_ended_yet() -> None:
    assert target_s(TradeOff(), 1.0, 0.02, 0.001) == 0.02
