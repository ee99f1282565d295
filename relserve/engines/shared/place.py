"""Where a resident engine is found: its socket, and the lock that tells whether it lives.

The lock is held from before the process is started until it ends, in whatever way, so it cannot lie as a file
with a process's number can; a socket file that is left behind means nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from relserve.errors import EngineStartError

PRIVATE = 0o700
LONGEST = 70  # bytes of a folder: a socket's path may have 103 on macOS, 107 on Linux


class EnginePlace(NamedTuple):
    """The files of one resident engine."""

    folder: Path
    name: str

    @property
    def socket(self) -> Path:
        return self.folder / f"{self.name}.sock"

    @property
    def openai(self) -> Path:
        """The socket of its OpenAI server."""
        return self.folder / f"{self.name}.http"

    @property
    def task(self) -> Path:
        return self.folder / f"{self.name}.json"

    @property
    def lock(self) -> Path:
        return self.folder / f"{self.name}.lock"


def place_of(path: str, cache_dir: Path) -> EnginePlace:
    """The place of the resident engine of a model.

    One for each user, cache folder and model. It is not in the cache folder itself, whose path may be too
    long for a socket and whose file system may know neither sockets nor locks.

    Args:
        path: the model's folder, or its hub id.

    Raises:
        EngineStartError: the folder of the sockets is not to be had, or is somebody else's.
    """
    real = os.path.realpath(path) if os.path.isdir(path) else path
    key = hashlib.blake2b(json.dumps([real, _real(cache_dir)]).encode(), digest_size=8).hexdigest()
    return EnginePlace(run_folder(), key)


def run_folder() -> Path:
    """The folder of this user's sockets, which nobody else can enter; made if it is not there.

    Raises:
        EngineStartError: it cannot be made, or is not this user's alone.
    """
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(base) and _is_short(base) and _is_ours(base):
        folder = Path(base) / "relserve"
    else:
        common = next(each for each in (tempfile.gettempdir(), "/tmp") if _is_short(each) or each == "/tmp")
        folder = Path(common) / f"relserve-{os.getuid()}"
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(PRIVATE)
        found = folder.lstat()
    except OSError as error:
        raise EngineStartError(
            f"no folder for the sockets of shared engines: {folder}: {error.strerror}; {_OWN}"
        ) from error
    if found.st_uid != os.getuid() or folder.is_symlink() or not folder.is_dir():
        raise EngineStartError(f"{folder} belongs to another user, or is no folder; {_OWN}")
    if found.st_mode & 0o077:
        raise EngineStartError(f"others may enter {folder}; chmod 700 {folder}, or {_OWN}")
    return folder


_OWN = "set RELSERVE_ENGINE=own for an engine of each process's own, or XDG_RUNTIME_DIR"


def _is_short(folder: str) -> bool:
    return len(os.fsencode(folder)) <= LONGEST


def _is_ours(folder: str) -> bool:
    """Whether a folder is this user's: `sudo -E` brings that of another."""
    try:
        return os.stat(folder).st_uid == os.getuid()
    except OSError:
        return False


def take_lock(place: EnginePlace) -> int | None:
    """The lock as a file descriptor to be handed on to the process; None: a process holds it.

    Raises:
        EngineStartError: the lock's file cannot be written.
    """
    try:
        descriptor = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise EngineStartError(f"cannot write {place.lock}: {error.strerror}; {_OWN}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_held(place: EnginePlace) -> bool:
    """Whether a process lives at a place."""
    if not place.lock.exists() or (descriptor := take_lock(place)) is None:
        return place.lock.exists()
    os.close(descriptor)
    return False


def sign(lock: int) -> None:
    """Write this process's number into the lock that it holds, for people to read."""
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)


def is_still(place: EnginePlace, lock: int) -> bool:
    """Whether the lock that a process holds is still that of the place; others may have removed its file."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(place.lock))
    except OSError:
        return False


def holder(place: EnginePlace) -> str:
    """The process that holds a place's lock, in words."""
    try:
        return f"process {place.lock.read_text(encoding='utf-8') or '(starting)'}"
    except OSError:
        return "its process"


def places() -> list[EnginePlace]:
    """The places where resident engines of this user live; raises as `run_folder`."""
    found = [EnginePlace(lock.parent, lock.stem) for lock in sorted(run_folder().glob("*.lock"))]
    return [place for place in found if is_held(place)]


def _real(path: Path) -> str:
    return os.path.realpath(path)
