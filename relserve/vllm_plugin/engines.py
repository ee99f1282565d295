"""The seam to vLLM where engines are started: in a process of their own, or in this one."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from relserve.vllm_plugin import stop_strings
from relserve.vllm_plugin.collector import resting
from relserve.vllm_plugin.host import EngineClient, runs_on_cpu

GRAMMARS = "structured_outputs_config"  # vLLM's argument that says which library holds to them
METHOD = "VLLM_WORKER_MULTIPROC_METHOD"  # how vLLM starts a process


def start_client(arguments: Mapping[str, Any], stat_logger: type, forks: bool) -> EngineClient:
    """Start an engine in a process of its own, with statistics of ours; raises whatever vLLM raises.

    Args:
        forks: fork that process off this one, which has imported vLLM already, whatever vLLM would do.
    """
    with resting():
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        inspect_models_here()
        given = AsyncEngineArgs(**arguments)
        if GRAMMARS not in arguments:
            # Left to itself vLLM hands what xgrammar refuses to another library, and if that is the first
            # grammar of all, every one that follows.
            given.structured_outputs_config.backend = "xgrammar"
        config = given.create_engine_config()  # on a CPU it sets the method to "spawn"
    before = os.environ.get(METHOD, "spawn")
    os.environ[METHOD] = "fork" if forks else before
    try:
        client: Any = AsyncLLM.from_vllm_config(
            config, stat_loggers=[stat_logger], disable_log_stats=given.disable_log_stats,
            enable_log_requests=given.enable_log_requests,
        )  # fmt: skip
    finally:
        os.environ[METHOD] = before
    stop_strings.tell(client)
    # Its traceback when the engine dies says less than the line that LocalEngine announces.
    logging.getLogger(AsyncLLM.__module__).setLevel(logging.CRITICAL)
    return client  # type: ignore[no-any-return]


def import_engine() -> None:
    """Import now what the process of an engine needs; one of its workers needs most of it."""
    import vllm.v1.engine.core  # noqa: F401


def inspect_models_here() -> None:
    """Have vLLM look at a model's class in this process, where that computes on a CPU.

    vLLM starts another one, lest this one touch a GPU, and there imports itself again. It keeps what it found
    in a file, so each first start of an architecture on a machine takes longer.
    """
    from vllm.model_executor.models import registry

    if runs_on_cpu():
        looking: Any = registry
        looking._run_in_subprocess = lambda look: look()


def message_context(client: EngineClient) -> Any:
    """The ZeroMQ context over which a client and its engine talk."""
    return client.engine_core.resources.ctx


def engine_in_this_process(arguments: Mapping[str, Any]) -> Any:
    """An LLMEngine, to be stepped by hand."""
    from vllm import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine

    inspect_models_here()
    return LLMEngine.from_engine_args(EngineArgs(**arguments))


def scheduler_in(engine: Any) -> Any:
    """The scheduler of an `engine_in_this_process`."""
    return engine.engine_core.engine_core.scheduler
