"""The seam to vLLM: every attribute of it that relserve touches, but for those of `features.py`,
`engines.py`, `batches.py` and `openai_app.py`.

It is imported when first asked for. What differs between releases (see `version.py`) is dealt with here.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.executor.uniproc_executor import UniProcExecutor
    from vllm.v1.metrics.loggers import PrometheusStatLogger
    from vllm.v1.outputs import LogprobsTensors
    from vllm.v1.sample import sampler
    from vllm.v1.structured_output.backend_guidance import GuidanceBackend
    from vllm.v1.worker.cpu_worker import CPUWorker

    RequestQueue = object  # ours are queues of our own Request below

__all__ = [
    "AsyncScheduler", "CPUWorker", "GuidanceBackend", "LogprobsTensors", "PrometheusStatLogger",
    "RequestQueue", "Scheduler", "UniProcExecutor", "sampler",
]  # fmt: skip

_MODULE_OF = {
    "AsyncScheduler": "vllm.v1.core.sched.async_scheduler",
    "CPUWorker": "vllm.v1.worker.cpu_worker",
    "GuidanceBackend": "vllm.v1.structured_output.backend_guidance",
    "LogprobsTensors": "vllm.v1.outputs",
    "PrometheusStatLogger": "vllm.v1.metrics.loggers",
    "RequestQueue": "vllm.v1.core.sched.request_queue",
    "Scheduler": "vllm.v1.core.sched.scheduler",
    "UniProcExecutor": "vllm.v1.executor.uniproc_executor",  # starts no process for its worker
    "sampler": "vllm.v1.sample",  # a module, which workers have imported
}


def __getattr__(name: str) -> Any:
    """Parts of vLLM that ours are derived from, or change."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)


class HostRequest(Protocol):
    """A row, as vLLM's scheduler keeps it; counts are tokens.

    Attributes:
        num_tokens: of the prompt and of the output so far.
        sampling_params: what the client wants (`extra_args` and `max_tokens` are read); None for pooling.
        is_prefill_chunk: whether a part of them is still to be computed before it decodes.
        block_hashes: of its full blocks, as the prefix cache keys them.
        num_output_placeholders: tokens that are being computed while the next step is planned.
        structured_output_request: its grammar, which may still be compiled; None for none.
    """

    request_id: str
    status: Any
    sampling_params: Any
    max_tokens: int
    is_prefill_chunk: bool
    num_prompt_tokens: int
    num_computed_tokens: int
    num_output_placeholders: int
    block_hashes: Any
    structured_output_request: Any

    @property
    def num_tokens(self) -> int: ...
    @property
    def num_output_tokens(self) -> int: ...


class StepOutput(Protocol):
    """What vLLM's scheduler decided for a step.

    Rows that it admits for the first time have a `req_id`; of those that the workers know, `resumed_req_ids`
    come back after a preemption.
    """

    total_num_scheduled_tokens: int
    num_scheduled_tokens: Mapping[str, int]
    scheduled_new_reqs: Sequence[Any]
    scheduled_cached_reqs: Any
    preempted_req_ids: Iterable[str] | None


class RowOutput(Protocol):
    """What a step gave one row."""

    request_id: str
    new_token_ids: list[int]
    finish_reason: Any


class StepResult(Protocol):
    """What a step gave the rows of one client (see `RowOutput`), and when, by the monotonic clock."""

    outputs: list[Any]
    timestamp: float


class ModelRunner(Protocol):
    """What computes a step; samples of rows in `discard_request_mask` are thrown away."""

    input_batch: Any
    discard_request_mask: Any
    sample_tokens: Any


class BlockPool(Protocol):
    """The blocks of KV memory; one of them is vLLM's own."""

    num_gpu_blocks: int

    def get_num_free_blocks(self) -> int: ...


class KvCacheManager(Protocol):
    """KV memory and its prefix cache; the coordinator looks prefixes up.

    Layers with a window are groups of their own, in each of which a token takes room.
    """

    block_pool: BlockPool
    num_kv_cache_groups: int
    enable_caching: bool
    coordinator: Any


class Host(Protocol):
    """vLLM's scheduler, as far as relserve reads and steers it.

    Attributes:
        waiting: the queue that it admits from; `running`: the rows admitted, of which it preempts the last.
        max_num_running_reqs, max_num_scheduled_tokens: rows that the workers hold, and tokens of a step.
        block_size: tokens of a KV block.
    """

    vllm_config: Any
    waiting: Any
    running: list[Any]
    requests: dict[str, Any]
    max_num_running_reqs: int
    max_num_scheduled_tokens: int
    block_size: int
    kv_cache_manager: Any


def admission_cap(scheduler: Host) -> int:
    """How many rows may run; rows are admitted up to it."""
    return int(getattr(scheduler, _cap_name(scheduler)))


def set_admission_cap(scheduler: Host, num_rows: int) -> None:
    """Change it."""
    setattr(scheduler, _cap_name(scheduler), num_rows)


def num_paused_seats(scheduler: Host) -> int:
    """Streamed inputs that wait for their next piece: vLLM from 0.31 on counts them against the cap."""
    counts = hasattr(scheduler, "max_num_active_reqs")
    return int(getattr(scheduler, "num_waiting_for_streaming_input", 0)) if counts else 0


def _cap_name(scheduler: Host) -> str:
    # vLLM 0.31 split the cap on admissions from that on rows in the workers.
    return "max_num_active_reqs" if hasattr(scheduler, "max_num_active_reqs") else "max_num_running_reqs"


def set_queue(scheduler: Host, queue: RequestQueue, forwarding: RequestQueue) -> None:
    """Have a scheduler admit from `queue`.

    Args:
        forwarding: vLLM up to 0.30 has rows with a grammar wait in a queue of their own, past our order; this
            takes its place and passes them on.
    """
    scheduler.waiting = queue
    if hasattr(scheduler, "skipped_waiting"):
        scheduler.skipped_waiting = forwarding


def num_free_kv_tokens(scheduler: Host) -> int:
    """KV tokens that no row holds."""
    manager: KvCacheManager = scheduler.kv_cache_manager
    return manager.block_pool.get_num_free_blocks() * scheduler.block_size // manager.num_kv_cache_groups


def num_kv_tokens(scheduler: Host) -> int:
    """KV tokens in all."""
    manager: KvCacheManager = scheduler.kv_cache_manager
    return manager.block_pool.num_gpu_blocks * scheduler.block_size // manager.num_kv_cache_groups


def share_of_kv_used(scheduler: Host) -> float:
    """Share of KV memory that rows hold."""
    pool: BlockPool = scheduler.kv_cache_manager.block_pool
    return max(0.0, 1.0 - float(pool.get_num_free_blocks() / max(pool.num_gpu_blocks - 1, 1)))


def num_cached_tokens(scheduler: Host, request: HostRequest) -> int:
    """Tokens of a row's prompt in the prefix cache, which is not touched; 0 where there is none."""
    manager: KvCacheManager = scheduler.kv_cache_manager
    if not manager.enable_caching:
        return 0
    return int(manager.coordinator.find_longest_cache_hit(request.block_hashes, request.num_tokens - 1)[1])


def awaits_input(request: HostRequest) -> bool:
    """Whether a row with a streamed input has paused until the next piece comes."""
    return bool(request.status.name == "WAITING_FOR_STREAMING_REQ")


def has_priorities(scheduler: Host) -> bool:
    """Whether requests wait in the order of priorities that their clients gave."""
    return bool(scheduler.vllm_config.scheduler_config.policy == "priority")


def plans_ahead(vllm_config: Any) -> bool:
    """Whether a step is to be scheduled while the one before runs."""
    return bool(vllm_config.scheduler_config.async_scheduling)


def hash_block_size(scheduler: Host) -> int:
    """Tokens of each of a row's block hashes; since vLLM 0.28 blocks may be larger."""
    return int(getattr(scheduler, "hash_block_size", None) or scheduler.block_size)


@contextmanager
def watermark_kept(scheduler: Host) -> Iterator[None]:
    """Have admissions leave vLLM's watermark of free blocks, as if a row were scheduled already."""
    manager = scheduler.kv_cache_manager
    if not getattr(manager, "watermark_blocks", 0):
        yield
        return
    allocate = manager.allocate_slots

    def leaving_some(*args: Any, **kwargs: Any) -> Any:
        return allocate(*args, **{**kwargs, "has_scheduled_reqs": True})

    manager.allocate_slots = leaving_some
    try:
        yield
    finally:
        del manager.allocate_slots


def model_name(scheduler: Host) -> str:
    """The model as vLLM's configuration names it."""
    return str(scheduler.vllm_config.model_config.model)


def is_one_of_several(scheduler: Host) -> bool:
    """Whether it serves one of several data parallel copies; a dense model's is told that it is alone."""
    config = scheduler.vllm_config.parallel_config
    return bool(config.data_parallel_size > 1 or config._data_parallel_master_port_list)


def version() -> str:
    """The installed release; raises ModuleNotFoundError where there is none."""
    return str(importlib.import_module("vllm").__version__)


def runs_on_cpu() -> bool:
    """Whether the installed vLLM computes on a CPU."""
    from vllm.platforms import current_platform

    return bool(current_platform.is_cpu())


class Completion(Protocol):
    """An answer to a request."""

    text: str
    token_ids: Sequence[int]
    logprobs: Sequence[Mapping[int, Any]]
    finish_reason: str | None


class Times(Protocol):
    """When things happened to a request, in seconds of the engine's clock."""

    queued_ts: float
    scheduled_ts: float
    first_token_ts: float
    last_token_ts: float


def num_preemptions(times: Times) -> int:
    """How often a request was preempted; 0 where the release does not count it, as 0.26."""
    return int(getattr(times, "num_preemptions", 0))


class RequestOutput(Protocol):
    """What a request gave."""

    prompt_token_ids: Sequence[int]
    num_cached_tokens: int | None
    outputs: Sequence[Completion]
    metrics: Times | None
    finished: bool


class EngineClient(Protocol):
    """An engine in a process of its own, as the process that started it sees it."""

    vllm_config: Any
    errored: bool
    shutdown: Any
    engine_core: Any

    def get_tokenizer(self) -> Any: ...
    async def add_request(
        self, request_id: str, prompt: Any, params: Any, *, trace_headers: Mapping[str, str] | None = None
    ) -> Any: ...
    async def abort(self, request_id: str | Iterable[str]) -> None: ...
    async def get_supported_tasks(self) -> Any: ...
    async def reset_prefix_cache(self) -> Any: ...


def sampling_params(**fields: Any) -> Any:
    """vLLM's sampling parameters."""
    from vllm import SamplingParams

    return SamplingParams(**fields)


def shared_sampling_params(**fields: Any) -> Any:
    """Sampling parameters for many requests, each of which gives one output, at its end."""
    from vllm.sampling_params import RequestOutputKind

    params = sampling_params(output_kind=RequestOutputKind.FINAL_ONLY, **fields)
    params.skip_clone = True  # all requests share it; a deep copy each would be half of submitting
    return params


def structured_outputs(**grammar: Any) -> Any:
    """A grammar that answers have to follow."""
    from vllm.sampling_params import StructuredOutputsParams

    return StructuredOutputsParams(**grammar)
