"""An engine on a CPU that plans a step while the one before is computed, as engines on GPUs do.

vLLM's platform for CPUs turns it off in any case (`CpuPlatform.check_and_update_config`, "async scheduling is
not required on CPU"). Here that word is taken back; its worker then asks CUDA for streams and events, which
order copies: on a CPU, where every copy is done when its call returns, there is nothing to order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch


class _Done:
    """A stream, or an event, of work that is done."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def record(self, *args: Any) -> None: ...
    def synchronize(self) -> None: ...
    def wait_stream(self, stream: Any) -> None: ...


@contextmanager
def planning_ahead() -> Iterator[None]:
    """Let engines that are started here, with `async_scheduling=True`, plan ahead while this lasts."""
    import torch
    from vllm.platforms.cpu import CpuPlatform

    check = CpuPlatform.check_and_update_config

    def checked(config: Any) -> None:
        wanted = config.scheduler_config.async_scheduling
        check(config)
        config.scheduler_config.async_scheduling = wanted

    with (
        patch.object(CpuPlatform, "check_and_update_config", staticmethod(checked)),
        patch.object(torch.cuda, "Stream", _Done),
        patch.object(torch.cuda, "Event", _Done),
        patch.object(torch.cuda, "current_stream", _Done),
        patch.object(torch.cuda, "stream", nullcontext),
    ):
        yield
