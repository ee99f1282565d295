"""Both kinds of requests in vLLM's real schedulers, with a made-up worker: right tokens, no leak, no stall.

On each release of `make releases`; `test_hidden_ahead.py` has engines that plan ahead with a model.
"""

from __future__ import annotations

from typing import Any

import pytest

from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.cache import vllm_parts
from tests.modules import later
from tests.vllm_plugin.cache.hybrid_engines import every

testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm


@pytest.fixture(autouse=True)
def _blocks_that_hold_x(monkeypatch: pytest.MonkeyPatch) -> None:
    version = pytest.importorskip("vllm", reason="vLLM is not installed").__version__
    if not version.startswith(f"{vllm_parts.TESTED}."):
        pytest.skip(f"the cache is off on vLLM {version}")
    from relserve.vllm_plugin.cache.spec import HybridSpec

    def spec(**sizes: Any) -> HybridSpec:
        return HybridSpec(x_width=sizes["num_kv_heads"] * sizes["head_size"], **sizes)

    monkeypatch.setattr("lab.made_up_worker.FullAttentionSpec", spec)


@pytest.fixture
def follows_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker follows what each block was written as: none of one kind is taken for one of the other."""
    written_as: dict[int, str] = {}

    def check_blocks(_: Any, blocks: list[int], start: int, end: int) -> None:
        kind = "hidden" if blocks[0] == 0 else "kv"
        per_block = testing.BLOCK_SIZE * (2 if kind == "hidden" else 1)
        held = blocks[1:] if kind == "hidden" else blocks
        assert len(held) * per_block >= end, "tokens without blocks"
        assert 0 not in held[: -(-end // per_block)], "tokens in a block that is nobody's"
        for block in held[: start // per_block]:  # computed before, by this row or by one that began alike
            assert written_as[block] == kind, "a block of the other kind is read"
        for block in held[start // per_block : -(-end // per_block)]:
            written_as[block] = kind

    monkeypatch.setattr("lab.made_up_worker.MadeUpWorker.check_blocks", check_blocks)


def served(is_async: bool, switch_every: int, **more: Any) -> tuple[Any, testing.WorkerRun, list[bool]]:
    """A tight pool's run, and for each change of a kind whether a token was being computed meanwhile."""
    arrivals = testing.workload(3)
    for i, arrival in enumerate(arrivals):
        arrival.extra_args = {**arrival.extra_args, "rel_cache": ("kv", "hidden")[i % 2]}
    variant = "stock" if switch_every else "dpu+marginal"
    scheduler = testing.scheduler_of(str(MODEL_DIR), variant, is_async, 40, cache="hybrid", **more)
    picks, schedule, switched = every(switch_every or 10**9), scheduler.schedule, []

    def step(*args: Any, **kwargs: Any) -> Any:
        for request in list(scheduler.running) if switch_every else ():
            if picks(request):
                switched.append(request.num_in_flight_tokens > 0)
                scheduler.switch_cache_type(request, not scheduler.kinds.is_hidden(request.request_id))
        return schedule(*args, **kwargs)

    scheduler.schedule = step
    ran = testing.run(scheduler, arrivals, is_async, abort_every=0 if switch_every else 37)
    expected = {a.request_id: a.expected() for a in arrivals if a.request_id not in ran.aborted}
    assert {r: tokens for r, tokens in ran.tokens.items() if r in expected} == expected
    assert ran.leaked_blocks == 0
    assert scheduler.kv_cache_manager.block_pool.null_block.ref_cnt == 0
    assert not scheduler.requests
    return scheduler, ran, switched


@pytest.mark.usefixtures("follows_kinds")
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_kinds_change_while_tokens_are_computed(is_async: bool) -> None:
    _, _, switched = served(is_async, switch_every=5)
    assert len(switched) > 100
    assert any(switched) == is_async


@pytest.mark.usefixtures("follows_kinds")
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_relqueries_with_rows_of_both_kinds(is_async: bool) -> None:
    scheduler, ran, _ = served(is_async, switch_every=0)
    assert ran.aborted
    assert scheduler.steering is not None
