"""The engine that is measured, in this process; started by `relserve.calibration.run`.

Reads one JSON object from stdin, {"path", "engine_args", "seconds", "cache"}, and answers with lines of JSON
on stdout: {"ready": limits, "forbids_hidden": [..]}, {"measured": steps so far}, and at the end
{"samples": [..], "path": ..}. With the cache "kv" these are samples of all kinds of steps, and the file of a
cost model; with "hybrid", decodes with the tokens that they read by type, and the file of what those cost.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TextIO

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

from relserve.calibration.points import (
    CONTEXT,
    NUM_DECODES,
    Point,
    TokenPoint,
    points,
    prompt_lengths,
    token_points,
)
from relserve.engines.local import cpu, start
from relserve.engines.local.gguf_folder import convert
from relserve.errors import EngineStartError
from relserve.machine.cost_file import cost_path
from relserve.machine.token_costs import token_costs_path
from relserve.policies.model.cache_costs import CacheCosts, MeasuredCosts
from relserve.policies.model.linear import CostModel
from relserve.policies.model.online import OnlineCost
from relserve.policies.model.work import MeasuredStep, Work
from relserve.vllm_plugin import engines, host
from relserve.vllm_plugin.cache.scheduling_types import CACHE_ARGUMENT
from relserve.vllm_plugin.cache.what_forbids import what_forbids_hidden
from relserve.vllm_plugin.collector import resting

MAX_ROUNDS = 8
NO_ARGS: Mapping[str, str] = MappingProxyType({})
VARIANT = "fcfs"  # steps of both kinds may be mixed, no row is held back


class SampleRecorder(OnlineCost):
    """Stands where the scheduler keeps its cost model: keeps every step's sample, and learns nothing."""

    def __init__(self, start: CostModel) -> None:
        super().__init__(start)
        self.samples: list[MeasuredStep] = []

    def add(self, work: Work, seconds: float) -> None:
        """Keep it."""
        self.samples.append(MeasuredStep(work, seconds))


class TokenRecorder(MeasuredCosts):
    """Stands where the scheduler learns what tokens in memory cost: keeps every step's sample."""

    def __init__(self, first: CacheCosts) -> None:
        super().__init__(first)
        self.samples: list[MeasuredStep] = []

    def add(self, work: Work, seconds: float) -> None:
        """Keep it."""
        self.samples.append(MeasuredStep(work, seconds))


class MeasuredEngine:
    """An LLMEngine, fed with prompts of random tokens, that are in no prefix cache."""

    def __init__(self, path: str, engine_args: dict[str, Any], cache: str = "kv") -> None:
        self.engine = build(path, engine_args, cache)
        scheduler = self._scheduler = engines.scheduler_in(self.engine)
        if scheduler.steering is None:
            raise EngineStartError("these engine arguments leave the order of requests to vLLM (see its log)")
        planner = scheduler.steering.planner
        self.recorder = planner.driver.cost = SampleRecorder(planner.driver.cost.model)
        config = self.engine.vllm_config
        self.model: str = config.model_config.model
        self.max_model_len: int = config.model_config.max_model_len
        limits = planner.limits
        self.max_seqs = max(1, min(limits.max_num_seqs, limits.kv_tokens // (2 * CONTEXT)))
        self.max_tokens = min(limits.max_num_batched_tokens, limits.kv_tokens // 2)
        self.kv_tokens = limits.kv_tokens
        self.forbids_hidden = [] if scheduler.types.is_free else what_forbids_hidden(config)
        self._vocabulary: int = config.model_config.get_vocab_size()
        self._random, self._number = random.Random(0), 0

    def measure(self, point: Point) -> None:
        """Run the steps of a point; the recorder has their samples."""
        if not point.num_decodes:
            self._add(point.prefill_tokens, self.max_seqs, 1)
        else:
            # Few enough that the last rows start before the first end.
            in_two_steps = 2 * self.max_tokens // point.num_decodes
            context = max(1, min(CONTEXT, self.max_model_len // 2, in_two_steps))
            for _ in range(point.num_decodes):
                self._add(context, 1, min(NUM_DECODES + 1, self.max_model_len - context))
            # Until every row decodes; the steps on the way are samples as well.
            while any(
                request.is_prefill_chunk or not request.num_output_tokens for request in self._requests()
            ):
                self.engine.step()
            if point.prefill_tokens:
                self._add(point.prefill_tokens, self.max_seqs - point.num_decodes, 1)
        while self.engine.has_unfinished_requests():
            self.engine.step()
        self._scheduler.learner.flush()

    def measure_tokens(self, points: list[TokenPoint]) -> Iterator[list[MeasuredStep]]:
        """Run the decodes of each point; gives its samples."""
        planner = self._scheduler.steering.planner
        for point in points:
            planner.costs = recorder = TokenRecorder(planner.costs.model)
            for _ in range(point.num_rows):
                self._add(point.num_tokens, 1, NUM_DECODES + 1, {CACHE_ARGUMENT: point.cache})
            while self.engine.has_unfinished_requests():
                self.engine.step()
            self._scheduler.learner.flush()
            yield recorder.samples

    def close(self) -> None:
        """Leave nothing for `relserve top`."""
        self._scheduler.shutdown()

    def _requests(self) -> list[Any]:
        return list(self._scheduler.requests.values())

    def _add(self, tokens: int, max_rows: int, num_output: int, args: Mapping[str, str] = NO_ARGS) -> None:
        params = host.sampling_params(
            max_tokens=num_output, temperature=0, ignore_eos=True, detokenize=False, extra_args=dict(args)
        )
        for length in prompt_lengths(tokens, max_rows, self.max_model_len - num_output):
            prompt = [self._random.randrange(self._vocabulary) for _ in range(length)]
            self._number += 1
            self.engine.add_request(f"calibrate-{self._number}", {"prompt_token_ids": prompt}, params)
        self._scheduler.clock.rested()  # making prompts is no part of a step


def build(path: str, engine_args: dict[str, Any], cache: str) -> Any:
    """The engine as LocalEngine would start it, but in this process, and with a policy to time its steps.

    Its arguments are taken from there: a copy of them would measure something else one day.
    """
    start.set_environment(start.ENVIRONMENT)
    convert(path)
    start.allow_hub(not os.path.isdir(path))
    arguments = start.arguments_of(path, engine_args)
    ours = {"relserve": {"variant": VARIANT, "cache": cache}}
    arguments |= dict(scheduler_cls=start.SCHEDULER, additional_config=ours)
    variables = start.variables_of(path, arguments)
    start.set_environment(variables)
    if cpu.THREADS in variables:
        import torch  # it came with vLLM and read the variable then, which was too early

        torch.set_num_threads(int(variables[cpu.THREADS]))
    return engines.engine_in_this_process(arguments)


def measure(bench: MeasuredEngine, seconds: float, out: TextIO) -> list[MeasuredStep]:
    """Rounds over all points until time is up; each round in another order, so that drift hits all alike."""
    todo = points(bench.max_tokens, bench.max_seqs)
    for point in todo[:6]:  # first steps are slower
        bench.measure(point)
    bench.recorder.samples.clear()
    deadline_s, parent = time.monotonic() + seconds, os.getppid()
    for _ in range(MAX_ROUNDS):
        for point in todo:
            if time.monotonic() > deadline_s or os.getppid() != parent:
                return bench.recorder.samples
            bench.measure(point)
            say(out, measured=len(bench.recorder.samples))
        random.Random(len(bench.recorder.samples)).shuffle(todo)
    return bench.recorder.samples


def measure_tokens(bench: MeasuredEngine, seconds: float, out: TextIO) -> list[MeasuredStep]:
    """The same of what tokens in memory cost."""
    limits = (bench.max_seqs, bench.max_model_len, bench.kv_tokens, NUM_DECODES + 1)
    todo, found = token_points(*limits), list[MeasuredStep]()
    for _ in bench.measure_tokens(todo[:2]):
        pass  # first steps are slower
    deadline_s, parent = time.monotonic() + seconds, os.getppid()
    for _ in range(MAX_ROUNDS):
        for samples in bench.measure_tokens(todo):
            found += samples
            say(out, measured=len(found))
            if time.monotonic() > deadline_s or os.getppid() != parent:
                return found
        random.Random(len(found)).shuffle(todo)
    return found


def say(out: TextIO, **message: Any) -> None:
    """One line to the parent."""
    out.write(json.dumps(message) + "\n")
    out.flush()


def main() -> None:
    """Measure what stdin asks for."""
    order = json.loads(sys.stdin.readline())
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM prints to stdout now and then
    with resting():
        bench = MeasuredEngine(order["path"], order["engine_args"], order["cache"])
    limits = dict(max_tokens=bench.max_tokens, max_seqs=bench.max_seqs)
    say(out, ready=limits, forbids_hidden=bench.forbids_hidden)
    if order["cache"] == "kv":
        say(out, samples=measure(bench, order["seconds"], out), path=str(cost_path(bench.model)))
    else:
        found = measure_tokens(bench, order["seconds"], out)
        say(out, samples=found, path=str(token_costs_path(bench.model)))
    bench.close()
    os._exit(0)  # vLLM's own end takes seconds


if __name__ == "__main__":
    main()
