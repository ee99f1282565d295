"""Requests without a relQuery: they go first, with short steps and free slots, and take only a share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from relserve.policies.model.linear import CostModel
from relserve.policies.model.online import FixedCost
from relserve.policies.scheduling.driver import StepDriver
from relserve.policies.scheduling.ordinary import LEAST_USE, tokens_within
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.state import FreeCapacity, RelState, StepDecision
from relserve.policies.scheduling.traffic import LONGEST_GAP_S, RecentTraffic
from relserve.policies.scheduling.variants import DEFAULT, make
from tests.policies.states import COST, LIMITS, PLENTY, relation, view_of

PROMPT = 200
FULL = LIMITS.max_num_batched_tokens
BASE_S = max(COST.prefill_base_s, COST.shared_base_s)


def chat(name: str, arrival_s: float = 0.0) -> RelState:
    return replace(relation(name, 1, arrival_s), is_named=False)


def run(state: RelState, decodes: bool = True) -> RelState:
    """It has been admitted, and decodes if its prompt is computed."""
    state.num_running, state.num_waiting, state.waiting_tokens = state.num_waiting, 0, 0
    state.num_decoding, state.prefill_left = (state.num_running, 0) if decodes else (0, PROMPT)
    return state


class Engine:
    """Shows a policy one view after another."""

    def __init__(self, cost: CostModel = COST) -> None:
        self.policy: SchedulingPolicy = make(DEFAULT, patience=2.5)
        self.cost, self.now_s = cost, 0.0

    def step(
        self,
        *changed: RelState,
        after_s: float = 0.0,
        gone: Sequence[str] = (),
        free: FreeCapacity = PLENTY,
    ) -> StepDecision:
        self.now_s += after_s
        return self.policy.decide(view_of(changed, self.now_s, self.cost, LIMITS, free, gone))


def test_without_any_nothing_changes() -> None:
    ours, plain = Engine(), Engine()
    plain.policy.ordinary = None
    rels = [relation("big", 50), relation("small", 2)]
    for engine in (ours, plain):
        engine.step(*rels)
    decisions = [engine.step(run(replace(rels[1])), after_s=0.1) for engine in (ours, plain)]
    assert decisions[0] == decisions[1]
    assert decisions[0].token_budget is None


def test_alone_they_are_served_as_ever() -> None:
    engine = Engine()
    decision = engine.step(*[chat(f"c{i}", -i) for i in range(9)])
    assert decision == StepDecision(None, None, None, "ordinary alone")
    assert [state.rel_id for state in decision.order] == [f"c{8 - i}" for i in range(9)]
    assert engine.step(run(chat("c0")), after_s=1.0).holds_nothing_back


def test_one_that_comes_goes_first() -> None:
    engine = Engine()
    engine.step(relation("big", 500))
    decision = engine.step(chat("c"), after_s=0.1)
    assert (decision.reason, decision.prefill, decision.max_admit) == ("ordinary first", {"c"}, 1)
    assert [state.rel_id for state in decision.order] == ["c", "big"]


def test_those_that_come_together_share_a_step_as_on_an_idle_engine() -> None:
    engine = Engine()
    engine.step(relation("big", 500))
    decision = engine.step(*[chat(f"c{i}") for i in range(12)])
    assert decision.prefill == {f"c{i}" for i in range(FULL // PROMPT)}


@pytest.mark.parametrize(("per_decode_s", "joins"), [(1e-5, True), (1e-3, False)])
def test_decodes_join_its_step_where_they_hardly_lengthen_it(per_decode_s: float, joins: bool) -> None:
    engine = Engine(CostModel(1e-4, 2e-2, per_decode_s, 2e-2))
    engine.step(run(relation("big", 60)))
    assert (engine.step(chat("c")).decode is None) == joins


def test_while_some_are_about_a_step_lasts_no_longer_than_one_of_theirs() -> None:
    engine = Engine(CostModel(1e-4, 5e-3, 1e-4, 5e-3))
    engine.step(relation("big", 500))
    engine.step(chat("c"))
    decision = engine.step(run(chat("c")), after_s=0.1)
    assert decision.token_budget is not None
    assert 0 < decision.token_budget <= PROMPT + 1 < FULL
    assert decision.prefills("big")


def test_short_steps_leave_relqueries_their_part_of_the_time() -> None:
    engine = Engine(CostModel(1e-6, 5e-3, 1e-4, 5e-3))  # a chat's prompt is nearly nothing but a step's base
    engine.step(relation("big", 500))
    engine.step(chat("c"))
    budget = engine.step(run(chat("c"))).token_budget
    assert budget is not None
    assert engine.cost.step(budget - 1, 1) >= 0.99 * 5e-3 / (1 - LEAST_USE)


def test_their_decodes_run_in_every_step() -> None:
    engine = Engine()
    engine.step(relation("big", 500), relation("other", 500))
    engine.step(chat("c"))
    running = run(chat("c"))
    assert all(engine.step(running, after_s=0.1).decodes("c") for _ in range(5))


def test_slots_and_memory_stay_free_for_those_that_are_likely_to_come() -> None:
    engine = Engine()
    engine.step(relation("big", 500))
    for i in range(40):  # ten a second, each of whom stays for a second
        engine.step(chat(f"c{i}", i / 10), after_s=0.1, gone=[f"c{i - 10}"] if i >= 10 else [])
        engine.step(run(chat(f"c{i}", i / 10)))
    for i in range(30, 40):
        engine.step(gone=[f"c{i}"])
    ordinary = engine.policy.ordinary
    assert ordinary is not None
    view = view_of([], engine.now_s)
    spare = ordinary.limits(view).spare
    assert 10 < spare.slots < 25
    assert spare.kv_tokens == spare.slots * (PROMPT + LIMITS.block_size)
    assert engine.step(free=FreeCapacity(spare.slots + 1, 100_000)).max_admit == 1


def test_after_some_time_without_one_nothing_is_paid() -> None:
    engine = Engine()
    engine.step(relation("big", 500))
    for i in range(3):
        engine.step(chat(f"c{i}", engine.now_s), after_s=0.1)
        engine.step(gone=[f"c{i}"])
    assert engine.step(after_s=0.1).token_budget is not None
    assert engine.step(after_s=2.0).token_budget is None


@pytest.mark.long
def test_thousands_of_them_leave_relqueries_half_of_the_time() -> None:
    engine = Engine()
    engine.step(relation("big", 500), *[chat(f"c{i}") for i in range(3000)])
    seconds = {True: 0.0, False: 0.0}
    left = 3000
    for _ in range(400):
        decision = engine.step()
        first = decision.reason == "ordinary first"
        assert first or decision.prefills("big")
        assert decision.prefill is not None
        gone = sorted(rel_id for rel_id in decision.prefill if rel_id != "big") if first else []
        left -= len(gone)
        took_s = COST.prefill(FULL) if first else 2 * BASE_S
        seconds[first] += took_s
        engine.step(after_s=took_s, gone=gone)
    assert 0.4 < seconds[True] / sum(seconds.values()) < 0.6
    assert left > 0


@pytest.mark.parametrize(("prompt", "most"), [(100, 32), (400, 15)], ids=["slots", "memory"])
def test_they_do_not_go_first_while_they_hold_half_of_the_engine(prompt: int, most: int) -> None:
    engine = Engine()
    engine.step(relation("big", 500))
    running = [replace(run(chat(f"c{i}")), arrived_tokens=prompt) for i in range(most)]
    engine.step(*running[1:], chat("next"))
    assert engine.step(after_s=0.01).reason == "ordinary first"
    decision = engine.step(running[0], after_s=0.01)
    assert decision.reason != "ordinary first"
    assert [state.rel_id for state in decision.order][-1] == "next"


def test_a_list_of_prompts_in_one_call_is_a_relquery_once_more_of_it_came() -> None:
    engine = Engine()
    engine.step(relation("big", 500))
    listed = chat("cmpl")
    assert engine.step(listed).reason == "ordinary first"
    listed.num_rows = listed.num_arrived = listed.num_waiting = 40
    assert engine.step(listed).reason != "ordinary first"


def test_no_priority_is_shown_of_them() -> None:
    driver = StepDriver(make(DEFAULT, patience=2.5), FixedCost(COST))
    states = [relation("big", 500), chat("c")]
    driver.decide(view_of(states))
    big, ordinary = driver.outlooks(states, LIMITS, 0.0)
    assert big.priority is not None
    assert ordinary.priority is None
    assert ordinary.left_s > 0


def test_where_no_slot_is_free_nothing_stalls() -> None:
    engine = Engine()
    engine.step(run(relation("big", 64)))
    decision = engine.step(chat("c"), free=FreeCapacity(0, 100_000))
    assert decision.decodes("big")


@pytest.mark.parametrize("num_decodes", [0, 1, 50, 300])
@pytest.mark.parametrize("seconds", [1e-6, 6e-3, 3e-2, 1.0])
def test_tokens_within_some_seconds(num_decodes: int, seconds: float) -> None:
    tokens = tokens_within(COST, seconds, num_decodes)
    of_prompts = max(tokens - num_decodes, 0)
    if tokens > 1:
        assert COST.step(of_prompts, min(num_decodes, tokens)) <= seconds + 1e-9 or tokens == num_decodes
    assert tokens >= 1
    assert COST.step(of_prompts + 1, num_decodes) > seconds - 1e-9


def test_what_is_expected_of_traffic() -> None:
    traffic = RecentTraffic()
    assert not traffic.is_expected(0.0)
    traffic.came(0.0, 100, 120)
    assert traffic.is_expected(LONGEST_GAP_S)
    assert not traffic.is_expected(LONGEST_GAP_S + 1)
    for i in range(1, 50):
        traffic.came(i * 0.1, 100 + i % 2, 120)
        traffic.ended(0.5)
    assert traffic.is_expected(5.0)
    assert not traffic.is_expected(6.0)
    assert 5 < traffic.most_at_once() < 12
    assert traffic.prompt_tokens == 120
    traffic.came(4.9 + 2 * LONGEST_GAP_S, 100, 120)  # what was before says nothing now
    assert traffic.most_at_once() == 1
