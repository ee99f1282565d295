"""Every step that an engine of `relquery_latency` made, by relserve's scheduler or by vLLM's own."""

from __future__ import annotations

from typing import Any

from relserve.policies.model.linear import CostModel
from relserve.policies.model.online import OnlineCost
from relserve.policies.model.work import MeasuredStep, Work
from relserve.vllm_plugin.step_clock import StepClock


class Logged(OnlineCost):
    """The scheduler's cost model, which also keeps every step of a trace."""

    def __init__(self, start: CostModel) -> None:
        super().__init__(start)
        self.log: list[MeasuredStep] = []

    def add(self, work: Work, seconds: float) -> None:
        """Learn it, and keep it."""
        super().add(work, seconds)
        self.log.append(MeasuredStep(work, seconds))


class StockSteps:
    """Keeps every step of a stock scheduler, as `Logged` keeps ours."""

    def __init__(self, scheduler: Any) -> None:
        self.log: list[MeasuredStep] = []
        clock = StepClock()
        add, schedule, update = scheduler.add_request, scheduler.schedule, scheduler.update_from_output

        def add_request(request: Any) -> None:
            if not scheduler.requests:
                clock.rested()
            add(request)

        def scheduled(*args: Any) -> Any:
            output = schedule(*args)
            if output.total_num_scheduled_tokens:
                clock.scheduled(output, scheduler.requests)
            return output

        def update_from_output(output: Any, *args: Any) -> Any:
            done = update(output, *args)
            if (measured := clock.done(output)) is not None:
                self.log.append(measured)
            return done

        scheduler.add_request, scheduler.schedule = add_request, scheduled
        scheduler.update_from_output = update_from_output
