"""`benchmarks.lens`: its requests, how it judges them, what steps count as, and its headline."""

from __future__ import annotations

import random

import numpy as np
import pytest

from benchmarks.clocks import ChargedClock
from benchmarks.deadlines.workflows import DeadlineStepSpec
from benchmarks.effective.attainment import RequestLimits, RequestRecord
from benchmarks.lens import (
    LensRegime,
    LensRun,
    attained,
    headline,
    hindsight_r2,
    holds,
    learnt_r2,
    meets,
    rows_of,
)
from benchmarks.slo.beside import (
    PROMPT,
    ROW_OUTPUT,
    ROW_PROMPT,
    ROWS,
    BesideLoad,
    Kept,
    came,
    kept,
    trace,
)
from benchmarks.slo.step_times import fitted
from relserve.policies.model.linear import CostModel
from relserve.policies.model.structured import OURS
from relserve.policies.model.work import Work
from tests.policies.budget.seen import works

REGIME = LensRegime(0.02, 0.1)
LOAD = BesideLoad(2.0, 3.0, 60.0, 5)


def test_a_row_follows_another_in_each_place_and_prompts_come_by_themselves() -> None:
    found = trace(LOAD, 1)
    rows = [each for each in found if isinstance(each, DeadlineStepSpec)]
    assert len(rows) == ROWS * LOAD.rows_each
    assert sum(not row.before for row in rows) == ROWS
    assert {row.before for row in rows if row.before} <= {row.rel_id for row in rows}
    assert len({row.before for row in rows if row.before}) == len(rows) - ROWS
    assert all(len(row.rows[0].prompt) == ROW_PROMPT for row in rows)
    assert all(ROW_OUTPUT[0] <= row.rows[0].output_tokens < ROW_OUTPUT[1] for row in rows if row.before)
    prompts = [each for each in found if not isinstance(each, DeadlineStepSpec)]
    assert len(prompts) == pytest.approx(2.0 * LOAD.end_s, rel=0.25)
    assert all(len(each.rows[0].prompt) == PROMPT and each.arrival_s < LOAD.end_s for each in prompts)


def test_seeds_draw_other_requests_and_the_same_ones_again() -> None:
    assert trace(LOAD, 1) == trace(LOAD, 1) != trace(LOAD, 2)


def test_a_row_comes_when_the_one_before_it_has_ended() -> None:
    first, second, third = trace(LOAD, 1)[:3]
    ends = [first.rows[0].output_tokens, second.rows[0].output_tokens]
    token_s = {
        f"{first.rel_id}-0": [float(i) for i in range(ends[0])],
        f"{second.rel_id}-0": [ends[0] + 0.5 + i for i in range(ends[1] - 1)],
    }
    found = came([first, second, third], token_s)
    assert [each.arrival_s for each in found] == [0.0, ends[0] - 1.0]
    assert [each.is_finished for each in found] == [True, False]


def test_a_request_counts_within_both_limits_and_only_after_the_beginning() -> None:
    good = RequestRecord(5.0, [5.4, 5.45, 5.5])
    late = RequestRecord(5.0, [6.5, 6.55, 6.6])
    slow = RequestRecord(5.0, [5.4, 5.7, 6.0])
    early = RequestRecord(1.0, [9.0, 10.0, 11.0])
    found = kept([good, late, slow, early], RequestLimits(1.0, 0.1), 3.0)
    assert (found.attained, found.ttft, found.tpot) == pytest.approx((1 / 3, 2 / 3, 2 / 3))
    assert found.num_requests == 3
    with pytest.raises(ValueError, match="did not"):
        kept([good, RequestRecord(5.0, [5.1], is_finished=False)], RequestLimits(1.0, 0.1), 3.0)
    with pytest.raises(ValueError, match="there is none"):
        kept([early], RequestLimits(1.0, 0.1), 3.0)


def test_a_load_is_a_share_of_what_can_be_computed_beside_the_rows() -> None:
    load, slo = REGIME.load(0.5, 20.0), REGIME.slo
    row_s = float(np.mean(ROW_OUTPUT)) * slo.tbt_s
    computed = load.prompts_per_s / 0.5 * PROMPT + ROWS / row_s * ROW_PROMPT
    assert computed == pytest.approx(PROMPT / REGIME.prompt_s * (1 - REGIME.step_s / slo.tbt_s))
    assert load.rows_each * np.mean(ROW_OUTPUT) * REGIME.step_s > load.end_s


def measured() -> list[list[float]]:
    rng = random.Random(3)
    cost = (3e-3, 2.4e-5, 1e-4, 4e-5, 6e-7, 2.5e-8)
    return [
        [*work.row, (cost[0] + float(np.dot(cost[1:], work.row))) * rng.lognormvariate(0.0, 0.03)]
        for work in works(600)
    ]


def test_steps_count_as_those_of_their_size_did() -> None:
    steps = measured()
    times = fitted(steps)
    assert times.explained(steps) > 0.98
    assert times.seconds(Work(2000, 1, 150, 30_000, 2e6)) == pytest.approx(0.1251, rel=0.03)
    assert learnt_r2(steps, OURS) > 0.95
    scrambled = [[*a[:-1], b[-1]] for a, b in zip(steps, reversed(steps), strict=True)]
    assert fitted(scrambled).explained(scrambled) < 0.2
    assert hindsight_r2(np.array(steps)) >= fitted(steps).explained(steps)
    assert hindsight_r2(np.array(scrambled)) < 0.2
    assert learnt_r2(scrambled, OURS) < 0.2


class Executor:
    """One step takes some processor time, sampling none."""

    def execute_model(self, output: object) -> None:
        sum(i * i for i in range(30_000))

    def sample_tokens(self, grammar: object) -> None:
        pass


class Scheduled:
    total_num_scheduled_tokens = 8


def test_a_charged_step_moves_the_clock_by_what_it_counts_as() -> None:
    clock, executor = ChargedClock(), Executor()
    clock.charge(executor, lambda output: Work(num_decodes=8))
    executor.execute_model(Scheduled())
    took_s = clock.samples[0].seconds
    assert took_s > 0
    clock.cost = CostModel(0.0, 0.0, 10.0, 5.0)
    began_s = clock.now()
    executor.execute_model(Scheduled())
    executor.sample_tokens(None)
    assert clock.now() - began_s == pytest.approx(85.0, abs=0.1)
    assert [step.work.num_decodes for step in clock.samples] == [8, 8]


def ran(share: float, tpot: float = 1.0, r2: float | None = None) -> LensRun:
    its = Kept(share, 1.0, tpot, 0.03, 0.5, 100)
    return LensRun(its, (0.1, 0.4), r2, r2, (r2 or 0.9) + 0.01, 300.0, 150.0, 0.1)


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
    assert (told["by_load"], told["r2_charged"]) == ([0.99, 1.056], 0.96)
    assert told["r2_hindsight"] == 0.97
    assert told["loads_met"] == {"static-256": 2, "static-8192": 1, "lens": 2, "ours": 2}
    assert told["loads_held"] == {"static-256": 1, "static-8192": 0, "lens": 0, "ours": 2}
    assert not holds(found, "static-8192", 0.3, ("static-8192", "static-256"))
    assert len(rows_of(found, (0.3, 0.7), (*static, "lens", "ours"), REGIME.slo)) == 8
