"""What the benchmark changes inside vLLM: a row ends at its true length, whatever its max_tokens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.relquery_hooks import TRUE_TOKENS, end_at_true_lengths, plan_ahead_on_cpu
from relserve.call.rel_tag import RelTag, read_tag
from tests.modules import needs

pytestmark = needs("vllm")


def request(num_output_tokens: int, max_tokens: int = 256, true_tokens: int = 3) -> Any:
    params = SimpleNamespace(
        extra_args={TRUE_TOKENS: true_tokens}, eos_token_id=None, stop_token_ids=(), min_tokens=0,
        repetition_detection=None,
    )  # fmt: skip
    return SimpleNamespace(
        sampling_params=params, num_output_tokens=num_output_tokens, num_tokens=num_output_tokens + 5,
        max_tokens=max_tokens, output_token_ids=[7] * num_output_tokens, pooling_params=None, status=None,
    )  # fmt: skip


def test_a_row_ends_at_its_true_length_or_where_vllm_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm.v1.core.sched import scheduler
    from vllm.v1.request import RequestStatus

    monkeypatch.setattr(scheduler, "check_stop", scheduler.check_stop)  # put back afterwards
    end_at_true_lengths()
    told = {tokens: request(tokens) for tokens in (2, 3)}
    assert [scheduler.check_stop(each, 4096) for each in told.values()] == [False, True]
    assert told[3].status == RequestStatus.FINISHED_STOPPED
    capped = request(2, max_tokens=2)
    assert scheduler.check_stop(capped, 4096)
    assert capped.status == RequestStatus.FINISHED_LENGTH_CAPPED


def test_no_scheduler_is_told_the_true_length() -> None:
    tag = RelTag("q", 5, 256, kind="beer open")
    assert read_tag({**tag.args(), TRUE_TOKENS: 3}, 256) == tag


def test_planning_ahead_is_turned_on_after_the_platform_turned_it_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from vllm.platforms.cpu import CpuPlatform

    def turn_off(config: Any) -> None:
        config.scheduler_config.async_scheduling = False

    monkeypatch.setattr(CpuPlatform, "check_and_update_config", staticmethod(turn_off))
    config = SimpleNamespace(scheduler_config=SimpleNamespace(async_scheduling=None))
    plan_ahead_on_cpu()
    CpuPlatform.check_and_update_config(config)
    assert config.scheduler_config.async_scheduling is True
