"""Fingerprints of models: they change when a model may answer otherwise; for the answer cache's keys."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from relserve.machine.hardware import gpus, number_formats

FORMAT = 2  # to be raised when relserve renders prompts or reads replies in another way
SERVER_FORMAT = 3  # the same of servers' replies alone
READ_BELOW = 64 * 2**20  # bytes; of larger files only size and time of change are looked at
# Arguments of vLLM that say how fast and in how much memory, not what is answered; a query that ran out of
# memory may go on with less of it.
WITHOUT_EFFECT = frozenset(
    "additional_config block_size collect_detailed_traces cpu_offload_gb data_parallel_size "
    "disable_log_stats enable_prefix_caching enforce_eager gpu_memory_utilization kv_cache_memory_bytes "
    "max_num_batched_tokens max_num_seqs otlp_traces_endpoint pipeline_parallel_size scheduler_cls "
    "swap_space tensor_parallel_size worker_cls".split()
)


def of_server(base_url: str, model: str) -> str:
    """Of a model behind a URL: these two are all that is known of it."""
    return _hash(["server", SERVER_FORMAT, base_url, model])


def of_local(path: str, engine_args: Mapping[str, Any]) -> str | None:
    """Of a model that vLLM runs here; None for one of the hub that is not on this disk yet.

    Made of the folder's files (content, or name, size and time of change of large ones), the engine arguments
    that can change an answer, vLLM's version, and what decides the number format where none is given.

    Args:
        path: a local folder or a Hugging Face hub id.

    Raises:
        OSError: a file of the model cannot be read.
    """
    folder = Path(path) if os.path.isdir(path) else _hub_copy(path, engine_args)
    if folder is None:
        return None
    args = {name: value for name, value in engine_args.items() if name not in WITHOUT_EFFECT}
    named = [value for value in args.values() if isinstance(value, str) and os.path.isdir(value)]
    files = [list(_files(each)) for each in (folder, *map(Path, named))]
    return _hash(["local", FORMAT, files, args, _vllm_version(), number_formats(), sorted(set(gpus()))])


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    """Name of each file, and its content in short."""
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith(".") and file.suffix != ".md":
            found = file.stat()
            if found.st_size < READ_BELOW:
                yield file.name, _content(str(file), found.st_size, found.st_mtime_ns, found.st_ino)
            else:
                yield file.name, f"{found.st_size} {found.st_mtime_ns}"


@functools.lru_cache(maxsize=1024)
def _content(path: str, size: int, mtime_ns: int, inode: int) -> str:
    """Hash of a file's content; the rest says when a remembered one no longer holds."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _hub_copy(path: str, engine_args: Mapping[str, Any]) -> Path | None:
    """The folder of a hub id's files on this disk."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ModuleNotFoundError:  # it comes with vLLM
        return None
    revision, folder = engine_args.get("revision"), engine_args.get("download_dir")
    try:
        return Path(snapshot_download(path, revision=revision, cache_dir=folder, local_files_only=True))
    except LocalEntryNotFoundError:
        return None


def _vllm_version() -> str:
    try:
        return importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _hash(parts: list[Any]) -> str:
    text = json.dumps(parts, sort_keys=True, default=repr)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
