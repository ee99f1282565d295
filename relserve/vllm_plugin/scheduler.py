"""vLLM's scheduler, which knows of each request's relQuery and lets a policy steer it.

`vllm serve --scheduler-cls relserve.vllm_plugin.scheduler.make` uses it in a stock server.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from relserve.call.rel_tag import RelTag
from relserve.settings import STEP_BUDGET
from relserve.vllm_plugin import batches, features, host
from relserve.vllm_plugin.budget.steps import StepBudgets
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.carry_out import carried_out
from relserve.vllm_plugin.grammar_time import bound_time
from relserve.vllm_plugin.host import AsyncScheduler, Host, HostRequest, RowOutput, Scheduler, StepResult
from relserve.vllm_plugin.identity import LatestTag, TagReader, identify, part_of
from relserve.vllm_plugin.learner import StepLearner
from relserve.vllm_plugin.ledger import RowLedger
from relserve.vllm_plugin.quoting import hold_quotes
from relserve.vllm_plugin.settings import OFF, SchedulerSettings, read
from relserve.vllm_plugin.status import Publisher
from relserve.vllm_plugin.steering import Steering
from relserve.vllm_plugin.step_clock import StepClock
from relserve.vllm_plugin.step_plan import StepPlan
from relserve.vllm_plugin.stop_strings import told_apart
from relserve.vllm_plugin.telemetry import Telemetry
from relserve.vllm_plugin.version import check_version

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    _Base = Scheduler
else:
    _Base = object


class RelQueryScheduling(_Base):
    """Mixin over vLLM's schedulers: tells a ledger what happens, and lets Steering choose each step's rows.

    The variant "stock", and whatever Steering does not handle, leave vLLM's own order as it is.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hold_quotes(self.structured_output_manager)
        bound_time(self.structured_output_manager)
        self.ledger, self._read_tag = RowLedger(), LatestTag()
        settings = read(self.vllm_config.additional_config, host.model_name(self))
        self.types = RowTypes(self, settings.cache)
        self.clock = StepClock(self.types.held if self.types.is_free else None)
        self.learner = StepLearner()
        is_bounded = _is_bounded(self, settings)
        timing = self.clock, self.learner
        self.budgets = StepBudgets(self, self.ledger, settings, *timing) if is_bounded else None
        self.steering: Steering | None = None
        if _is_steered(self, settings.variant):
            self.steering = Steering(self, self.ledger, settings, self.types, self.budgets, self.learner)
        self._has_failed = False
        self._num_ranks = _num_ranks(self, settings.ranks)
        name = settings.caching or settings.variant
        self.publisher = Publisher(self, name if self.steering is not None else "stock")
        missing = _all if self.steering is None else self.steering.planner.miss_ratio
        self.telemetry = Telemetry.of(self, settings.first_cost, missing)

    def add_request(self, request: Any) -> None:
        identity = identity_of(request, self.vllm_config.model_config.max_model_len, self._read_tag)
        now_s = time.monotonic()
        if identity.deadline_s is not None:  # of the wall clock, which may be set back and forth later
            identity = identity._replace(deadline_s=now_s + identity.deadline_s - time.time())
        self.ledger.arrive(request, part_of(identity, self._num_ranks), now_s)
        if not self.requests:
            self.clock.rested()
        if self.budgets is not None:
            self.budgets.arrive(request)
        if self.telemetry is None:
            super().add_request(request)
        else:
            self.telemetry.arriving(request)
            super().add_request(request)
            self.telemetry.arrived()

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        plan = self._plan()
        output = carried_out(self, plan, partial(super().schedule, *args, **kwargs))
        if self.steering is not None:
            self.steering.settle(plan, output)
        self._time(output)
        for request_id in output.preempted_req_ids or ():
            if request_id in self.requests:  # not those that a cache reset preempted and that left since
                self.ledger.wait(self.requests[request_id])
        resumed = output.scheduled_cached_reqs.resumed_req_ids
        if output.scheduled_new_reqs or resumed:
            now_s = time.monotonic()
            self.ledger.run((new.req_id for new in output.scheduled_new_reqs), now_s)
            self.ledger.run(resumed, now_s)
        if self.telemetry is not None:
            self.telemetry.scheduled(output)
        return output

    def _plan(self) -> StepPlan | None:
        """What the next step is to do; None where vLLM is to do all that it can, in its own way."""
        leader = self.budgets if self.steering is None else self.steering
        if leader is None or self._has_failed:
            return None
        try:
            return leader.plan()
        except Exception:  # of any kind: a policy that is broken ends no request and no engine
            logger.exception("the scheduling policy failed; from now on steps are vLLM's own")
            self._has_failed = True
            if self.steering is not None:
                self.steering.queue.show(StepPlan(()))
            return None

    def _time(self, output: Any) -> None:
        """Have the clock time a step that was scheduled, as exactly as somebody wants to know its work."""
        budgets = self.budgets
        is_exact = self.steering is not None or (budgets is not None and budgets.is_active)
        if output.total_num_scheduled_tokens and (is_exact or self.telemetry is not None):
            self.clock.scheduled(output, self.requests, is_exact)
        if budgets is not None:
            budgets.scheduled(output)

    def update_from_output(self, *args: Any, **kwargs: Any) -> Any:
        step = args[0] if args else kwargs["scheduler_output"]
        if (measured := self.clock.done(step)) is not None:
            for each in (self.steering, self.budgets, self.telemetry):
                if each is not None:
                    each.measured(*measured)
        outputs = super().update_from_output(*args, **kwargs)
        ledger, budgets = self.ledger, self.budgets
        results: Iterable[StepResult] = outputs.values()
        for of_client in results:
            now_s = of_client.timestamp
            rows: Iterable[RowOutput] = of_client.outputs
            for output in rows:
                if output.new_token_ids:
                    ledger.token(output.request_id, now_s)
                    if budgets is not None and budgets.rows:
                        budgets.token(output.request_id)
                if output.finish_reason is not None:
                    self._answered(output.request_id, now_s)
        self._tick()
        return outputs

    def _answered(self, request_id: str, now_s: float) -> None:
        """A request was answered, and has left unless its input is streamed: then it goes on."""
        request = self.requests.get(request_id)
        if request is None or request.is_finished():
            self._left(request_id, now_s)
        else:
            self.ledger.wait(request)

    def _left(self, request_id: str, now_s: float, aborted: bool = False) -> None:
        self.ledger.end(request_id, now_s, aborted)
        if self.budgets is not None:
            self.budgets.ended(request_id, aborted)
        if self.telemetry is not None:
            self.telemetry.ended(request_id)

    def finish_requests(self, request_ids: str | Iterable[str] | None, *args: Any, **kwargs: Any) -> Any:
        """Aborts, stop strings (which vLLM's client finds) and errors found by others than the scheduler."""
        if request_ids is None:
            request_ids = list(self.requests)
        ended, answered = told_apart([request_ids] if isinstance(request_ids, str) else request_ids)
        result = super().finish_requests(ended, *args, **kwargs)
        now_s = time.monotonic()
        for request_id in ended:
            self._left(request_id, now_s, aborted=request_id not in answered)
        self._tick()
        return result

    def _tick(self) -> None:
        """See that what others read of this engine is not too old."""
        self.publisher.tick()
        if self.steering is not None:
            self.steering.lengths.tick(is_idle=not len(self.ledger))
        if self.telemetry is not None:
            self.telemetry.rested()

    def shutdown(self) -> None:
        """End; leaves no status."""
        self.publisher.close()
        self.learner.close()
        for each in (self.steering, self.telemetry):
            if each is not None:
                each.close()
        super().shutdown()


def _all(rel_id: str) -> float:
    """The share of prompts to compute where nobody looks into the prefix cache."""
    return 1.0


def _is_steered(scheduler: Host, variant: str) -> bool:
    """Whether a policy may hold rows of this scheduler back; says once in the log why not."""
    if variant == "stock":
        return False
    reasons = features.what_forbids_hiding(scheduler)
    if reasons:
        logger.warning("relQueries are scheduled in vLLM's own order because of %s", ", ".join(reasons))
    return not reasons


def _is_bounded(scheduler: Host, settings: SchedulerSettings) -> bool:
    """Whether a policy may bound this scheduler's steps; says once in the log why not."""
    if settings.step_budget == OFF:
        return False
    reasons = features.what_forbids_budgets(scheduler)
    if reasons:
        level = logging.INFO if settings.step_budget == STEP_BUDGET else logging.WARNING  # was it asked for?
        logger.log(level, "steps have the engine's own budget because of %s", ", ".join(reasons))
    return not reasons


def _num_ranks(scheduler: Host, told: int) -> int | None:
    """How many data parallel ranks share the rows; None where nobody said, which the log then tells once."""
    if told > 0 or not host.is_one_of_several(scheduler):
        return max(told, 1)
    logger.warning(
        "this is one of several data parallel ranks, and not told of how many: relQueries count as large as "
        'what has come of them; say it with --additional-config \'{"relserve": {"ranks": N}}\''
    )
    return None


class RelQueryScheduler(RelQueryScheduling, Scheduler):
    """The tracked synchronous scheduler."""


class AsyncRelQueryScheduler(RelQueryScheduling, AsyncScheduler):
    """The tracked scheduler that plans a step while the one before runs."""


def make(vllm_config: Any, **kwargs: Any) -> Scheduler:
    """The scheduler for a vLLM engine, as vLLM's `scheduler_cls`.

    Raises:
        EngineStartError: this vLLM was not tested.
    """
    check_version(host.version())
    if (own := features.diffusion_class(vllm_config)) is not None:
        logger.warning("relQueries are not told apart: diffusion models keep vLLM's own scheduler")
        scheduler: Scheduler = own(vllm_config=vllm_config, **kwargs)
        return scheduler
    batches.install()
    cls: Any = AsyncRelQueryScheduler if host.plans_ahead(vllm_config) else RelQueryScheduler
    if read(vllm_config.additional_config).cache != "kv":
        from relserve.vllm_plugin.cache.scheduling import with_kinds

        cls = with_kinds(cls)
    scheduler = cls(vllm_config=vllm_config, **kwargs)
    return scheduler


def identity_of(request: HostRequest, max_model_len: int, read: TagReader) -> RelTag:
    """The relQuery of a vLLM request.

    Args:
        max_model_len: tokens of prompt and output together, whatever the request's client allows.
        read: reads the tag that it carries.
    """
    params = request.sampling_params
    if params is None:  # a pooling request
        return identify(request.request_id, None, 1)
    room = max(max_model_len - request.num_prompt_tokens, 1)
    return identify(request.request_id, params.extra_args, min(params.max_tokens or 1, room), read)
