"""Rows that begin alike hold blocks together, which caching policies count once."""

from __future__ import annotations

from typing import Any

import pytest

from relserve.policies.caching.variants import NAMES
from relserve.tiny import MODEL_DIR
from tests.modules import later

testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm
BEGINNING = list(range(640))


def served(variant: str, num_blocks: int, **settings: Any) -> tuple[int, int]:
    """Steps, and the most that run at once, of twenty that begin like one that ran before."""
    scheduler = testing.scheduler_of(str(MODEL_DIR), variant, False, num_blocks, **settings)
    most, schedule = [0], scheduler.schedule

    def counted() -> Any:
        output = schedule()
        most.append(len(scheduler.running))
        return output

    scheduler.schedule = counted
    arrivals = [testing.MadeUpArrival(0, "w-0", [*BEGINNING, 5, 5, 5], 2, {})]
    arrivals += [testing.MadeUpArrival(8, f"q{i}-0", BEGINNING + [i] * 10, 20, {}) for i in range(20)]
    ran = testing.run(scheduler, arrivals, False)
    assert ran.tokens == {arrival.request_id: arrival.expected() for arrival in arrivals}
    assert ran.leaked_blocks == 0
    return ran.num_steps, max(most)


@pytest.mark.cells(3)
@pytest.mark.parametrize("caching", NAMES)
def test_what_is_shared_lets_as_many_in_as_stock(caching: str) -> None:
    """A pool of 39 blocks, of which all share 20: one alone would fit were they counted in full."""
    stock_steps, stock_most = served("vllm", 40)
    steps, most = served("dpu+marginal", 40, caching=caching)
    assert stock_most == 19
    assert most >= stock_most - 2  # ours keeps a reserve
    assert steps <= stock_steps + 4


def test_the_table_says_what_a_row_takes_and_frees() -> None:
    """Rows that wait: blocks that some hold. Rows at work: the same; the pool is without them."""
    scheduler = testing.scheduler_of(str(MODEL_DIR), "dpu+marginal", False, 60, caching="fcfs")
    for number in range(2):
        scheduler.add_request(
            testing.MadeUpArrival(0, f"q{number}-0", BEGINNING[:96] + [number] * 40, 4, {}).request()
        )
    table, costs = scheduler.steering.planner.table, scheduler.steering.planner.costs.model
    assert table.view(costs).memory.num_blocks == 59
    output = scheduler.schedule()
    assert len(output.scheduled_new_reqs) == 2
    scheduler.add_request(testing.MadeUpArrival(0, "late-0", BEGINNING[:96] + [9] * 40, 4, {}).request())
    view = table.view(costs)
    states = [view.requests[name] for name in ("q0-0", "q1-0", "late-0")]
    assert [(one.cache, one.shared_kv, one.shared_hidden) for one in states] == [
        ("kv", 3, 0), ("kv", 3, 0), (None, 3, 0),
    ]  # fmt: skip
    assert states[2].num_computed == 96
    assert view.memory.num_blocks == 59 - 3
    scheduler.finish_requests("q0-0", scheduler.requests["q0-0"].status.FINISHED_ABORTED)
    view = table.view(costs)
    assert view.requests["q1-0"].shared_kv == 0
    assert view.memory.num_blocks == 59
    scheduler.finish_requests(["q1-0", "late-0"], scheduler.requests["q1-0"].status.FINISHED_ABORTED)
    scheduler.shutdown()
