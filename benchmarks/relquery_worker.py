"""One engine of `relquery_latency`: a real vLLM in this process, told by JSON lines which trace to serve.

Commands on stdin: {"trace": FILE} serves a pickled trace from an empty prefix cache and answers with one line
of results; {"quit": 1} ends. A relQuery's rows are added when it arrives.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import sys
import time
from typing import Any

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from relserve.call.relquery import RowTimes, phases_of
from relserve.policies.cost import CostModel, OnlineCost, StepSample
from relserve.simulator.workload import RelSpec
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.host import step_features

BLOCK_SIZE = 32


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
        add, schedule, update = scheduler.add_request, scheduler.schedule, scheduler.update_from_output

        def add_request(request: Any) -> None:
            if not scheduler.requests:
                self.busy_since_s = time.perf_counter()
            add(request)

        def scheduled(*args: Any) -> Any:
            output = schedule(*args)
            if output.total_num_scheduled_tokens:
                self._step = step_features(output, scheduler.requests)
            return output

        def update_from_output(output: Any, *args: Any) -> Any:
            done, now_s = update(output, *args), time.perf_counter()
            if output.total_num_scheduled_tokens:
                self.log.append(StepSample.of(self._step, now_s - self.busy_since_s))
            self.busy_since_s = now_s
            return done

        scheduler.add_request, scheduler.schedule = add_request, scheduled
        scheduler.update_from_output = update_from_output


def build(variant: str, max_num_seqs: int, max_tokens: int, kv_tokens: int, more: dict[str, Any]) -> Any:
    """An LLMEngine; "vllm" is stock FCFS, "vllm priority" stock with --scheduling-policy priority."""
    from vllm import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine
    from vllm.v1.executor.uniproc_executor import UniProcExecutor

    kwargs: dict[str, Any] = dict(
        model=str(MODEL_DIR), enforce_eager=True, block_size=BLOCK_SIZE,
        max_num_seqs=max_num_seqs, max_num_batched_tokens=max_tokens, max_model_len=1024,
        num_gpu_blocks_override=kv_tokens // BLOCK_SIZE, distributed_executor_backend=UniProcExecutor,
    )  # fmt: skip
    if variant == "vllm priority":
        kwargs["scheduling_policy"] = "priority"
    elif variant != "vllm":
        kwargs["scheduler_cls"] = "relserve.vllm_plugin.scheduler.make"
        kwargs["additional_config"] = {"relserve": {"variant": variant, **more}}
    return LLMEngine.from_engine_args(EngineArgs(**kwargs))


def serve(engine: Any, trace: list[RelSpec], variant: str) -> dict[str, Any]:
    """Replay a trace; gives every relQuery's latency and phases, and a hash of all tokens."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    pending = sorted(trace, key=lambda r: r.arrival_s, reverse=True)
    left: dict[str, int] = {}
    times: dict[str, list[RowTimes]] = {}
    done: dict[str, float] = {}
    tokens: dict[str, list[int]] = {}
    arriving_s = 0.0
    start_s = time.perf_counter()
    while pending or left:
        now = time.perf_counter() - start_s
        while pending and pending[-1].arrival_s <= now:
            began_s = time.perf_counter()
            rel = pending.pop()
            left[rel.rel_id], times[rel.rel_id] = len(rel.rows), []
            extra = {"rel_id": rel.rel_id, "rel_rows": len(rel.rows), "rel_ol": rel.output_cap}
            total = sum(len(row.prompt) + rel.output_cap for row in rel.rows)
            for i, row in enumerate(rel.rows):
                params = SamplingParams(
                    max_tokens=row.output_tokens, temperature=0, ignore_eos=True, detokenize=False,
                    output_kind=RequestOutputKind.FINAL_ONLY, extra_args=extra,
                )  # fmt: skip
                engine.add_request(
                    f"{rel.rel_id}-{i}", {"prompt_token_ids": list(row.prompt)}, params,
                    priority=total if variant == "vllm priority" else 0,
                )  # fmt: skip
            arriving_s += time.perf_counter() - began_s
        if not left:
            time.sleep(min(0.005, max(0.0, pending[-1].arrival_s - now)))
            continue
        for output in engine.step():
            if not output.finished:
                continue
            rel_id = output.request_id.rsplit("-", 1)[0]
            tokens[output.request_id] = list(output.outputs[0].token_ids)
            m = output.metrics
            times[rel_id].append(
                RowTimes(m.queued_ts, m.scheduled_ts, m.first_token_ts, m.last_token_ts, m.num_preemptions)
            )
            left[rel_id] -= 1
            if not left[rel_id]:
                del left[rel_id]
                done[rel_id] = time.perf_counter() - start_s
    arrival_s_a_row = arriving_s / sum(len(rel.rows) for rel in trace)
    return summary(trace, done, times, tokens) | {"arrival_s_a_row": arrival_s_a_row}


def summary(
    trace: list[RelSpec],
    done: dict[str, float],
    times: dict[str, list[RowTimes]],
    tokens: dict[str, list[int]],
) -> dict[str, Any]:
    """One run's results as JSON can hold them."""
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
    parser.add_argument("--max-num-seqs", type=int, default=64)
    parser.add_argument("--max-tokens", type=int, default=1024)
    parser.add_argument("--kv-tokens", type=int, default=12_000)
    parser.add_argument("--settings", default="{}", help="further settings of the scheduler, as JSON")
    args = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM prints to stdout now and then; our lines keep it to themselves
    engine = build(
        args.variant, args.max_num_seqs, args.max_tokens, args.kv_tokens, json.loads(args.settings)
    )
    scheduler = engine.engine_core.engine_core.scheduler
    steering = getattr(scheduler, "steering", None)
    steps: Logged | StockSteps
    if steering:
        steps = steering.cost = Logged(steering.cost.model)
    else:
        steps = StockSteps(scheduler)
    out.write(json.dumps({"ready": True}) + "\n")
    out.flush()
    for line in sys.stdin:
        command = json.loads(line)
        if "quit" in command:
            break
        with open(command["trace"], "rb") as file:
            trace = pickle.load(file)
        engine.reset_prefix_cache()
        before = steering.policy_s if steering else 0.0
        steps.log = []
        result = serve(engine, trace, args.variant)
        result["steps"] = steps.log
        result["policy_s"] = steering.policy_s - before if steering else 0.0
        pool = scheduler.kv_cache_manager.block_pool
        result["leaked_blocks"] = pool.num_gpu_blocks - 1 - pool.get_num_free_blocks()
        out.write(json.dumps(result) + "\n")
        out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
