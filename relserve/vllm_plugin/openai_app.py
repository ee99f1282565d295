"""The seam to vLLM's own OpenAI server: its web app, over an engine that runs already."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import logging
import os
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from relserve.vllm_plugin.batches import num_output_tokens_of_row
from relserve.vllm_plugin.host import EngineClient

KEY_VARIABLE = "VLLM_API_KEY"
AsgiApp = Callable[[Any, Any, Any], Coroutine[Any, Any, None]]
OffLoop = Callable[[Callable[[], Any]], Awaitable[Any]]


def arguments_for(client: EngineClient, model: str, given: Mapping[str, Any]) -> argparse.Namespace:
    """The arguments of `vllm serve` for an engine, those of its web app as given; slow the first time.

    Args:
        model: the name by which clients ask for it.
        given: by their names, such as `tool_call_parser`.

    Raises:
        ValueError: vLLM knows no such argument; says which.
    """
    from vllm.utils import argparse_utils

    config, make_parser = client.vllm_config, _vllm_parser()
    parser: Any = argparse_utils.FlexibleArgumentParser
    parser = make_parser(parser())
    arguments: argparse.Namespace = parser.parse_args([])
    known = vars(arguments)
    if unknown := sorted(given.keys() - known.keys()):
        raise ValueError(f"vLLM's server has no argument {unknown[0]!r}")
    known.update(given)
    # The engine is there: what the app reads of its arguments is what the engine has.
    known.update(
        model=config.model_config.model, served_model_name=[model], disable_log_stats=True,
        enable_log_requests=False, structured_outputs_config=config.structured_outputs_config,
    )  # fmt: skip
    return arguments


def build(arguments: argparse.Namespace, tasks: Any, client: EngineClient) -> Any:
    """vLLM's web app, without its state; imports for a second the first time."""
    key = os.environ.pop(KEY_VARIABLE, None)  # of a `vllm serve`: keys are asked for elsewhere
    root = logging.getLogger()
    level = root.level
    try:
        return _vllm_builders()[0](arguments, tasks, client.vllm_config.model_config)
    finally:
        root.setLevel(level)  # a library of the app's sets it, which would hush this process's warnings
        if key is not None:
            os.environ[KEY_VARIABLE] = key


async def make_app(
    client: EngineClient, model: str, given: Mapping[str, Any], off_loop: OffLoop = asyncio.to_thread
) -> AsgiApp:
    """vLLM's web app for an engine; to be called on the engine's event loop, which it hardly holds up.

    Args:
        model, given: see `arguments_for`.
        off_loop: does work in another thread.

    Raises:
        Exception: whatever vLLM says of the arguments.
    """
    tasks = await client.get_supported_tasks()

    def start() -> tuple[argparse.Namespace, Any]:
        arguments = arguments_for(client, model, given)
        return arguments, build(arguments, tasks, client)

    arguments, app = await off_loop(start)
    await _vllm_builders()[1](client, app.state, arguments, tasks)
    made: AsgiApp = app
    return made


def num_output_tokens_of(client: EngineClient, ids: Sequence[str]) -> int:
    """Tokens that requests of the web app have said so far, by the ids that their client sees."""
    processor: Any = getattr(client, "output_processor", None)
    known = getattr(processor, "external_req_ids", {})
    return sum(num_output_tokens_of_row(client, own) for each in ids for own in list(known.get(each, ())))


def _vllm_parser() -> Any:
    try:  # where newer releases have it
        return importlib.import_module("vllm.entrypoints.launchers.cli_args").make_arg_parser
    except ModuleNotFoundError:
        return importlib.import_module("vllm.entrypoints.openai.cli_args").make_arg_parser


def _vllm_builders() -> tuple[Any, Any]:
    with warnings.catch_warnings():  # the place that all releases have is deprecated in the newest
        warnings.simplefilter("ignore", DeprecationWarning)
        server = importlib.import_module("vllm.entrypoints.openai.api_server")
    return server.build_app, server.init_app_state
