"""Real engines that plan ahead, with requests of both kinds: the tokens of stock vLLM, which does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vllm_plugin.cache.hybrid_engines import (
    FORMS,
    build_model,
    check_idle,
    environment,
    every,
    said,
    scheduler_of,
    start,
    watched,
    work,
)
from tests.vllm_plugin.cache.planning_ahead import planning_ahead

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]

MIXED = ("kv", "hidden")
LOAD: dict[str, Any] = {"forms": ("", "", *FORMS, ""), "max_tokens": 40}
OURS = "relserve.vllm_plugin.scheduler.make"  # relQueries' order


class Model:
    """A model's folder, and what stock vLLM says with it, one step after the other."""

    def __init__(self, name: str, folder: Path) -> None:
        self.path = build_model(name, folder)
        stock = start(self.path, None)
        self.expected = said(stock, work(**LOAD))
        stock.llm_engine.engine_core.shutdown()


RUNS = [("opt", None), pytest.param("llama", OURS, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with environment():
        yield Model(request.param, tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize(("model", "scheduler"), RUNS, indirect=["model"], scope="module")
def test_tokens_are_stocks(model: Model, scheduler: str | None) -> None:
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler

    picks, in_flight = every(3), []

    def picked(request: Any) -> bool:
        is_picked = picks(request)
        if is_picked:
            in_flight.append(request.num_in_flight_tokens > 0)
        return is_picked

    with environment(), planning_ahead():
        llm = start(model.path, "hybrid", async_scheduling=True, scheduler_cls=scheduler)
        try:
            assert isinstance(scheduler_of(llm), AsyncScheduler)
            assert llm.llm_engine.engine_core.engine_core.batch_queue_size == 2
            assert said(llm, work(("hidden",), **LOAD)) == model.expected
            check_idle(llm)
            with watched(llm, picked) as seen:
                assert said(llm, work(MIXED, **LOAD)) == model.expected
            check_idle(llm)
        finally:
            llm.llm_engine.engine_core.shutdown()
    assert len(seen.when_full) > 100
    assert sum(in_flight) > 100  # each with a token that was still being computed
