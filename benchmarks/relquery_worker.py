"""One engine of `relquery_latency`: a real vLLM in this process, told by JSON lines which trace to serve.

Commands on stdin: {"trace": FILE} serves a pickled trace from an empty prefix cache and answers with one line
of results; with "forget" all that was learnt of output lengths is forgotten before; {"quit": 1} ends. A
relQuery's rows are added when it arrives. With "tokens" the answer has the time of every token too; "slo_s"
are the limits, for the first token and between two, that each request brings with it; after "until_s" nothing
comes that waits for another's end; "cost" is what steps count as by the charged clock. "budget" names the
policy that bounds the trace's steps, of which the answer tells, too; it knows nothing when the trace begins.

A row's max_tokens is the cap that its relQuery declares. No scheduler is told more: that a row ends at its
true length is decided behind them, where vLLM looks for the end of a text (see `relquery_hooks`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import pickle
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from benchmarks.clocks import CLOCKS, ChargedClock, Clock, lead
from benchmarks.deadlines.workflows import DeadlineStepSpec
from benchmarks.relquery_engines import BLOCK_SIZE, MAX_MODEL_LEN
from benchmarks.relquery_hooks import TRUE_TOKENS, SchedulerWatch, end_at_true_lengths, plan_ahead_on_cpu
from benchmarks.relquery_steps import Logged, StockSteps
from benchmarks.slo.step_times import LinearStepTimes
from lab.simulator.workload import RelSpec
from relserve.call.phases import phases_of
from relserve.call.rel_tag import RelTag
from relserve.call.relquery import RowTimes
from relserve.engines.local.cpu import WORKER, cpu_dtype
from relserve.policies.budget.variants import make as make_budget
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.linear import CostModel
from relserve.policies.model.step_time import StepTime
from relserve.policies.model.work import MeasuredStep
from relserve.policies.scheduling.workflow_steps import WorkflowSteps
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin import scheduler as schedulers
from relserve.vllm_plugin.step_work import work_of


def build(args: argparse.Namespace) -> Any:
    """An LLMEngine; "vllm" is stock FCFS, "vllm priority" stock with --scheduling-policy priority."""
    from vllm import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine
    from vllm.v1.executor.uniproc_executor import UniProcExecutor

    end_at_true_lengths()
    if args.async_scheduling:
        plan_ahead_on_cpu()
    kwargs: dict[str, Any] = dict(
        model=args.model, dtype=cpu_dtype(args.model), enforce_eager=True, block_size=BLOCK_SIZE,
        max_num_seqs=args.max_num_seqs, max_num_batched_tokens=args.max_tokens,
        max_model_len=args.max_model_len,
        num_gpu_blocks_override=args.kv_tokens // BLOCK_SIZE, distributed_executor_backend=UniProcExecutor,
        kv_cache_dtype=args.kv_dtype,
    )  # fmt: skip
    if args.local_worker:
        kwargs["worker_cls"] = WORKER
    if args.variant == "vllm priority":
        kwargs["scheduling_policy"] = "priority"
    elif args.variant != "vllm":
        kwargs["scheduler_cls"] = "relserve.vllm_plugin.scheduler.make"
        settings = {"variant": args.variant, **json.loads(args.settings)}
        kwargs["additional_config"] = {"relserve": settings}
    return LLMEngine.from_engine_args(EngineArgs(**kwargs))


def serve(
    engine: Any,
    trace: list[RelSpec],
    variant: str,
    clock: Clock,
    slo_s: Sequence[float] = (),
    until_s: float = math.inf,
) -> dict[str, Any]:
    """Replay a trace; gives every relQuery's latency and phases, and a hash of all tokens.

    Args:
        until_s: after which nothing comes any more that waits for another's end.
    """
    first, next_of = chained(trace)
    pending = sorted(first, key=lambda r: r.arrival_s, reverse=True)
    left: dict[str, int] = {}
    times: dict[str, list[RowTimes]] = {}
    done: dict[str, float] = {}
    tokens: dict[str, list[int]] = {}
    slos = dict(zip(("rel_ttft_slo_s", "rel_tpot_slo_s"), slo_s, strict=False))
    arriving_s = 0.0
    start_s = clock.now()
    while pending or left:
        now = clock.now() - start_s
        while pending and pending[-1].arrival_s <= now:
            began_s = time.perf_counter()
            rel = pending.pop()
            left[rel.rel_id], times[rel.rel_id] = len(rel.rows), []
            tag = tag_of(rel, start_s - clock.now()).args() if rel.is_named else {}
            add_rows(engine, rel, {**tag, **slos}, variant == "vllm priority")
            arriving_s += time.perf_counter() - began_s
        if not left:
            clock.wait(start_s + pending[-1].arrival_s)
            continue
        for output in engine.step():
            if not output.finished:
                continue
            rel_id = output.request_id.rsplit("-", 1)[0]
            tokens[output.request_id] = list(output.outputs[0].token_ids)
            m = output.metrics
            times[rel_id].append(
                RowTimes(
                    m.queued_ts,
                    m.scheduled_ts,
                    m.first_token_ts,
                    m.last_token_ts,
                    getattr(m, "num_preemptions", 0),  # not every release counts them
                )
            )
            left[rel_id] -= 1
            if not left[rel_id]:
                del left[rel_id]
                done[rel_id] = clock.now() - start_s
                if done[rel_id] < until_s:
                    pending += next_of.get(rel_id, [])  # in the past, so they come next
    trace = [rel for rel in trace if rel.rel_id in done]
    arrival_s_a_row = arriving_s / sum(len(rel.rows) for rel in trace)
    return summary(trace, done, times, tokens) | {"arrival_s_a_row": arrival_s_a_row, "start_s": start_s}


def add_rows(engine: Any, rel: RelSpec, args: Mapping[str, Any], by_size: bool) -> None:
    """Ask a relQuery's rows.

    Args:
        args: that each brings with it.
        by_size: whether smaller relQueries have priority.
    """
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    total = sum(len(row.prompt) + rel.output_cap for row in rel.rows)
    for i, row in enumerate(rel.rows):
        params = SamplingParams(
            max_tokens=rel.output_cap, temperature=0, ignore_eos=True, detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY, extra_args={**args, TRUE_TOKENS: row.output_tokens},
        )  # fmt: skip
        engine.add_request(
            f"{rel.rel_id}-{i}", {"prompt_token_ids": list(row.prompt)}, params,
            priority=total if by_size else 0,
        )  # fmt: skip


def chained(trace: Sequence[RelSpec]) -> tuple[list[RelSpec], dict[str, list[RelSpec]]]:
    """The relQueries that come by themselves, and those that come when another has ended, by its id."""
    first: list[RelSpec] = []
    next_of: dict[str, list[RelSpec]] = {}
    for rel in trace:
        if isinstance(rel, DeadlineStepSpec) and rel.before:
            next_of.setdefault(rel.before, []).append(rel)
        else:
            first.append(rel)
    return first, next_of


def tag_of(rel: RelSpec, start_s: float) -> RelTag:
    """What a scheduler is told of a relQuery.

    Args:
        start_s: of the trace, in seconds from now.
    """
    tag = RelTag(rel.rel_id, len(rel.rows), rel.output_cap, kind=rel.kind)
    if not isinstance(rel, DeadlineStepSpec):
        return tag
    tag = tag._replace(workflow_id=rel.workflow_id, stage=rel.stage)
    if rel.slo_s is None:
        return tag
    return tag._replace(deadline_s=schedulers.time.time() + start_s + rel.arrival_s + rel.slo_s)


def summary(
    trace: list[RelSpec],
    done: dict[str, float],
    times: dict[str, list[RowTimes]],
    tokens: dict[str, list[int]],
) -> dict[str, Any]:
    """One run's results as JSON can hold them."""
    for rel in trace:
        for i, row in enumerate(rel.rows):
            if len(tokens[f"{rel.rel_id}-{i}"]) != row.output_tokens:
                raise RuntimeError(f"row {i} of {rel.rel_id} did not end at its {row.output_tokens} tokens")
    rels = {}
    for rel in trace:
        phases = phases_of(times[rel.rel_id])
        assert phases is not None
        rels[rel.rel_id] = [len(rel.rows), done[rel.rel_id] - rel.arrival_s, *phases]
    text = json.dumps(sorted(tokens.items()))
    return {
        "rels": rels, "makespan_s": max(done.values()), "sha": hashlib.sha256(text.encode()).hexdigest()[:16],
        "preemptions": sum(t.preemptions for rows in times.values() for t in rows),
    }  # fmt: skip


def main() -> None:
    """Serve traces until told to quit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variant", required=True)
    parser.add_argument("--model", default=str(MODEL_DIR), help="folder of the model")
    parser.add_argument("--async-scheduling", action="store_true")
    parser.add_argument("--max-num-seqs", type=int, default=64)
    parser.add_argument("--max-tokens", type=int, default=1024)
    parser.add_argument("--kv-tokens", type=int, default=12_000)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--max-model-len", type=int, default=MAX_MODEL_LEN)
    parser.add_argument("--kv-dtype", default="auto", help="of the KV cache, as vLLM names it")
    parser.add_argument("--local-worker", action="store_true", help="relserve's worker for CPUs")
    parser.add_argument("--settings", default="{}", help="further settings of the scheduler, as JSON")
    args = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM prints to stdout now and then; our lines keep it to themselves
    engine = build(args)
    scheduler = engine.engine_core.engine_core.scheduler
    is_async = scheduler.scheduler_config.async_scheduling
    out.write(json.dumps({"ready": True, "async_scheduling": is_async}) + "\n")
    out.flush()
    clock = CLOCKS[args.clock]()
    served = ServedEngine(engine, scheduler, args.variant, clock)
    for line in sys.stdin:
        command = json.loads(line)
        if "quit" in command:
            break
        if command.get("forget"):
            served.forget()
        if isinstance(clock, ChargedClock):
            clock.cost = costs_of(command.get("cost"))
            clock.samples = []
        with open(command["trace"], "rb") as file:
            out.write(json.dumps(served.serve(pickle.load(file), command)) + "\n")
        out.flush()
    os._exit(0)


def costs_of(told: Mapping[str, Any] | None) -> StepTime | None:
    """What steps count as by the charged clock; None: as what they take."""
    if told is None:
        return None
    return LinearStepTimes(**told) if "of_work" in told else CostModel(**told)


def _rows(steps: Sequence[MeasuredStep]) -> list[list[float]]:
    return [[work.prefill_tokens, work.num_decodes, seconds] for work, seconds in steps]


class ServedEngine:
    """An engine, and what is measured of its scheduler from trace to trace."""

    def __init__(self, engine: Any, scheduler: Any, variant: str, clock: Clock) -> None:
        self.engine, self.scheduler, self.variant, self.clock = engine, scheduler, variant, clock
        self.steering = getattr(scheduler, "steering", None)
        planner = None if self.steering is None else self.steering.planner
        self.driver = getattr(planner, "driver", None)  # a caching policy has none
        self.watch = SchedulerWatch(scheduler, clock)
        lead("relserve.vllm_plugin", clock)
        if isinstance(clock, ChargedClock):
            executor = engine.engine_core.engine_core.model_executor
            clock.charge(executor, lambda output: work_of(output, scheduler.requests))
        self.steps: Logged | StockSteps
        if self.driver is not None:
            self.steps = self.driver.cost = Logged(self.driver.cost.model)
        else:
            self.steps = StockSteps(scheduler)

    def forget(self) -> None:
        """Know nothing of output lengths, and of what comes after a workflow's steps."""
        if self.driver is not None:
            self.driver.lengths = LengthLearner()
            policy = self.driver.policy
            for each in (policy.due, policy.priority):
                if hasattr(each, "steps"):
                    each.steps = WorkflowSteps()
        elif self.steering is not None:
            self.steering.lengths.learner = LengthLearner()
            self.scheduler.ledger.lengths_of = self.steering.lengths.learner.of

    def serve(self, trace: list[RelSpec], command: Mapping[str, Any]) -> dict[str, Any]:
        """Replay a trace from an empty prefix cache, as a command says."""
        self.engine.reset_prefix_cache()
        if command.get("budget"):
            self.scheduler.budgets.use(make_budget(command["budget"]))
        before = self.steering.policy_s if self.steering else 0.0
        self.steps.log = []
        self.watch.begin()
        cpu_s = time.process_time()
        limits_s, until_s = command.get("slo_s") or (), command.get("until_s") or math.inf
        result = serve(self.engine, trace, self.variant, self.clock, limits_s, until_s)
        result["cpu_s"] = time.process_time() - cpu_s
        if self.steering is not None:
            self.scheduler.learner.flush()
        result["steps"] = _rows(self.steps.log)
        result["cost"] = None if self.steering is None else self.steering.report().get("cost")
        result["policy_s"] = self.steering.policy_s - before if self.steering else 0.0
        result |= {"leaked_blocks": self.watch.num_used, "at_once": self.watch.at_once}
        result["most_blocks"] = self.watch.most_blocks
        if isinstance(self.clock, ChargedClock):
            result["steps"] = _rows(self.clock.samples)
            result["works"] = [[*work.row, seconds] for work, seconds in self.clock.samples]
        if command.get("budget"):
            result["budget"] = told_of(self.scheduler.budgets)
        if command.get("tokens"):
            result["token_s"] = self.watch.token_s(result["start_s"])
        return result


def told_of(budgets: Any) -> dict[str, Any]:
    """What a trace's budgets were like: decisions' seconds, and how well steps were foretold."""
    model = budgets.policy.model
    known = None if model is None else {"r2": model.r2(2048), "error": model.error(2048)}
    return {"decisions_s": list(budgets.decisions_s), "decisions": budgets.num_decisions, "model": known}


if __name__ == "__main__":
    main()
