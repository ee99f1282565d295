"""Data parallel ranks: each has a scheduler of its own, which sees a part of each relQuery's rows."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from relserve.call.rel_tag import RelTag
from relserve.engines.local.start import with_ranks
from relserve.errors import UsageError
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.identity import part_of
from relserve.vllm_plugin.settings import read
from tests.modules import later

testing = later("lab.made_up_worker")

pytestmark = pytest.mark.vllm
MODEL = str(MODEL_DIR)
ROWS = 61


@pytest.fixture
def parallel(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The parallel configuration as a rank of a dense model finds it: it is told that it is alone."""
    config = testing.config_of(MODEL).parallel_config
    monkeypatch.setattr(config, "_data_parallel_master_port_list", [29500])
    assert config.data_parallel_size == 1
    return config


def rows(step: int = 0) -> list[testing.MadeUpArrival]:
    tag = {"rel_id": "q", "rel_rows": ROWS}
    return [testing.MadeUpArrival(step, f"q-{i}", [i + 1] * 60, 5, tag) for i in range(ROWS)]


def halves(variant: str = "dpu+marginal", **settings: Any) -> list[tuple[Any, list[testing.MadeUpArrival]]]:
    """Two ranks, and the rows that vLLM gives each: in turns."""
    return [
        (testing.scheduler_of(MODEL, variant, False, 400, **settings), rows()[rank::2]) for rank in (0, 1)
    ]


def test_each_of_two_expects_half_of_the_rows(parallel: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ranks = halves(ranks=2)
    assert not caplog.messages
    for scheduler, mine in ranks:
        for arrival in mine[:10]:
            scheduler.add_request(arrival.request())
        rel = scheduler.ledger.active["q"]
        assert (rel.num_rows, rel.num_unseen) == (31, 21)
    tokens: dict[str, list[int]] = {}
    for scheduler, mine in halves(ranks=2):
        ran = testing.run(scheduler, mine, False)
        assert ran.leaked_blocks == 0
        tokens |= ran.tokens
        assert len(scheduler.ledger) == 0
        lingering = scheduler.ledger.active.values()  # of 61 rows one rank has 31; the other expects one more
        assert [rel.num_finished for rel in lingering] == [30] * (len(mine) == 30)
    assert tokens == {arrival.request_id: arrival.expected() for arrival in rows()}


def test_a_rank_that_is_not_told_of_how_many_counts_what_came(
    parallel: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        scheduler, mine = halves()[0]
    assert "one of several data parallel ranks" in caplog.text
    for arrival in mine:
        scheduler.add_request(arrival.request())
    rel = scheduler.ledger.active["q"]
    assert (rel.num_rows, rel.num_unseen) == (31, 0)


def test_ranks_that_step_together_keep_vllms_order(
    parallel: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(parallel, "data_parallel_size", 2)
    with caplog.at_level(logging.WARNING):
        scheduler, mine = halves(ranks=2)[0]
    assert scheduler.steering is None
    assert "in vLLM's own order because of data parallel ranks that step together" in caplog.text
    assert len(testing.run(scheduler, mine, False).finished_order) == len(mine)


@pytest.mark.parametrize("ranks", [-1, 1.5, "2", True])
def test_a_number_of_ranks_that_is_none_is_refused(ranks: Any) -> None:
    with pytest.raises(UsageError, match="ranks is the number of data parallel copies"):
        read({"relserve": {"ranks": ranks}})


def test_what_a_rank_may_expect() -> None:
    tag = RelTag("q", 7, 5)
    assert [part_of(tag, ranks).rows for ranks in (1, 2, 4, 8, None)] == [7, 4, 2, 1, 1]


def test_a_local_engine_tells_its_ranks() -> None:
    assert with_ranks({"model": "m"}) == {"model": "m"}
    told = with_ranks({"data_parallel_size": 2, "additional_config": {"a": 1, "relserve": {"patience": 3}}})
    assert told["additional_config"] == {"a": 1, "relserve": {"ranks": 2, "patience": 3}}
    assert with_ranks({"data_parallel_size": 2})["additional_config"] == {"relserve": {"ranks": 2}}
