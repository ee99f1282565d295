"""The waiting queue of a plan: what it shows, and what it remembers of comings."""

from __future__ import annotations

import pytest

from relserve.call.rel_tag import RelTag
from relserve.vllm_plugin.ledger import RowLedger
from tests.modules import later
from tests.vllm_plugin.fake_request import request

scheduling_queue = later("relserve.vllm_plugin.cache.scheduling_queue")


def filled(*names: str) -> tuple[scheduling_queue.PlannedQueue, dict[str, object]]:
    ledger = RowLedger()
    queue, requests = scheduling_queue.PlannedQueue(ledger), {name: request(name) for name in names}
    for name, row in requests.items():
        ledger.arrive(row, RelTag(name, 1, 4), 1.0)
        queue.add_request(row)
    return queue, requests


def test_it_shows_what_waits_of_a_plan_in_its_order() -> None:
    queue, rows = filled("a", "b", "c")
    queue.show(["c", "runs already", "a"])
    assert len(queue) == 3
    assert [row.request_id for row in queue] == ["c", "a"]
    assert queue.pop_request() is rows["c"]
    assert queue.peek_request() is rows["a"]
    queue.remove_requests([rows["a"], rows["a"]])
    assert not queue
    with pytest.raises(IndexError, match="shows no request"):
        queue.pop_request()
    queue.show_all()
    assert [row.request_id for row in queue] == ["b"]


def test_it_remembers_who_came_until_they_go() -> None:
    queue, rows = filled("a", "b")
    assert list(queue.come) == ["a", "b"]
    queue.come.clear()
    queue.remove_request(rows["a"])
    queue.prepend_requests([rows["a"]])
    assert list(queue.come) == ["a"]
    queue.remove_request(rows["a"])
    assert not queue.come
    assert [rel.rel_id for rel in queue.order] == ["a", "b"]
