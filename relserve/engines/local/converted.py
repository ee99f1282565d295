"""Converts the model of another package when it is first asked: once, whoever else asks, as a whole."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from relserve.engines.local.gguf_folder import write_folder
from relserve.errors import EngineStartError
from relserve.machine import packaged

MB = 300  # that it takes on disk, and a little more


def is_unconverted(path: str) -> bool:
    """Whether a model's path is the folder of the packaged one, and nothing is there yet."""
    return path == str(packaged.folder()) and not packaged.is_converted()


def convert(path: str) -> None:
    """Make that folder if it is not there, which takes seconds; any other path passes.

    Raises:
        ModelError: the package was removed.
        EngineStartError: its file cannot be read, or the folder cannot be written.
    """
    if not is_unconverted(path):
        return
    import fcntl  # not on Windows, where no vLLM runs

    folder = Path(path)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.with_name(f"{folder.name}.lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # freed when a process ends, in whatever way
            packaged.check_installed()
            if (source := packaged.find_source()) and not packaged.is_converted():
                _write(source, folder)
    except OSError as error:
        raise EngineStartError(
            f"{packaged.NAME} cannot be converted into {folder}: {error.strerror or error}; it takes {MB} MB "
            "there: free them, or set RELSERVE_CACHE_DIR to another folder"
        ) from error


def _write(source: Path, folder: Path) -> None:
    """Write it beside its place and move it there; what a killed process left goes first."""
    for left in (folder, *folder.parent.glob(f"{folder.name}.*.tmp")):
        shutil.rmtree(left, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(".tmp", f"{folder.name}.", folder.parent))
    try:
        write_folder(source, unfinished)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
