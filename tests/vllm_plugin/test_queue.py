"""The waiting queue: what a plan lets vLLM see, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from relserve.call.rel_tag import RelTag
from relserve.policies.scheduling.order import RelQueryOrder
from relserve.vllm_plugin.ledger import RowLedger
from relserve.vllm_plugin.step_plan import StepPlan
from tests.modules import later
from tests.vllm_plugin.fake_request import request

queue = later("relserve.vllm_plugin.queue")

NAMES = ("a-0", "a-1", "b-0", "b-1", "c-0")


class Waiting:
    """Rows of three relQueries; "c" is the most urgent, then "b"."""

    def __init__(self) -> None:
        self.ledger = RowLedger()
        self.queue = queue.RelQueue(self.ledger)
        self.rows = {name: request(name) for name in NAMES}
        for name, row in self.rows.items():
            self.ledger.arrive(row, RelTag(name[0], 2, 4), 0.0)
            self.queue.add_request(row)
        self.order = RelQueryOrder.of(list(self.ledger.active.values()), [3.0, 2.0, 1.0])

    def plan(self, admit: list[str] | None, **more: Any) -> StepPlan:
        return StepPlan([], order=self.order, admit=admit, **more)

    def show(self, admit: list[str] | None) -> None:
        self.queue.show(self.plan(admit))

    def popped(self) -> list[str]:
        found = []
        while self.queue:
            assert self.queue.peek_request() is self.queue.peek_request()
            found.append(self.queue.pop_request().request_id)
        return found


def test_all_rows_come_in_order_of_urgency() -> None:
    waiting = Waiting()
    waiting.show(None)
    assert [waiting.queue[place].request_id for place in (0, 1, -1)] == ["c-0", "b-0", "a-1"]
    with pytest.raises(IndexError):
        waiting.queue[5]
    assert waiting.popped() == ["c-0", "b-0", "b-1", "a-0", "a-1"]
    assert len(waiting.queue) == 0


def test_only_the_relqueries_of_the_plan_are_seen() -> None:
    waiting = Waiting()
    waiting.show(["c", "a"])
    assert waiting.popped() == ["c-0", "a-0", "a-1"]
    assert len(waiting.queue) == 2
    with pytest.raises(IndexError, match="shows no request"):
        waiting.queue.peek_request()
    waiting.queue.show_all()
    assert waiting.popped() == ["b-0", "b-1"]


@pytest.mark.parametrize("admit", [None, ["b", "a"]])
def test_requests_that_are_held_are_passed_over(admit: list[str] | None) -> None:
    waiting = Waiting()
    plan = waiting.plan(admit, held_requests=frozenset({"b-0", "a-1", "c-0"}))
    assert [row.request_id for row in waiting.queue.shown_by(plan)] == ["b-1", "a-0"]
    assert waiting.queue.peek_request().request_id == "a-0", "nothing is shown yet, nor in order"
    waiting.queue.show(plan)
    assert waiting.popped() == ["b-1", "a-0"]
    waiting.queue.show_all()
    assert sorted(waiting.popped()) == ["a-1", "b-0", "c-0"]


def test_a_row_that_comes_back_is_seen_first_of_its_relquery() -> None:
    waiting = Waiting()
    waiting.show(None)
    first = [waiting.queue.pop_request() for _ in range(3)]
    waiting.queue.prepend_requests(first[1:])
    assert waiting.popped() == ["b-1", "b-0", "a-0", "a-1"]


def test_one_that_came_after_the_decision_goes_last() -> None:
    waiting, late = Waiting(), request("d-0")
    waiting.show(None)
    waiting.ledger.arrive(late, RelTag("d", 1, 4), 1.0)
    waiting.queue.add_request(late)
    assert [row.request_id for row in waiting.queue][-1] == "d-0"
    assert waiting.popped()[-1] == "d-0"


def test_rows_that_leave_are_gone_wherever_they_stand() -> None:
    waiting = Waiting()
    waiting.show(None)
    waiting.queue.remove_requests([waiting.rows["b-1"], waiting.rows["c-0"]])
    waiting.queue.remove_request(waiting.rows["a-0"])
    assert len(waiting.queue) == 2
    assert waiting.popped() == ["b-0", "a-1"]


def one_by_one(*names: str) -> tuple[queue.RelQueue, dict[str, Any]]:
    ledger = RowLedger()
    waiting, rows = queue.RelQueue(ledger, by_request=True), {name: request(name) for name in names}
    for row in rows.values():
        ledger.arrive(row, RelTag("q", 3, 4), 1.0)
        waiting.add_request(row)
    return waiting, rows


def test_requests_may_be_named_one_by_one() -> None:
    waiting, rows = one_by_one("a", "b", "c")
    waiting.show(StepPlan([], admit=["c", "runs already", "a"]))
    assert len(waiting) == 3
    assert waiting.pop_request() is rows["c"]
    assert waiting.peek_request() is rows["a"]
    waiting.remove_requests([rows["a"], rows["a"]])
    assert not waiting
    with pytest.raises(IndexError, match="shows no request"):
        waiting.pop_request()
    waiting.show_all()
    waiting.prepend_requests([rows["c"], rows["a"]])
    assert [row.request_id for row in waiting] == ["b", "c", "a"], "in the order in which they came"


def test_it_remembers_who_came_until_they_go() -> None:
    waiting, rows = one_by_one("a", "b")
    assert list(waiting.come) == ["a", "b"]
    waiting.come.clear()
    waiting.remove_request(rows["a"])
    assert rows["a"] not in waiting
    waiting.prepend_requests([rows["a"]])
    assert list(waiting.come) == ["a"]
    waiting.remove_request(rows["a"])
    assert not waiting.come
    assert rows["b"] in waiting
