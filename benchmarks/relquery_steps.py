"""Every step that an engine of `relquery_latency` made, by relserve's scheduler or by vLLM's own."""

from __future__ import annotations

import time
from typing import Any

from relserve.policies.cost import CostModel, OnlineCost, StepFeatures, StepSample
from relserve.vllm_plugin.step_features import step_features


class Logged(OnlineCost):
    """The scheduler's cost model, which also keeps every step of a trace."""

    def __init__(self, start: CostModel) -> None:
        super().__init__(start)
        self.log: list[StepSample] = []

    def add(self, sample: StepSample) -> None:
        """Learn it, and keep it."""
        super().add(sample)
        self.log.append(sample)


class StockSteps:
    """Keeps every step of a stock scheduler as `Steering` keeps ours."""

    def __init__(self, scheduler: Any) -> None:
        self.log: list[StepSample] = []
        self.busy_since_s = 0.0
        in_flight: dict[int, StepFeatures] = {}
        add, schedule, update = scheduler.add_request, scheduler.schedule, scheduler.update_from_output

        def add_request(request: Any) -> None:
            if not scheduler.requests:
                self.busy_since_s = time.perf_counter()
            add(request)

        def scheduled(*args: Any) -> Any:
            output = schedule(*args)
            if output.total_num_scheduled_tokens:
                in_flight[id(output)] = step_features(output, scheduler.requests)
            return output

        def update_from_output(output: Any, *args: Any) -> Any:
            done, now_s = update(output, *args), time.perf_counter()
            if output.total_num_scheduled_tokens:
                self.log.append(StepSample(*in_flight.pop(id(output)), now_s - self.busy_since_s))
            self.busy_since_s = now_s
            return done

        scheduler.add_request, scheduler.schedule = add_request, scheduled
        scheduler.update_from_output = update_from_output
