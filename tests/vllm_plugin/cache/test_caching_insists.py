"""Requests that insist on a type, under caching policies in vLLM's real scheduler: they stall nobody."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.cache import vllm_parts
from tests.modules import later

testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm
CHOOSING = ("apt", "apt-decay", "apt-s", "steady")


@pytest.fixture(autouse=True)
def _blocks_that_hold_x(monkeypatch: pytest.MonkeyPatch) -> None:
    version = pytest.importorskip("vllm", reason="vLLM is not installed").__version__
    if not version.startswith(f"{vllm_parts.TESTED}."):
        pytest.skip(f"the cache is off on vLLM {version}")
    from relserve.vllm_plugin.cache.spec import HybridSpec

    def spec(**sizes: Any) -> HybridSpec:
        return HybridSpec(x_width=sizes["num_kv_heads"] * sizes["head_size"], **sizes)

    monkeypatch.setattr("lab.made_up_worker.FullAttentionSpec", spec)
    monkeypatch.setattr(testing.MadeUpWorker, "check_blocks", lambda *_: None)


def served(
    caching: str, cache: str, arrivals: list[testing.MadeUpArrival], num_blocks: int
) -> tuple[Any, int, int]:
    """The scheduler, its steps, and the longest pause of a request in steps; hidden states cost nothing."""
    scheduler = testing.scheduler_of(
        str(MODEL_DIR), "dpu+marginal", False, num_blocks, caching=caching, cache=cache
    )
    costs = scheduler.steering.planner.costs
    costs.model = costs.model._replace(kv_token_s=0.0, hidden_token_s=0.0)
    at: dict[str, list[int]] = {}
    schedule = scheduler.schedule

    def counted() -> Any:
        output = schedule()
        for request_id in output.num_scheduled_tokens:
            at.setdefault(request_id, []).append(scheduler.steering.num_steps)
        return output

    scheduler.schedule = counted
    ran = testing.run(scheduler, arrivals, False)
    assert ran.tokens == {arrival.request_id: arrival.expected() for arrival in arrivals}
    assert ran.leaked_blocks == 0
    return (
        scheduler,
        ran.num_steps,
        max(b - a for on in at.values() for a, b in pairwise(on)),
    )


def asking(number: int, wants: str | None, every: int, num_output: int) -> list[testing.MadeUpArrival]:
    """Requests of which some insist on a type."""
    args = {} if wants is None else {"rel_cache": wants}
    return [
        testing.MadeUpArrival(0, f"q{i}-0", [i + 1] * 100, num_output, {} if i % every else args)
        for i in range(number)
    ]


@pytest.mark.cells(2)
@pytest.mark.parametrize("caching", CHOOSING)
@pytest.mark.parametrize("wants", ["kv", "hidden"])
def test_one_that_insists_stalls_nobody(caching: str, wants: str) -> None:
    """All fit the pool as either type, so none has a reason to pause for long."""
    _, steps, pause = served(caching, "hybrid", asking(8, wants, 8, 100), 100)
    assert steps <= 115
    assert pause <= 12


@pytest.mark.cells(1)
@pytest.mark.parametrize("caching", ["fcfs", *CHOOSING])
@pytest.mark.parametrize("cache", ["hybrid", "hidden"])
@pytest.mark.parametrize("wants", ["kv", "hidden"])
def test_every_second_one_insists_in_a_tight_pool(caching: str, cache: str, wants: str) -> None:
    scheduler, steps, _ = served(caching, cache, asking(24, wants, 2, 40), 40)
    reasons = scheduler.steering.planner.reasons
    assert steps <= 150
    assert reasons["everything"] <= 2, "a plan under which nothing is scheduled is a miscount"


def test_blocks_are_counted_as_what_is_kept() -> None:
    """Where rows are hidden, the one that insists on keys and values takes its own number of blocks."""
    scheduler = testing.scheduler_of(
        str(MODEL_DIR), "dpu+marginal", False, 40, caching="fcfs", cache="hidden"
    )
    for arrival in asking(2, "kv", 2, 4):
        scheduler.add_request(arrival.request())
    view = scheduler.steering.planner.table.view(scheduler.steering.planner.costs.model)
    assert view.memory == (39, 32, 64)
    assert [view.requests[f"q{i}-0"].only for i in range(2)] == ["kv", "hidden"]
    scheduler.schedule()
    view = scheduler.steering.planner.table.view(scheduler.steering.planner.costs.model)
    assert [view.requests[f"q{i}-0"].cache for i in range(2)] == ["kv", "hidden"]
    pool = scheduler.kv_cache_manager.block_pool
    assert pool.num_gpu_blocks - 1 - pool.get_num_free_blocks() == 4 + 2
