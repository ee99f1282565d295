"""For tests and benchmarks: vLLM's real scheduler without a model.

A worker makes tokens up from their place in the text and checks in every step what a model runner relies on.
It runs on every vLLM release of the stated range.
"""

from __future__ import annotations

import inspect
import random
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import create_autospec

import torch
from vllm import EngineArgs, SamplingParams
from vllm.sampling_params import StructuredOutputsParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import StructuredOutputGrammar

from relserve.vllm_plugin.engines import inspect_models_here
from relserve.vllm_plugin.scheduler import make

BLOCK_SIZE, MAX_TOKENS_A_STEP, MAX_SEQS = 32, 256, 24
COMPILE_STEPS = 3  # for so long a row with a grammar is blocked

_config: Any = None


def config_of(model: str) -> Any:
    """vLLM's configuration for a model folder; made once, for making it takes seconds."""
    global _config
    if _config is None:
        args = EngineArgs(
            model=model, dtype="float32", max_model_len=1024, enforce_eager=True, max_num_seqs=MAX_SEQS,
            max_num_batched_tokens=MAX_TOKENS_A_STEP, block_size=BLOCK_SIZE,
        )  # fmt: skip
        inspect_models_here()
        _config = args.create_engine_config()
        init_none_hash(sha256)
    return _config


def scheduler_of(model: str, variant: str, is_async: bool, num_blocks: int, **settings: Any) -> Any:
    """A scheduler; "vllm" is vLLM's own class, untouched."""
    config = config_of(model)
    config.cache_config.num_gpu_blocks = num_blocks
    config.scheduler_config.async_scheduling = is_async
    config.additional_config = {"relserve": {"variant": variant, **settings}}
    spec = FullAttentionSpec(block_size=BLOCK_SIZE, num_kv_heads=4, head_size=64, dtype=torch.float32)
    kv_cache = KVCacheConfig(
        num_blocks=num_blocks, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)]
    )
    kwargs: dict[str, Any] = dict(
        vllm_config=config, kv_cache_config=kv_cache, block_size=BLOCK_SIZE, log_stats=True,
        structured_output_manager=StructuredOutputManager(config),
    )  # fmt: skip
    if "hash_block_size" in inspect.signature(Scheduler.__init__).parameters:
        kwargs["hash_block_size"] = BLOCK_SIZE
    if variant == "vllm":
        return (AsyncScheduler if is_async else Scheduler)(**kwargs)
    return make(**kwargs)


@dataclass
class MadeUpArrival:
    """A request of the workload: the step at which it comes, and what it asks."""

    step: int
    request_id: str
    prompt: list[int]
    num_output: int
    extra_args: dict[str, Any]
    has_grammar: bool = False

    def request(self) -> Any:
        params = SamplingParams(
            max_tokens=self.num_output, temperature=0, ignore_eos=True, extra_args=self.extra_args,
            structured_outputs=StructuredOutputsParams(choice=["any"]) if self.has_grammar else None,
        )  # fmt: skip
        has_eos = "eos_token_id" in inspect.signature(Request.__init__).parameters
        more: dict[str, Any] = {"eos_token_id": None} if has_eos else {}
        return Request(
            request_id=self.request_id, prompt_token_ids=self.prompt, sampling_params=params,
            pooling_params=None, block_hasher=get_request_block_hasher(BLOCK_SIZE, sha256), **more,
        )  # fmt: skip

    def expected(self) -> list[int]:
        return [token_at(self.request_id, len(self.prompt) + i) for i in range(self.num_output)]


def token_at(request_id: str, position: int) -> int:
    """The token that the made-up model says at a position."""
    return 10 + hash((request_id, position)) % 900


def workload(seed: int, num_rels: int = 14, max_rows: int = 14) -> list[MadeUpArrival]:
    """relQueries of unequal size with shared prefixes, one every few steps; every second has a grammar."""
    rng = random.Random(seed)
    templates = [[rng.randrange(1000) for _ in range(70)] for _ in range(4)]
    arrivals = []
    for number in range(num_rels):
        rows, cap, template = rng.randint(1, max_rows), rng.choice([1, 5, 20, 50]), rng.choice(templates)
        identity = {"rel_id": f"q{number}", "rel_rows": rows, "rel_ol": cap}
        for row in range(rows):
            prompt = template + [rng.randrange(1000) for _ in range(rng.choice([5, 60, 300]))]
            arrivals.append(
                MadeUpArrival(
                    number * 6, f"q{number}-{row}", prompt, rng.randint(1, cap), identity, number % 2 == 1
                )
            )  # fmt: skip
    return arrivals


@dataclass
class WorkerRun:
    """What a run gave."""

    tokens: dict[str, list[int]] = field(default_factory=dict)
    aborted: set[str] = field(default_factory=set)
    num_steps: int = 0
    leaked_blocks: int = 0
    finished_order: list[str] = field(default_factory=list)


class MadeUpWorker:
    """Stands in for the model runner: follows each request's tokens and blocks as a runner would."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Any]] = {}

    def execute(self, output: Any) -> Any:
        for request_id in output.finished_req_ids:
            self._rows.pop(request_id, None)
        for new in output.scheduled_new_reqs:
            known = getattr(new, "prefill_token_ids", None) or new.prompt_token_ids
            self._rows[new.req_id] = dict(
                computed=new.num_computed_tokens, prompt=len(new.prompt_token_ids), known=len(known),
                blocks=[list(b) for b in new.block_ids],
            )  # fmt: skip
        cached = output.scheduled_cached_reqs
        for i, request_id in enumerate(cached.req_ids):
            row, blocks = self._rows[request_id], cached.new_block_ids[i]
            row["computed"] = cached.num_computed_tokens[i]
            row["known"] = row["prompt"] + cached.num_output_tokens[i]
            if request_id in cached.resumed_req_ids:
                row["blocks"] = [list(b) for b in blocks]
            elif blocks:
                for have, new_ones in zip(row["blocks"], blocks, strict=True):
                    have.extend(new_ones)
        return self._sample(output)

    def check_blocks(self, blocks: list[int], start: int, end: int) -> None:
        """Hold a row's blocks against its tokens, of which those from `start` are computed in this step."""
        assert len(blocks) * BLOCK_SIZE >= end, "tokens without blocks"

    def _sample(self, output: Any) -> Any:
        sampled, index = [], {}
        for i, (request_id, count) in enumerate(output.num_scheduled_tokens.items()):
            row = self._rows[request_id]
            end = row["computed"] + count
            index[request_id] = i
            self.check_blocks(row["blocks"][0], row["computed"], end)
            assert end <= row["known"], "tokens that nobody knows yet"
            sampled.append([token_at(request_id, end)] if end == row["known"] else [])
        return ModelRunnerOutput(
            req_ids=list(index), req_id_to_index=index, sampled_token_ids=sampled, logprobs=None,
            prompt_logprobs_dict={}, pooler_output=[],
        )  # fmt: skip


class Compiler:
    """Stands in for the threads that compile grammars: each takes COMPILE_STEPS and accepts every token."""

    def __init__(self) -> None:
        self._grammar = create_autospec(StructuredOutputGrammar, instance=True)
        self._grammar.accept_tokens.return_value = True
        self._grammar.is_terminated.return_value = False
        self._busy: deque[tuple[int, Future[Any]]] = deque()

    def take(self, request: Any, step: int) -> None:
        if request.structured_output_request is not None:
            future: Future[Any] = Future()
            request.structured_output_request.grammar = future
            self._busy.append((step + COMPILE_STEPS, future))

    def work(self, step: int) -> None:
        while self._busy and self._busy[0][0] <= step:
            self._busy.popleft()[1].set_result(self._grammar)


def run(scheduler: Any, arrivals: list[MadeUpArrival], is_async: bool, abort_every: int = 0) -> WorkerRun:
    """Serve a workload; with asynchronous scheduling a step is planned while the one before runs."""
    pending, worker, compiler, ran = deque(arrivals), MadeUpWorker(), Compiler(), WorkerRun()
    rng = random.Random(1)
    in_flight: deque[tuple[Any, Any]] = deque()
    while pending or scheduler.has_unfinished_requests() or in_flight:
        while pending and pending[0].step <= ran.num_steps:
            request = pending.popleft().request()
            compiler.take(request, ran.num_steps)
            scheduler.add_request(request)
        compiler.work(ran.num_steps)
        ran.num_steps += 1
        assert ran.num_steps < 20_000, "the scheduler stalls"
        if abort_every and ran.num_steps % abort_every == 0 and scheduler.requests:
            rel = rng.choice(sorted(scheduler.requests)).split("-")[0]
            ids = [r for r in scheduler.requests if r.startswith(rel + "-")]
            scheduler.finish_requests(ids, RequestStatus.FINISHED_ABORTED)
            ran.aborted |= set(ids)
        if scheduler.has_requests():
            output = scheduler.schedule()
            assert output.total_num_scheduled_tokens <= MAX_TOKENS_A_STEP
            assert len(scheduler.running) <= MAX_SEQS
            in_flight.appendleft((output, worker.execute(output)))
            if is_async and len(in_flight) < 2 and output.total_num_scheduled_tokens:
                continue
        if in_flight:
            deliver(scheduler, *in_flight.pop(), ran)
    if (learner := getattr(scheduler, "learner", None)) is not None:
        learner.flush()
    pool = scheduler.kv_cache_manager.block_pool
    ran.leaked_blocks = pool.num_gpu_blocks - 1 - pool.get_num_free_blocks()
    return ran


def deliver(scheduler: Any, output: Any, result: Any, ran: WorkerRun) -> None:
    for of_client in scheduler.update_from_output(output, result).values():
        for out in of_client.outputs:
            ran.tokens.setdefault(out.request_id, []).extend(out.new_token_ids)
            if out.finish_reason is not None:
                ran.finished_order.append(out.request_id)
