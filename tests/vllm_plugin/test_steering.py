"""The policies inside vLLM's real scheduler, with a made-up model: same tokens, no leaks, no stalls."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest

from relserve.errors import UsageError
from relserve.policies.model.online import FixedCost
from relserve.policies.scheduling.driver import ONLY_DECODES
from relserve.policies.scheduling.priority import miss_ratio_of
from relserve.policies.scheduling.state import NOBODY
from relserve.policies.scheduling.variants import DEFAULT, NAMES
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.settings import FIRST_GUESS
from tests.clocks import read_here
from tests.modules import later

relquery_planner = later("relserve.vllm_plugin.relquery_planner")
testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm
MODEL = str(MODEL_DIR)
VARIANTS = ("stock", *NAMES)


def check(arrivals: list[testing.MadeUpArrival], ran: testing.WorkerRun, scheduler: Any) -> None:
    expected = {a.request_id: a.expected() for a in arrivals if a.request_id not in ran.aborted}
    assert {r: t for r, t in ran.tokens.items() if r in expected} == expected
    assert ran.leaked_blocks == 0
    assert not scheduler.requests
    assert not scheduler.running
    assert len(scheduler.waiting) == 0
    assert not scheduler.ledger.active
    if scheduler.steering is not None:
        assert len(scheduler.steering.queue) == 0


@pytest.mark.cells(6)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("is_async", "num_blocks", "abort_every"),  # each two values meet
    [(False, 40, 0), (False, 400, 37), (True, 40, 37), (True, 400, 0)],
    ids=["sync-tight", "sync-roomy-aborts", "async-tight-aborts", "async-roomy"],
)
def test_tokens_are_the_same_and_nothing_is_left(
    variant: str, is_async: bool, num_blocks: int, abort_every: int
) -> None:
    arrivals = testing.workload(3)
    scheduler = testing.scheduler_of(MODEL, variant, is_async, num_blocks)
    check(arrivals, testing.run(scheduler, arrivals, is_async, abort_every), scheduler)


@pytest.mark.parametrize(
    ("part", "settings"),
    [
        ("steering.planner.driver.decide", {}),
        ("steering.planner._view", {}),
        ("steering.planner.table.view", {"caching": "fcfs"}),
        ("budgets._view", {"step_budget": "static-40"}),
        ("budgets._view", {"variant": "stock", "step_budget": "static-40"}),
    ],
    ids=["order", "view", "cache types", "tokens", "tokens alone"],
)
def test_a_policy_that_fails_ends_no_request_and_is_told_of_once(
    part: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    arrivals = testing.workload(3)
    scheduler = testing.scheduler_of(
        MODEL, **{"variant": DEFAULT, "is_async": False, "num_blocks": 40, **settings}
    )
    path, _, name = part.rpartition(".")
    owner = attrgetter(path)(scheduler)
    works, calls = getattr(owner, name), iter(range(10**6))

    def fails_later(*args: Any) -> Any:
        if next(calls) >= 5:
            raise KeyError("a relQuery that nobody knows")
        return works(*args)

    monkeypatch.setattr(owner, name, fails_later)
    check(arrivals, testing.run(scheduler, arrivals, False), scheduler)
    assert [record.message for record in caplog.records if "policy failed" in record.message] == [
        "the scheduling policy failed; from now on steps are vLLM's own"
    ]
    late = testing.MadeUpArrival(0, "late-0", [7] * 40, 4, {"rel_id": "late", "rel_rows": 1})
    scheduler.add_request(late.request())
    scheduler.schedule()
    assert [rel.rel_id for rel in scheduler.publisher.snapshot(scheduler, time.monotonic()).rels] == ["late"]


def test_stock_is_step_identical_to_vllm() -> None:
    arrivals = testing.workload(5)
    ours = testing.run(testing.scheduler_of(MODEL, "stock", False, 60), arrivals, False)
    theirs = testing.run(testing.scheduler_of(MODEL, "vllm", False, 60), arrivals, False)
    assert ours.num_steps == theirs.num_steps
    assert ours.finished_order == theirs.finished_order


def test_ours_pauses_decodes_for_a_more_urgent_prefill_and_goes_on() -> None:
    long = [
        testing.MadeUpArrival(0, f"q0-{i}", [i + 1] * 40, 40, {"rel_id": "long", "rel_rows": 20})
        for i in range(20)
    ]
    short = [
        testing.MadeUpArrival(9, f"q1-{i}", [900 + i] * 20, 2, {"rel_id": "short", "rel_rows": 2})
        for i in range(2)
    ]
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400, patience=0.0)
    check([*long, *short], testing.run(scheduler, [*long, *short], False), scheduler)
    assert scheduler.steering.planner.driver.reasons["prefill first"] >= 1
    assert scheduler.steering.planner.driver.reasons[ONLY_DECODES] > 20


@pytest.mark.cells(5)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "stock"])
def test_steps_with_nothing_to_decide_are_as_the_policy_would_have_them(
    variant: str, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that stands still: the order of rows follows what steps were seen to take."""
    read_here(monkeypatch, lambda: 1000.0, "monotonic", "perf_counter")
    scheduler = testing.scheduler_of(MODEL, variant, is_async, 400, patience=0.0)
    unasked = steps(scheduler, is_async)
    assert scheduler.steering.planner.driver.reasons[ONLY_DECODES] > 10
    monkeypatch.setattr(relquery_planner.RelQueryPlanner, "_only_decodes", lambda self: False)
    assert unasked == steps(testing.scheduler_of(MODEL, variant, is_async, 400, patience=0.0), is_async)


def steps(scheduler: Any, is_async: bool) -> list[dict[str, int]]:
    """The tokens of each row in each step of a workload."""
    found, schedule = [], scheduler.schedule

    def noting(*args: Any, **kwargs: Any) -> Any:
        output = schedule(*args, **kwargs)
        found.append(dict(output.num_scheduled_tokens))
        return output

    scheduler.schedule = noting
    testing.run(scheduler, testing.workload(7), is_async)
    return found


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_ordinary_requests_alone_have_no_step_of_decodes_decided(is_async: bool) -> None:
    arrivals = [replace(arrival, extra_args={}) for arrival in testing.workload(7)]
    scheduler = testing.scheduler_of(MODEL, DEFAULT, is_async, 400)
    check(arrivals, testing.run(scheduler, arrivals, is_async), scheduler)
    assert scheduler.steering.planner.driver.reasons[ONLY_DECODES]


def test_steps_are_decided_while_ordinary_requests_and_relqueries_are_about() -> None:
    scheduler = testing.scheduler_of(MODEL, DEFAULT, False, 400)
    scheduler.steering.planner.driver.cost = FixedCost(FIRST_GUESS)  # else the row may end with the other one
    arrivals = [
        testing.MadeUpArrival(0, "ordinary", [1] * 60, 80, {}),
        testing.MadeUpArrival(0, "row", [2] * 60, 20, {"rel_id": "a", "rel_rows": 1}),
    ]
    worker, ran = testing.MadeUpWorker(), testing.WorkerRun()
    reasons = scheduler.steering.planner.driver.reasons
    for arrival in arrivals:
        scheduler.add_request(arrival.request())
    while "row" in scheduler.requests:
        assert not reasons[ONLY_DECODES]
        output = scheduler.schedule()
        testing.deliver(scheduler, output, worker.execute(output), ran)
    while scheduler.requests:
        output = scheduler.schedule()
        testing.deliver(scheduler, output, worker.execute(output), ran)
    assert reasons[ONLY_DECODES] > 10


@pytest.mark.parametrize("num_rows", [24, 33])  # of 24 seats
def test_where_no_seat_is_free_a_step_of_decodes_is_not_decided(num_rows: int) -> None:
    scheduler = testing.scheduler_of(MODEL, DEFAULT, False, 400)
    tag = {"rel_id": "a", "rel_rows": num_rows}
    arrivals = [testing.MadeUpArrival(0, f"a-{i}", [i + 1] * 10, 40, tag) for i in range(num_rows)]
    check(arrivals, testing.run(scheduler, arrivals, False), scheduler)
    assert scheduler.steering.planner.driver.reasons[ONLY_DECODES] > 30


def test_a_relquery_that_finds_no_seat_is_known_at_the_next_step() -> None:
    scheduler = testing.scheduler_of(MODEL, DEFAULT, False, 400)
    worker, ran = testing.MadeUpWorker(), testing.WorkerRun()
    for number in range(testing.MAX_SEQS):
        tag = {"rel_id": "long", "rel_rows": testing.MAX_SEQS}
        scheduler.add_request(testing.MadeUpArrival(0, f"long-{number}", [number + 1] * 5, 50, tag).request())
    for step in range(20):
        if step == 15:
            late = testing.MadeUpArrival(0, "late-0", [9] * 5, 5, {"rel_id": "late", "rel_rows": 1})
            scheduler.add_request(late.request())
        output = scheduler.schedule()
        testing.deliver(scheduler, output, worker.execute(output), ran)
        known = [rel.rel_id for rel in scheduler.publisher.snapshot(scheduler, time.monotonic()).rels]
        assert ("late" in known) == (step >= 15)
    assert scheduler.steering.planner.driver.reasons[ONLY_DECODES] > 10


@pytest.mark.cells(3)
@pytest.mark.parametrize("has_grammar", [False, True], ids=["", "grammar"])
@pytest.mark.parametrize("variant", ["static", "dpu+aba", "dpu+marginal"])
def test_a_short_relquery_overtakes_a_long_one(variant: str, has_grammar: bool) -> None:
    long_id, short_id = {"rel_id": "long", "rel_rows": 60}, {"rel_id": "short", "rel_rows": 3}
    long = [testing.MadeUpArrival(0, f"q0-{i}", [i + 1] * 200, 20, long_id, has_grammar) for i in range(60)]
    short = [testing.MadeUpArrival(5, f"q1-{i}", [900 + i] * 50, 3, short_id, has_grammar) for i in range(3)]
    # without the guard: on a busy machine the long one is soon overdue, and rightly goes first
    ran = testing.run(testing.scheduler_of(MODEL, variant, False, 400, patience=0.0), [*long, *short], False)
    fcfs = testing.run(testing.scheduler_of(MODEL, "stock", False, 400), [*long, *short], False)
    place = max(ran.finished_order.index(f"q1-{i}") for i in range(3))
    assert place < 0.5 * max(fcfs.finished_order.index(f"q1-{i}") for i in range(3))


def test_the_prefix_cache_is_seen() -> None:
    scheduler = testing.scheduler_of(MODEL, "dpu+aba", False, 400)
    prefix = [7] * 2 * testing.BLOCK_SIZE
    testing.run(scheduler, [testing.MadeUpArrival(0, "q0-0", [*prefix, 1], 2, {"rel_id": "before"})], False)
    scheduler.add_request(
        testing.MadeUpArrival(0, "q1-0", [*prefix, *[2] * 64], 2, {"rel_id": "next"}).request()
    )
    scheduler.add_request(testing.MadeUpArrival(0, "q2-0", [3] * 128, 2, {"rel_id": "other"}).request())
    scheduler.schedule()
    book = scheduler.steering.planner.driver.policy.book
    misses = {rel_id: miss_ratio_of(book, rel_id) for rel_id in book.slot_of}
    assert misses == {"next": 0.5, "other": 1.0}


def test_a_paused_plan_never_stalls_the_engine() -> None:
    """Many relQueries on a pool that holds two rows."""
    arrivals = testing.workload(9, num_rels=30, max_rows=6)
    for variant in VARIANTS:
        scheduler = testing.scheduler_of(MODEL, variant, False, 30)
        check(arrivals, testing.run(scheduler, arrivals, False), scheduler)


def test_settings_are_checked() -> None:
    with pytest.raises(UsageError, match="no scheduling variant 'nonsense'; there are: stock, fcfs"):
        testing.scheduler_of(MODEL, "nonsense", False, 40)
    with pytest.raises(UsageError, match="has no setting 'treshold'"):
        testing.scheduler_of(MODEL, "dpu+aba", False, 40, treshold=1)


@pytest.mark.cells(5)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("variant", NAMES)
def test_any_budgets_give_the_same_tokens(variant: str, is_async: bool) -> None:
    arrivals, rng = testing.workload(11), random.Random(5)
    scheduler = testing.scheduler_of(MODEL, variant, is_async, 60)
    policy, wide = scheduler.steering.planner.driver.policy, scheduler.max_num_scheduled_tokens
    plan = policy.plan
    policy.plan = lambda view, order: replace(plan(view, order), token_budget=rng.choice([1, 7, 60, 10**6]))
    check(arrivals, testing.run(scheduler, arrivals, is_async), scheduler)
    assert scheduler.max_num_scheduled_tokens == wide


@pytest.mark.cells(3)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("num_blocks", [40, 400], ids=["tight", "roomy"])
@pytest.mark.parametrize("abort_every", [0, 37], ids=["", "aborts"])
def test_ordinary_requests_beside_relqueries_give_the_same_tokens(
    is_async: bool, num_blocks: int, abort_every: int
) -> None:
    arrivals = testing.workload(3, num_rels=30)
    for i, arrival in enumerate(arrivals):
        if i % 5 == 0:
            arrival.extra_args["rel_rows"] -= 1  # which all rows of the relQuery share
            arrival.extra_args = {}
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", is_async, num_blocks)
    check(arrivals, testing.run(scheduler, arrivals, is_async, abort_every), scheduler)
    assert scheduler.steering.planner.driver.reasons["ordinary first"] > 10


def test_chats_are_answered_beside_a_long_relquery_and_it_goes_on() -> None:
    long = [
        testing.MadeUpArrival(0, f"q0-{i}", [i + 1] * 200, 30, {"rel_id": "long", "rel_rows": 60})
        for i in range(60)
    ]
    chats = [testing.MadeUpArrival(20 + i, f"c-{i}", [900 + i] * 60, 5, {}) for i in range(200)]
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400)
    ran = testing.run(scheduler, sorted([*long, *chats], key=lambda each: each.step), False)
    check([*long, *chats], ran, scheduler)
    order = ran.finished_order
    assert order.index("c-19") < 40  # the first twenty of them are not behind the sixty rows
    assert min(order.index(f"q0-{i}") for i in range(60)) < 150  # nor all of these behind the chats


def test_requests_that_a_decision_names_do_not_run() -> None:
    rel = {"rel_id": "q", "rel_rows": 6}
    arrivals = [testing.MadeUpArrival(0, f"q0-{i}", [i + 1] * 40, 8, rel) for i in range(6)]
    scheduler = testing.scheduler_of(MODEL, "dpu+marginal", False, 400)
    driver, held = scheduler.steering.planner.driver, frozenset({"q0-0", "q0-4"})
    plan = driver.policy.plan

    def hold(view: Any, order: Any) -> Any:
        return replace(plan(view, order), held_requests=held if scheduler.steering.num_steps < 12 else NOBODY)

    driver.policy.plan = hold
    ran = testing.run(scheduler, arrivals, False)
    check(arrivals, ran, scheduler)
    assert set(ran.finished_order[-2:]) == held
