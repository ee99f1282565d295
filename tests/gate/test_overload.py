"""A queue before an engine at more than its capacity: who is let in is in time, whatever slows the engine."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from dataclasses import dataclass
from math import inf

import pytest

from relserve.gate.gate import Gate
from relserve.gate.request_group import Permit, RequestGroup
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.fair import Shares
from relserve.policies.admission.promise import Promise
from relserve.policies.admission.variants import make

STEP_S, LOOK_S, LIMIT_S = 0.02, 0.06, 1.8
WEB, SQL, GREEDY, MODEST = "web", "sql", "greedy", "modest"
TOKENS, LONG = 64.0, 200.0
CAPACITY = 350 / 0.035 / (TOKENS * 1.2)  # requests a second, if more and more run at once


@dataclass
class Row:
    """One that runs."""

    request_group: RequestGroup
    permit: Permit
    tokens: float
    got: float


class Engine:
    """Rows get tokens at a speed that falls with their number, after a prompt; what is late is given up.

    Args:
        slows: by how much each one that runs beside slows a row down.
        long: the share of prompts that take as much as `LONG` tokens.
        told: whether the gate is told of a prompt's length.
        users: whose requests of `WEB` are; some want short answers and some long ones.
    """

    def __init__(
        self, promised: bool = True, hidden: float = 0.2, slows: float = 0.035, long: float = 0.0,
        told: bool = True, users: int = 1,
    ) -> None:  # fmt: skip
        promise = Promise() if promised else None
        controller = AdmissionController(
            make("in_time"), late="error", shares=Shares(), most=320, promise=promise
        )
        self.gate = Gate(controller, clock=lambda: self.now_s)
        assert self.gate._queue is not None
        self.queue = self.gate._queue
        self.long, self.told, self.users = long, told, users
        self.now_s, self.factor, self.hidden, self.slows = 0.0, 1.0, hidden, slows
        self.rows: list[Row] = []
        self.came_to: Counter[str] = Counter()
        self.in_time: Counter[str] = Counter()
        self._random = random.Random(1)
        self._next_s = self._looked_s = 0.0

    @property
    def kept(self) -> float:
        return self.came_to["in time"] / (self.came_to["in time"] + self.came_to["late"])

    def comes(self, user: str, tokens: float, limit_s: float, waits: bool) -> None:
        hidden, prompt = tokens * self.hidden * self._random.uniform(0.5, 1.5), 50
        if self.long and self._random.random() < self.long:
            hidden, prompt = LONG * self._random.uniform(0.7, 1.3), 5000

        def started(permit: Permit) -> None:
            self.rows.append(Row(request_group, permit, tokens, -hidden))

        def refused(_: Exception) -> None:
            self.came_to["refused"] += 1

        most = 200 if self.users > 1 else 24 if user == SQL else int(TOKENS)
        limit = None if limit_s == inf else limit_s
        request_group = self.gate.request_group(
            user, prompt if self.told else 0, most, limit, None, started, refused
        )
        request_group.waits = waits
        self.queue.come(request_group, self.now_s)
        if not waits and request_group.num_waiting:
            self.queue.refuse_late(request_group, self.now_s)

    def passes(self, seconds: float, load: float = 0.0) -> None:
        """So much time, in which requests of two kinds come at a load."""
        end_s = self.now_s + seconds
        self._next_s = max(self._next_s, self.now_s)
        while self.now_s < end_s:
            self.now_s += STEP_S
            while load and self._next_s <= self.now_s:
                self._next_s += self._random.expovariate(load * CAPACITY)
                if self.users > 1:
                    number = self._random.randrange(self.users)
                    tokens = TOKENS * (0.1, 1.0, 1.0, 1.0, 1.6)[number % 5]
                    self.comes(f"{WEB} {number}", tokens, LIMIT_S, waits=False)
                elif self._random.random() < 0.8:
                    self.comes(WEB, TOKENS, LIMIT_S, waits=False)
                else:
                    self.comes(SQL, self._random.choice([8.0, 16.0, 24.0]), LIMIT_S, waits=True)
            self._step()
            if self.now_s - self._looked_s >= LOOK_S:
                self._looked_s = self.now_s
                self.queue.look(self.now_s)

    def _step(self) -> None:
        tokens = STEP_S * self.factor * 350 / (1 + self.slows * max(len(self.rows) - 1, 0))
        for row in list(self.rows):
            row.got += tokens
            row.permit.num_output_tokens = max(min(row.got, row.tokens), 0.0)
            if row.got >= row.tokens or self.now_s > row.request_group.deadline_s:
                self.rows.remove(row)
                is_late = row.got < row.tokens
                self.came_to["late" if is_late else "in time"] += 1
                self.in_time[row.request_group.user] += not is_late
                if is_late:
                    self.queue.leave(row.request_group, self.now_s)
                else:
                    self.queue.done(row.request_group, row.permit, self.now_s)


@pytest.mark.long
@pytest.mark.parametrize("load", [1.3, 3.0])
def test_of_those_let_in_at_least_95_of_100_are_in_time_and_the_engine_is_used(load: float) -> None:
    engine = Engine()
    engine.passes(20.0, load)
    assert engine.kept >= 0.95
    assert engine.came_to["refused"] > 100
    assert engine.came_to["in time"] > 0.5 * CAPACITY * 20


@pytest.mark.long
def test_long_prompts_do_not_shut_short_ones_out() -> None:
    in_time = {}
    for told in (False, True):
        engine = Engine(long=0.1, told=told)
        engine.passes(20.0, 0.7)
        assert engine.kept >= 0.94
        in_time[told] = engine.came_to["in time"]
    assert in_time[True] > 1.5 * in_time[False]


@pytest.mark.long
def test_many_users_who_ask_seldom_are_let_in_as_few_are() -> None:
    in_time = {}
    for users in (10, 300):
        engine = Engine(users=users)
        engine.passes(30.0, 0.5)
        assert engine.kept >= 0.97
        in_time[users] = engine.came_to["in time"]
    assert in_time[300] > 0.7 * in_time[10]


def test_where_there_is_room_hardly_anybody_is_refused() -> None:
    engine = Engine()
    engine.passes(5.0, 0.5)
    before = engine.came_to["refused"]
    engine.passes(15.0, 0.5)
    assert engine.kept >= 0.95
    assert engine.came_to["refused"] - before < 0.02 * engine.came_to["in time"]


@pytest.mark.long
def test_an_engine_that_turns_three_times_slower_keeps_its_promise_again_soon() -> None:
    engine = Engine()
    engine.passes(10.0, 1.3)
    engine.factor = 1 / 3
    engine.passes(6.0, 1.3)
    engine.came_to.clear()
    engine.passes(15.0, 1.3)
    assert engine.kept >= 0.93
    assert engine.came_to["in time"] > 0.5 * CAPACITY / 3 * 15


def two_users(engine: Engine, greedy: int, modest: int = 8, seconds: float = 25) -> list[int]:
    """Have two users keep `modest` and `greedy` requests under way; how many ran in each step."""
    ran = []
    for _ in range(round(seconds / STEP_S)):
        inside = Counter(row.request_group.user for row in engine.rows)
        waits = Counter(request_group.user for request_group in engine.queue.request_groups)
        for user, most in ((MODEST, modest), (GREEDY, greedy)):
            for _ in range(most - inside[user] - waits[user]):
                engine.comes(user, TOKENS, inf, waits=True)
        engine.passes(STEP_S)
        ran.append(len(engine.rows))
    return ran


@pytest.mark.long
def test_one_user_with_500_requests_does_not_halve_the_share_of_one_with_8() -> None:
    got = []
    for number in (8, 500):
        engine = Engine()
        two_users(engine, number)
        got.append(engine.in_time[MODEST])
    assert got[1] > 0.55 * got[0]


def test_who_pauses_for_a_moment_does_not_lose_its_share_meanwhile() -> None:
    engine, took_s = Engine(), list[float]()
    two_users(engine, 500, modest=0, seconds=5)
    for _ in range(8):
        came_s = engine.now_s
        for _ in range(8):
            engine.comes(MODEST, TOKENS, inf, waits=True)
        while any(row.request_group.user == MODEST for row in engine.rows):
            two_users(engine, 500, modest=0, seconds=STEP_S)
        took_s.append(engine.now_s - came_s)
        two_users(engine, 500, modest=0, seconds=1.5)
    assert statistics.median(took_s[1:]) < 1.0


def test_two_users_with_as_many_requests_do_not_hold_each_other_at_a_few() -> None:
    """Where a third one takes a quarter of the speed of two, too."""
    ran = two_users(Engine(slows=0.6), 8)
    assert statistics.fmean(ran[len(ran) // 2 :]) > 14
