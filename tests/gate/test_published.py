"""SABER before an engine is Algorithm 1: one queue, a curve of before, best effort for who is late."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from relserve.engines.registry import own_engine, path_of
from relserve.errors import AdmissionError
from relserve.gate.admission_queue import FRONT, AdmissionQueue
from relserve.gate.gate import Gate
from relserve.gate.made import make_gate
from relserve.gate.request_group import Permit, RequestGroup
from relserve.machine.cost_file import cost_path
from relserve.policies.admission.offline import profile
from relserve.policies.admission.online import OnlineCurve
from relserve.policies.admission.request import SloClasses
from relserve.policies.admission.saber import DELTA_S
from relserve.policies.model.linear import CostModel
from relserve.settings import load
from tests.gate.entered import entered

COST = CostModel(2e-5, 3e-3, 1e-4, 5e-3)
STEP_S = 1.01 * DELTA_S


def gate(name: str = "saber", **limits_s: float) -> Gate:
    return make_gate(name, classes=SloClasses(limits_s), cost=lambda: COST)


class Rows:
    """What runs before a gate's queue, in virtual time."""

    def __init__(self, its: Gate) -> None:
        assert its._queue is not None
        self.queue: AdmissionQueue = its._queue
        self.running: list[tuple[RequestGroup, Permit]] = []
        self.errors: list[AdmissionError] = []
        self.now_s = 0.0

    def comes(self, user: str, rows: int = 1, tokens: float = 20.0, limit_s: float = inf) -> RequestGroup:
        request_group = RequestGroup(
            user, "" if limit_s == inf else "limit", "", self.now_s, self.now_s + limit_s, tokens, rows,
            lambda permit: self.running.append((request_group, permit)), self.errors.append,
        )  # fmt: skip
        self.queue.come(request_group, self.now_s)
        return request_group

    def passes(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self.now_s += STEP_S
            self.queue.look(self.now_s)

    def ends(self, number: int) -> None:
        for request_group, permit in self.running[:number]:
            self.queue.done(request_group, permit, self.now_s)
        del self.running[:number]


def test_rows_start_in_the_order_of_arrival_whoever_asks() -> None:
    """No user has a turn: bob's row waits behind all rows of ann's, of which eight are at the controller."""
    rows = Rows(gate())
    rows.comes("ann", 40)
    rows.now_s += 0.001
    rows.comes("bob", 1)
    assert len(rows.queue.controller.waiting) == FRONT + 1
    rows.passes(1.0)
    users = [request_group.user for request_group, _ in rows.running]
    assert len(users) == 41
    assert users.index("bob") >= 36  # the last window of five is in random order


def test_one_row_starts_in_delta() -> None:
    rows = Rows(gate())
    rows.comes("ann", 40)
    assert len(rows.running) == 1
    rows.passes(10 * STEP_S)
    assert len(rows.running) == 11


def test_what_can_be_in_time_goes_before_all_that_cannot_whoever_asks() -> None:
    """Line 17 looks at one queue: while bob's row waits for more speed, nobody's lost limit is served."""
    rows = Rows(gate())
    rows.queue.controller.curve = OnlineCurve(
        profile(COST), learns=False
    )  # 195 tokens a second alone, 113 at 31
    rows.comes("ann", 30)
    rows.passes(31 * STEP_S)
    able = rows.comes("bob", 1, tokens=900, limit_s=6.0)
    hopeless = rows.comes("ann", 1, tokens=5000, limit_s=1.0)
    rows.passes(0.5)
    assert (len(rows.running), able.num_waiting, hopeless.num_waiting) == (30, 1, 1)
    rows.queue.leave(able, rows.now_s)
    rows.passes(2 * STEP_S)
    assert hopeless.num_waiting == 0


def test_the_high_queue_is_seen_however_many_of_the_low_one_came_before() -> None:
    rows = Rows(gate())
    rows.queue.controller.most = 1
    rows.comes("ann", 1)
    for _ in range(30):
        rows.comes("ann", 1, tokens=5000, limit_s=0.5)
        rows.now_s += 0.001
    rows.comes("ann", 1, tokens=5, limit_s=60)
    rows.passes(1.0)
    rows.ends(1)
    rows.passes(STEP_S)
    assert [request_group.tokens for request_group, _ in rows.running] == [5]


def test_who_is_late_waits_for_room_and_runs() -> None:
    """Past the limit, too; nobody is turned away."""
    rows = Rows(gate())
    rows.queue.controller.most = 2
    rows.comes("ann", 2)
    rows.passes(2 * STEP_S)
    late = rows.comes("bob", 3, limit_s=0.2)
    rows.passes(1.0)
    assert late.num_waiting == 3
    for _ in range(3):
        rows.ends(1)
        rows.passes(STEP_S)
    assert late.num_waiting == 0
    assert rows.errors == []
    assert rows.queue.num_refused == {}


@pytest.mark.parametrize(("name", "num_refused"), [("saber", 0), ("static-1", 1)])
def test_nobody_is_refused_who_says_that_it_does_not_wait(name: str, num_refused: int) -> None:
    """As OpenAI's clients with limits do; elsewhere they are."""
    its, errors = gate(name, quick=1e-6), list[AdmissionError]()
    assert its._queue is not None
    its._queue.controller.most = 1
    with entered(its, prompt_tokens=1, max_tokens=9):
        request_group = its.request_group("ann", 1, 9, "quick", None, lambda _: None, errors.append)
        its.come(request_group, waits=False)
        assert (len(errors), request_group.num_waiting) == (num_refused, 1 - num_refused)
        its.leave(request_group)


def test_nothing_is_learnt_while_it_serves() -> None:
    """Neither speeds nor lengths: line 9 has the most tokens that an answer may have."""
    its = gate()
    assert its._queue is not None
    before = its._queue.controller.curve.curve
    for _ in range(4):
        with entered(its, user="ann", prompt_tokens=5, max_tokens=100) as permit:
            permit.progress(7)
    assert its._queue.controller.curve.curve is before
    request_group = its.request_group("ann", 5, 100, None, None, lambda _: None, lambda _: None)
    assert request_group.tokens == 100


def test_the_curve_is_of_the_engines_cost_model_and_of_as_many_engines_as_there_are() -> None:
    assert make_gate("saber", cost=lambda: COST)._queue.controller.curve.samples == tuple(profile(COST))  # type: ignore[union-attr]
    fleet = make_gate("saber", cost=lambda: COST, num_engines=3)
    assert fleet._queue.controller.curve.samples == tuple(profile(COST, 3))  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="needs to know what the engine's steps cost"):
        make_gate("saber")


@pytest.mark.parametrize("is_fleet", [False, True])
def test_an_engine_of_the_setting_takes_its_calibration(
    is_fleet: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    COST.save(cost_path(str(folder)))
    name = str(folder)
    if is_fleet:
        file = tmp_path / "fleet.toml"
        file.write_text(f"model = '{folder}'\n[[members]]\nname = 'a'\n[[members]]\nname = 'b'\n")
        name = f"fleet:{file}"
    settings = replace(load(), admission="saber", cache_dir=tmp_path)
    engine: Any = own_engine(name, path_of(name), settings, lambda _: None)
    assert engine.gate._queue.controller.curve.samples == tuple(profile(COST, 1 + is_fleet))
