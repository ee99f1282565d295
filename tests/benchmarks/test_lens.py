"""`benchmarks.lens`: its requests, how it judges them, and its headline."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.effective.attainment import RequestRecord, Slo
from benchmarks.lens import Ran, Regime, attained, headline, meets, rows_of
from benchmarks.slo.beside import PROMPT, ROW_OUTPUT, ROW_PROMPT, ROWS, Kept, Load, arrivals, kept

REGIME = Regime(0.25, 0.02, 0.1)


def test_about_as_many_rows_decode_at_a_time_as_are_meant_to() -> None:
    load = Load(2.0, 7.0, 3.0, 60.0)
    found = arrivals(load, 1)
    assert found == sorted(found)
    rows = [each for each in found if each.num_prompt == ROW_PROMPT]
    a_token_s = load.row_s / np.mean(ROW_OUTPUT)
    for now_s in (1.0, 20.0, 50.0):
        alive = [r for r in rows if r.arrival_s <= now_s < r.arrival_s + r.num_output * a_token_s]
        assert len(alive) == pytest.approx(ROWS, rel=0.2)
    prompts = [each for each in found if each.num_prompt == PROMPT]
    assert len(prompts) == pytest.approx(2.0 * 63.0, rel=0.25)
    assert len(rows) + len(prompts) == len(found)


def test_seeds_draw_other_requests_and_the_same_ones_again() -> None:
    load = Load(2.0, 7.0, 3.0, 10.0)
    assert arrivals(load, 1) == arrivals(load, 1) != arrivals(load, 2)


def test_a_request_counts_within_both_limits_and_only_after_the_beginning() -> None:
    good = RequestRecord(5.0, [5.4, 5.45, 5.5])
    late = RequestRecord(5.0, [6.5, 6.55, 6.6])
    slow = RequestRecord(5.0, [5.4, 5.7, 6.0])
    early = RequestRecord(1.0, [9.0, 10.0, 11.0])
    found = kept([good, late, slow, early], Slo(1.0, 0.1), 3.0)
    assert (found.attained, found.ttft, found.tpot) == pytest.approx((1 / 3, 2 / 3, 2 / 3))
    assert found.num_requests == 3
    with pytest.raises(ValueError, match="did not"):
        kept([good, RequestRecord(5.0, [5.1], is_finished=False)], Slo(1.0, 0.1), 3.0)
    with pytest.raises(ValueError, match="there is none"):
        kept([early], Slo(1.0, 0.1), 3.0)


def test_a_load_is_a_share_of_what_can_be_computed_beside_the_rows() -> None:
    load = REGIME.load(0.5, 20.0)
    slo = REGIME.slo
    computed = load.prompts_per_s / 0.5 * PROMPT + ROWS / load.row_s * ROW_PROMPT
    assert computed == pytest.approx(PROMPT / REGIME.prompt_s * (1 - REGIME.step_s / slo.tbt_s))
    assert load.row_s == pytest.approx(np.mean(ROW_OUTPUT) * slo.tbt_s)


def ran(share: float, tpot: float = 1.0, r2: float | None = None) -> Ran:
    return Ran(Kept(share, 1.0, tpot, 0.03, 0.5, 100), (0.1, 0.4), r2, 300.0, 0.02)


def test_the_headline_is_of_the_load_where_ours_is_worst() -> None:
    found = {
        ("static-256", 0.3): [ran(1.0)], ("static-256", 0.7): [ran(0.5), ran(0.7)],
        ("static-8192", 0.3): [ran(0.8)], ("static-8192", 0.7): [ran(0.9, tpot=0.98), ran(0.9)],
        ("lens", 0.3): [ran(0.5, r2=0.9)], ("lens", 0.7): [ran(0.9, r2=0.8)],
        ("ours", 0.3): [ran(0.99, r2=0.97)], ("ours", 0.7): [ran(0.95, r2=0.96)],
    }  # fmt: skip
    static = ("static-256", "static-8192")
    assert attained(found, "static-256", 0.7) == pytest.approx(0.6)
    assert meets(found, "static-256", 0.7)
    assert not meets(found, "static-8192", 0.7)
    told = headline(found, (0.3, 0.7), static)
    assert told["attainment_over_best_static"] == 0.99
    assert told["lens_over_best_static"] == 0.5
    assert (told["single_static"], told["r2"], told["decision_ms"]) == ("static-8192", 0.96, 0.4)
    assert told["attainment_over_single_static"] == round(0.97 / 0.85, 3)
    assert told["loads_met"] == {"static-256": 2, "static-8192": 1, "lens": 2, "ours": 2}
    assert len(rows_of(found, (0.3, 0.7), (*static, "lens", "ours"), REGIME.slo)) == 8
