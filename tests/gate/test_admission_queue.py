"""The queue in virtual time: instalments, fair shares, order, and an engine that turns ten times slower."""

from __future__ import annotations

from collections import defaultdict
from math import inf

import pytest

from relserve.call.standing import Standing
from relserve.errors import AdmissionError
from relserve.gate.admission_queue import FRONT, AdmissionQueue
from relserve.gate.request_group import Permit, RequestGroup
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.fair import Shares
from relserve.policies.admission.promise import Promise
from relserve.policies.admission.variants import make

STEP_S = 0.05


class Engine:
    """Rows get tokens at a speed that falls with their number; time passes when it is told to."""

    def __init__(self, queue: AdmissionQueue, tokens: float = 20.0) -> None:
        self.queue, self.tokens, self.factor, self.now_s = queue, tokens, 1.0, 0.0
        self.running: list[tuple[RequestGroup, Permit]] = []
        self.got: defaultdict[str, float] = defaultdict(float)
        self.errors: list[AdmissionError] = []
        self.ended_s: dict[int, float] = {}

    def speed(self, load: int) -> float:
        return self.factor * 100.0 / (1 + 0.02 * (load - 1))

    def comes(self, user: str, rows: int, limit_s: float = inf, told: object = None) -> RequestGroup:
        request_group = RequestGroup(
            user, "" if limit_s == inf else "limit", "", self.now_s, self.now_s + limit_s, self.tokens, rows,
            lambda permit: self.running.append((request_group, permit)), self.errors.append, told,  # type: ignore[arg-type]
        )  # fmt: skip
        self.queue.come(request_group, self.now_s)
        return request_group

    def passes(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self.now_s += STEP_S
            speed = self.speed(max(len(self.running), 1))
            ended = []
            for request_group, permit in self.running:
                permit.num_output_tokens += speed * STEP_S
                self.got[request_group.user] += speed * STEP_S
                if permit.num_output_tokens >= self.tokens:
                    ended.append((request_group, permit))
            for each in ended:
                self.running.remove(each)
                self.queue.done(*each, self.now_s)
                self.ended_s[id(each[0])] = self.now_s
            self.queue.look(self.now_s)


def queue(name: str = "in_time", most: int | None = 10, **weights: float) -> AdmissionQueue:
    return AdmissionQueue(AdmissionController(make(name), late="error", shares=Shares(weights), most=most))


def test_the_rows_of_a_relquery_come_in_instalments_and_all_of_them_run() -> None:
    its = queue("static-3")
    engine = Engine(its)
    engine.comes("ann", 1000)
    assert len(engine.running) == 3
    assert len(its.controller.waiting) == FRONT
    engine.passes(1.3 * 1000 * 20 / (3 * engine.speed(3)))
    assert its.num_started == {"ann": 1000}
    assert its.is_idle


@pytest.mark.cells(1)
@pytest.mark.parametrize("parts", [1, 50, 500])
@pytest.mark.parametrize("name", ["in_time", "static-10"])
def test_splitting_ones_work_gains_nothing(name: str, parts: int) -> None:
    engine = Engine(queue(name))
    for _ in range(parts):
        engine.comes("ann", 2000 // parts)
    engine.passes(2.0)
    engine.comes("bob", 1000)
    before = engine.got.copy()
    engine.passes(20.0)
    ann, bob = (engine.got[user] - before[user] for user in ("ann", "bob"))
    assert 0.45 < bob / (ann + bob) < 0.55


def test_a_weight_is_a_share() -> None:
    engine = Engine(queue("in_time", bob=3.0))
    engine.comes("ann", 2000)
    engine.comes("bob", 2000)
    engine.passes(20.0)
    assert 0.7 < engine.got["bob"] / sum(engine.got.values()) < 0.8


@pytest.mark.long
def test_of_one_users_relqueries_a_short_one_is_not_behind_a_long_one() -> None:
    engine = Engine(queue())
    engine.comes("ann", 200)
    engine.passes(6.0)  # speeds are known
    long, short = engine.comes("ann", 3000), engine.comes("ann", 10)
    engine.passes(20.0)
    assert id(short) in engine.ended_s
    assert long.num_waiting > 1000


@pytest.mark.long
def test_an_engine_that_turns_ten_times_slower_is_followed_within_30_seconds() -> None:
    """And one that is itself again."""
    its = queue("static-10")
    engine = Engine(its)
    engine.comes("ann", 10_000)
    for factor in (1.0, 0.1, 1.0):
        engine.factor = factor
        engine.passes(30.0)
        curve = its.controller.curve.curve
        assert curve is not None
        assert curve.speed(10) == pytest.approx(engine.speed(10), rel=0.15)


def test_estimates_are_near_what_comes() -> None:
    heard: list[Standing] = []
    engine = Engine(queue("static-10"))
    engine.comes("ann", 100)
    engine.passes(2.0)
    request_group = engine.comes("ann", 500, told=heard.append)
    engine.queue.tell()
    standing = heard[0]
    came_s = engine.now_s
    engine.passes(60.0)
    took_s = engine.ended_s[id(request_group)] - came_s
    assert (standing.num_waiting, heard[-1].num_waiting) == (500, 0)
    assert standing.estimate_s == pytest.approx(took_s, rel=0.3)


def test_who_does_not_want_to_be_late_is_told_before_the_deadline_however_many_wait_before() -> None:
    its = AdmissionQueue(
        AdmissionController(make("in_time"), late="error", shares=Shares(), most=10, promise=Promise())
    )
    engine = Engine(its)
    for _ in range(300):
        request_group = engine.comes("ann", 1, limit_s=3.0)
        request_group.waits = False
    waiting = len(its.request_groups)
    assert waiting > FRONT
    engine.passes(2.9)
    assert not its.request_groups
    assert engine.errors
    assert all("will probably be missed" in str(error) for error in engine.errors)


def test_who_would_be_late_makes_room_at_the_door_and_is_told_before_the_deadline() -> None:
    its = AdmissionQueue(
        AdmissionController(make("in_time"), late="error", shares=Shares(), most=10, promise=Promise())
    )
    engine = Engine(its)
    engine.comes("ann", 40)
    engine.passes(3.0)
    engine.comes("ann", 100)
    hopeless = [engine.comes("ann", 1, limit_s=0.48) for _ in range(2 * FRONT)]
    late = engine.comes("ann", 1, limit_s=20.0)
    engine.passes(0.4)
    assert any(request_group.num_waiting for request_group in hopeless)
    assert not late.num_waiting
    engine.passes(0.05)  # a tenth before 0.48, for alone it takes more than a twentieth of that
    assert not any(request_group.num_waiting for request_group in hopeless)
    assert {str(error).partition(";")[0] for error in engine.errors} == {"its limit cannot be kept any more"}
    assert all("about" in str(error) for error in engine.errors)


def test_who_leaves_leaves_nothing_behind() -> None:
    its = queue("static-2")
    engine = Engine(its)
    first, second = engine.comes("ann", 100), engine.comes("bob", 100)
    engine.passes(1.0)
    its.leave(first, engine.now_s)
    engine.running = [each for each in engine.running if each[0] is second]
    engine.passes(1.0)
    assert {request_group.user for request_group, _ in engine.running} == {"bob"}
    its.leave(second, engine.now_s)
    assert its.is_idle
    assert its.controller.load == 0
    assert its.controller.waiting == ()


def test_past_its_limit_all_of_a_relquery_is_refused_wherever_it_waits() -> None:
    its = queue("static-1")
    engine = Engine(its, tokens=1000.0)
    engine.comes("ann", 1)
    engine.comes("bob", 50, limit_s=3.0)
    engine.passes(2.9)
    assert engine.errors == []
    engine.passes(0.2)
    (error,) = engine.errors
    assert str(error).startswith("its limit is over; it has waited 3")
    assert its.num_refused == {"bob": 50}


def test_an_answer_is_expected_to_be_as_long_as_those_of_its_kind_and_no_longer_than_it_may() -> None:
    its = AdmissionQueue(AdmissionController(make("in_time")))
    assert its.expected("a", 256) == 256
    for _ in range(200):
        its.lengths.add("a", 10)
    assert (its.expected("a", 256), its.expected("a", 5)) == (10, 5)
    its.lengths.add("b", 0)
    assert its.expected("b", 256) == 8  # four answers like others', and its own
