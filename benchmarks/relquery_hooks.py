"""What `relquery_latency` changes inside vLLM, for every scheduler alike: where rows end, planning ahead."""

from __future__ import annotations

from typing import Any

TRUE_TOKENS = "benchmark_true_tokens"  # in extra_args; no scheduler reads it


def end_at_true_lengths() -> None:
    """Have vLLM end each row when it has said as many tokens as the trace says, as if by its own words."""
    from vllm.v1.core.sched import scheduler
    from vllm.v1.request import RequestStatus

    check_stop = scheduler.check_stop

    def check_stop_or_true_length(request: Any, max_model_len: int) -> bool:
        if request.num_output_tokens >= request.sampling_params.extra_args[TRUE_TOKENS]:
            request.status = RequestStatus.FINISHED_STOPPED
            return True
        return bool(check_stop(request, max_model_len))

    scheduler.check_stop = check_stop_or_true_length


def plan_ahead_on_cpu() -> None:
    """Have vLLM plan a step while the one before runs, which its CPU platform turns off."""
    from vllm.platforms.cpu import CpuPlatform

    check = CpuPlatform.check_and_update_config

    def check_and_update_config(vllm_config: Any) -> None:
        check(vllm_config)
        vllm_config.scheduler_config.async_scheduling = True

    CpuPlatform.check_and_update_config = staticmethod(check_and_update_config)
