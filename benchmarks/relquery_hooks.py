"""What benchmarks change and watch inside vLLM, for every scheduler alike: where rows end, planning ahead."""

from __future__ import annotations

from typing import Any

from benchmarks.clocks import Clock

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


class SchedulerWatch:
    """What a scheduler does from `begin` on: when each token came, how many requests ran, blocks in use."""

    def __init__(self, scheduler: Any, clock: Clock) -> None:
        self._scheduler = scheduler
        self.begin()
        update = scheduler.update_from_output

        def update_from_output(*args: Any) -> Any:
            self._note_memory()
            done = update(*args)
            now_s = clock.now()
            for of_client in done.values():
                for output in of_client.outputs:
                    times = self._token_s.setdefault(output.request_id, [])
                    times.extend([now_s] * len(output.new_token_ids))
            return done

        scheduler.update_from_output = update_from_output

    def begin(self) -> None:
        """Know nothing of what was before."""
        self._token_s: dict[str, list[float]] = {}
        self.at_once = self.most_blocks = 0

    def _note_memory(self) -> None:
        """While a step is in flight: all that take part in it are running and have their blocks."""
        self.at_once = max(self.at_once, len(self._scheduler.running))
        self.most_blocks = max(self.most_blocks, self.num_used)

    @property
    def num_used(self) -> int:
        """Blocks that requests hold now, without the null block."""
        pool = self._scheduler.kv_cache_manager.block_pool
        return int(pool.num_gpu_blocks - 1 - pool.get_num_free_blocks())

    def token_s(self, start_s: float) -> dict[str, list[float]]:
        """Seconds from `start_s` to each token, by the name that the request was added by.

        vLLM appends a random word to that name.
        """
        named = ((name.rsplit("-", 1)[0], times) for name, times in self._token_s.items())
        return {name: [round(s - start_s, 6) for s in times] for name, times in named}
