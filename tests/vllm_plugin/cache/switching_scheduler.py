"""A scheduler for an engine in a process of its own, which changes its requests' kinds without end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from relserve.vllm_plugin import host
from tests.vllm_plugin.cache.hybrid_engines import every

REPORT_VARIABLE = "RELSERVE_TEST_SWITCHES"  # a file that gets a line for each switch, and for each end


class Switching:
    """Changes a running request's kind after every fifth token, and writes down what it did and left."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._picks = every(5)

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        for request in list(self.running):
            if self._picks(request):
                self.switch_cache_type(request, not self.kinds.is_hidden(request.request_id))
                self._note("switch")
        return super().schedule(*args, **kwargs)

    def _free_blocks(self, request: Any) -> None:
        super()._free_blocks(request)
        if not self.requests:
            pool = self.kv_cache_manager.block_pool
            num_lost = pool.num_gpu_blocks - 1 - pool.get_num_free_blocks()
            self._note(f"idle {num_lost} {pool.null_block.ref_cnt}")

    def _note(self, line: str) -> None:
        with Path(os.environ[REPORT_VARIABLE]).open("a") as file:
            file.write(f"{line}\n")


def make(vllm_config: Any, **kwargs: Any) -> Any:
    """As vLLM's `scheduler_cls`."""
    from relserve.vllm_plugin.cache.scheduling import with_kinds

    cls = type("SwitchingScheduler", (Switching, with_kinds(host.Scheduler)), {})
    return cls(vllm_config=vllm_config, **kwargs)
