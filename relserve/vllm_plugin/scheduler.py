"""vLLM's scheduler, which knows of each request's relQuery and lets a policy steer it.

`vllm serve --scheduler-cls relserve.vllm_plugin.scheduler.make` uses it in a stock server.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import vllm
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler

from relserve.vllm_plugin.identity import Identity, identify
from relserve.vllm_plugin.settings import read
from relserve.vllm_plugin.status import Publisher
from relserve.vllm_plugin.steering import Steering
from relserve.vllm_plugin.tracking import Tracker
from relserve.vllm_plugin.version import check_version

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    _Base = Scheduler
else:
    _Base = object


class RelQueryTracking(_Base):
    """Mixin over vLLM's schedulers: tells a Tracker what happens, and lets Steering choose each step's rows.

    The variant "stock", and whatever Steering does not handle, leave vLLM's own order as it is.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tracker = Tracker()
        config = self.vllm_config
        settings = read(config.additional_config, str(config.model_config.model))
        self.steering = Steering(self, settings) if _steers(self, settings.variant) else None
        self.publisher = Publisher(self, settings.variant if self.steering is not None else "stock")

    def add_request(self, request: Any) -> None:
        identity = identity_of(request)
        if self.steering is not None:
            self.steering.arrive(request, identity)
        super().add_request(request)
        self.tracker.arrive(request.request_id, identity, time.monotonic())

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        if self.steering is None:
            output = super().schedule(*args, **kwargs)
        else:
            output = self.steering.schedule(partial(super().schedule, *args, **kwargs))
        tracker = self.tracker
        if output.preempted_req_ids:
            tracker.preempt(output.preempted_req_ids)
        cached = output.scheduled_cached_reqs
        if output.scheduled_new_reqs or cached.resumed_req_ids:
            now_s = time.monotonic()
            tracker.schedule((new.req_id for new in output.scheduled_new_reqs), now_s)
            tracker.schedule(cached.resumed_req_ids, now_s)
        return output

    def update_from_output(self, *args: Any, **kwargs: Any) -> Any:
        if self.steering is not None:
            self.steering.step_done(args[0] if args else kwargs["scheduler_output"])
        outputs = super().update_from_output(*args, **kwargs)
        tracker = self.tracker
        for of_client in outputs.values():
            now_s = of_client.timestamp
            for output in of_client.outputs:
                if output.new_token_ids:
                    tracker.token(output.request_id, now_s)
                if output.finish_reason is not None:
                    tracker.end(output.request_id, now_s)
        self.publisher.tick()
        return outputs

    def finish_requests(self, request_ids: str | Iterable[str] | None, *args: Any, **kwargs: Any) -> Any:
        """Aborts, and errors found by others than the scheduler."""
        if request_ids is None:
            ended = list(self.requests)
        else:
            ended = [request_ids] if isinstance(request_ids, str) else list(request_ids)
        result = super().finish_requests(request_ids if request_ids is None else ended, *args, **kwargs)
        now_s = time.monotonic()
        for request_id in ended:
            self.tracker.end(request_id, now_s, aborted=True)
        self.publisher.tick()
        return result

    def shutdown(self) -> None:
        """End; leaves the counters where the settings say, and no status."""
        self.publisher.close()
        if self.steering is not None:
            self.steering.write_report()
        super().shutdown()


def _steers(scheduler: Any, variant: str) -> bool:
    """Whether a policy may hide rows from this scheduler; says once in the log why not."""
    config = scheduler.vllm_config
    reasons = {
        "speculative decoding": config.speculative_config is not None,
        "LoRA": config.lora_config is not None,
        "pipeline parallelism": config.parallel_config.pipeline_parallel_size > 1,
        "a KV connector": getattr(scheduler, "connector", None) is not None,
        "--scheduling-policy priority": config.scheduler_config.policy != "fcfs",
    }
    found = [name for name, present in reasons.items() if present]
    if found and variant != "stock":
        logger.warning("relQueries are scheduled in vLLM's own order because of %s", ", ".join(found))
    return variant != "stock" and not found


class RelQueryScheduler(RelQueryTracking, Scheduler):
    """The tracked synchronous scheduler."""


class AsyncRelQueryScheduler(RelQueryTracking, AsyncScheduler):
    """The tracked scheduler that plans a step while the one before runs."""


def make(vllm_config: Any, **kwargs: Any) -> Scheduler:
    """The scheduler for a vLLM engine, as vLLM's `scheduler_cls`.

    Raises:
        EngineStartError: this vLLM was not tested.
    """
    check_version(vllm.__version__)
    cls = AsyncRelQueryScheduler if vllm_config.scheduler_config.async_scheduling else RelQueryScheduler
    return cls(vllm_config=vllm_config, **kwargs)


def identity_of(request: Any) -> Identity:
    """The relQuery of a vLLM request."""
    params = request.sampling_params
    if params is None:  # a pooling request
        return identify(request.request_id, None, 1)
    return identify(request.request_id, params.extra_args, params.max_tokens)
