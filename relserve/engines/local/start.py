"""Starting a vLLM engine in a process of its own, from any thread of any kind of script."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.spawn
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from relserve.call.hosted_names import START_HERE
from relserve.engines.local import cpu
from relserve.engines.local.running import RunningEngine
from relserve.errors import EngineStartError
from relserve.machine import traces
from relserve.vllm_plugin import engines, host
from relserve.vllm_plugin.child_process import LOG_VARIABLE, PARENT_VARIABLE, PROCESS_NAME
from relserve.vllm_plugin.collector import resting
from relserve.vllm_plugin.key import KEY
from relserve.vllm_plugin.torch_extras import hide_misfits
from relserve.vllm_plugin.version import check_version

TRACES = "otlp_traces_endpoint"  # vLLM's argument
SCHEDULER = "relserve.vllm_plugin.scheduler.make"
ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    engines.METHOD: "spawn",
    # Grammars are bounded when calls are bound (call/grammar_size.py), but on a busy machine even 0.5 s of
    # CPU time can exceed vLLM's own 5 s, after which it gives the row up.
    "VLLM_REGEX_COMPILATION_TIMEOUT_S": "60",
}

NOTHING: Mapping[str, str] = {}
GPUS = "CUDA_VISIBLE_DEVICES"

# One start at a time, until the engine's process is there: what is changed below is the whole process's.
_starting = threading.Lock()
_ASK_S = 10.0  # until the hub has answered
_HUB_ID = re.compile(r"\w[\w.-]*+/[\w.-]++")
_OTHER_HUB = "VLLM_USE_MODELSCOPE"  # vLLM's: ids are then of ModelScope


def launch(
    path: str, engine_args: Mapping[str, Any], log_path: Path | None, forks: bool = False,
    given: Mapping[str, str] = NOTHING,
) -> RunningEngine:  # fmt: skip
    """Start an engine and wait until it is ready; blocks for many seconds.

    Args:
        forks: see `LocalEngine`.
        given: its `variables`.

    Raises:
        EngineStartError: vLLM is not installed or not of a tested version.
        Exception: whatever vLLM raises when it cannot start.
    """
    with contextlib.ExitStack() as turn:
        turn.enter_context(_starting)
        set_environment(ENVIRONMENT)
        _quieten()
        allow_hub(not os.path.isdir(path))
        if not os.path.isdir(path):
            see_that_the_hub_has(path)
        with resting():
            arguments = _with_traces(arguments_of(path, engine_args))
            variables = variables_of(path, arguments) | _variables_of_traces(arguments)
            stat_logger = _statistics_logger()
        turn.enter_context(_child_environment({**variables, **given}, log_path))
        turn.enter_context(_setup_as_main())
        ends_turn = not forks and _may_start_beside_others(arguments, given)
        started = turn.enter_context(_started_engines(turn.close if ends_turn else lambda: None))
        client = engines.start_client(arguments, stat_logger, forks)
    if not any(process.is_alive() for process in started):
        client.shutdown()
        raise EngineStartError("the engine's process ended as soon as it was ready")
    return RunningEngine(client, started[0], variables)


def _may_start_beside_others(arguments: Mapping[str, Any], given: Mapping[str, str]) -> bool:
    """Whether others may start as soon as its process is there, which takes most of the time.

    On a GPU of several engines vLLM measures how much memory is free, one after another; of several copies
    of a model nobody tells which process is the last.
    """
    return (arguments.get("data_parallel_size") or 1) == 1 and (host.runs_on_cpu() or GPUS in given)


def is_engine(process: BaseProcess) -> bool:
    """Whether a child process is a vLLM engine, by the name that vLLM gives it."""
    return process.name.startswith(PROCESS_NAME)


def set_environment(variables: Mapping[str, str]) -> None:
    """Set variables that the user left unset."""
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def allow_hub(allowed: bool) -> None:
    """Keep a model from a local folder off the network, unless the user decided on HF_HUB_OFFLINE.

    The hub's client reads the variable once, so a second engine with a hub id needs both lines.
    """
    if os.environ.get("HF_HUB_OFFLINE") not in (None, _OFFLINE):
        return
    if not allowed:
        os.environ["HF_HUB_OFFLINE"] = _OFFLINE
    elif "HF_HUB_OFFLINE" in os.environ:
        import huggingface_hub.constants

        del os.environ["HF_HUB_OFFLINE"]
        huggingface_hub.constants.HF_HUB_OFFLINE = False


def _quieten() -> None:
    """Keep warnings off the terminal, unless the user set a level.

    Of an absent GPU tool chain, of what rows keep, which `LocalEngine` announces, and of traces.
    """
    if os.environ["VLLM_LOGGING_LEVEL"] == ENVIRONMENT["VLLM_LOGGING_LEVEL"]:
        for name in _QUIET:
            logging.getLogger(name).setLevel(logging.ERROR)


_QUIET = (
    "vllm.triton_utils.importing", "torch.utils.cpp_extension", "torch._library.triton",
    "relserve.vllm_plugin.cache.engine_config",
    "opentelemetry.trace",  # that vLLM's provider does not take the place of the one that is there
)  # fmt: skip


def _statistics_logger() -> type:
    from relserve.engines.local.stats import NoStats  # imports vLLM, which takes seconds

    return NoStats


_OFFLINE = "yes"  # true to the hub's client, and told apart from a user's "1"


def arguments_of(path: str, engine_args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the engine: the user's over ours over vLLM's."""
    hide_misfits()
    try:
        version = host.version()
    except ModuleNotFoundError as error:
        if error.name != "vllm":
            raise
        raise EngineStartError(
            "vLLM is not installed; `pip install 'relserve[vllm]'` for a GPU, 'relserve[cpu]' without one"
        ) from error
    check_version(version)
    ours: dict[str, Any] = dict(
        model=path, scheduler_cls=SCHEDULER, enable_prefix_caching=True, disable_log_stats=True
    )
    if host.runs_on_cpu():
        ours |= cpu.arguments_for(path, engine_args)
    return with_ranks(ours | dict(engine_args))


def with_ranks(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the number of data parallel copies told to the scheduler in each, if several."""
    ranks = arguments.get("data_parallel_size") or 1
    given = arguments.get("additional_config")
    if ranks == 1 or not isinstance(given, Mapping | None):
        return arguments
    settings = {"ranks": ranks, **(given or {}).get(KEY, {})}
    return arguments | {"additional_config": {**(given or {}), KEY: settings}}


def variables_of(path: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Variables of the environment of the engine's process, where the user left them unset."""
    return cpu.variables_for(path, arguments) if host.runs_on_cpu() else {}


def _with_traces(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with vLLM's spans sent to where ours go, unless they say something."""
    return {TRACES: url, **arguments} if (url := traces.endpoint()) and traces.is_on() else arguments


def _variables_of_traces(arguments: Mapping[str, Any]) -> dict[str, str]:
    """How vLLM, which else speaks gRPC, is to send its spans there."""
    if not arguments.get(TRACES) or arguments[TRACES] != traces.endpoint():
        return {}
    traces.is_on()  # it makes the provider of this process, before vLLM would make one
    own = {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": traces.protocol(), "OTEL_SERVICE_NAME": traces.SERVICE}
    return {name: value for name, value in own.items() if name not in os.environ}


@contextlib.contextmanager
def _child_environment(variables: Mapping[str, str], log_path: Path | None) -> Iterator[None]:
    """Give the child variables of its own, and tell it whose engine it is (see vllm_plugin.child_process).

    No other process gets them: a second engine may be of another size.
    """
    added = {**variables, PARENT_VARIABLE: str(os.getpid())}
    if log_path is not None:
        added[LOG_VARIABLE] = str(log_path)
    before = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _setup_as_main() -> Iterator[None]:
    """Let a spawned engine run `engine_main` where it would run the user's script again.

    So a script needs no __main__ guard, and that set-up comes before vLLM's long import. Processes of other
    names are left alone: the user may be starting some meanwhile.
    """
    original = multiprocessing.spawn.get_preparation_data

    def with_setup(name: str) -> dict[str, Any]:
        data = original(name)
        if name.startswith(PROCESS_NAME):
            data.pop("init_main_from_path", None)
            data["init_main_from_name"] = "relserve.vllm_plugin.engine_main"
        return data

    multiprocessing.spawn.get_preparation_data = with_setup
    try:
        yield
    finally:
        multiprocessing.spawn.get_preparation_data = original


@contextlib.contextmanager
def _started_engines(tell: Callable[[], None]) -> Iterator[list[BaseProcess]]:
    """The engines' processes that are started while inside; `tell` is called after each."""
    original, found = BaseProcess.start, list[BaseProcess]()

    def start(self: BaseProcess) -> None:
        original(self)
        if is_engine(self):
            found.append(self)
            tell()

    BaseProcess.start = start  # type: ignore[method-assign]
    try:
        yield found
    finally:
        BaseProcess.start = original  # type: ignore[method-assign]


def see_that_the_hub_has(model: str) -> None:
    """Look for a model that was not fetched before.

    A hub that answers with anything else than that it has no such model leaves the word to vLLM.

    Args:
        model: a hub id; what has not its form, as the path of a folder that is gone, is left to vLLM, too.

    Raises:
        EngineStartError: there is none, or the hub cannot be reached.
    """
    if not _HUB_ID.fullmatch(model):
        return
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    if _is_here(model) or os.environ.get(_OTHER_HUB, "0").casefold() not in ("", "0", "false"):
        return
    try:
        huggingface_hub.HfApi().model_info(model, timeout=_ASK_S)
    except RepositoryNotFoundError as error:
        raise EngineStartError(
            f"the Hugging Face hub has no model {model!r}, or one that HF_TOKEN does not open: look at the "
            f"name's spelling; {START_HERE}"
        ) from error
    except HfHubHTTPError:
        return
    except Exception as error:  # of whichever HTTP library it has, or that it is told to be offline
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise EngineStartError(
            f"{model!r} was not fetched before, and the Hugging Face hub cannot be asked for it "
            f"({why}): give a folder or a server's URL; "
            f"{START_HERE}"
        ) from error


def _is_here(model: str) -> bool:
    """Whether anything of it was fetched before, of whichever revision and form."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=model, repo_type="model")
    return any((folder / "snapshots").glob("*"))
