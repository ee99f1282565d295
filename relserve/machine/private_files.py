"""Files that may hold users' texts, for their owner alone: logs, and what a process tells of itself."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Literal, TextIO

MODE = 0o600


def open_private(path: Path | str, mode: Literal["a", "w"] = "a") -> TextIO:
    """Open a text file for its owner alone, made so where others could read it.

    Args:
        mode: as of `open`.

    Raises:
        OSError: it cannot be opened.
    """
    file = open(path, mode, encoding="utf-8", opener=_opener)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # and no /dev/stderr
        with contextlib.suppress(OSError):  # another user's, or a file system without modes
            os.fchmod(file.fileno(), MODE)
    return file


def write_private(path: Path, text: str) -> None:
    """Write a whole file so; raises as `open_private`."""
    with open_private(path, "w") as file:
        file.write(text)


def replace_private(path: Path, text: str) -> None:
    """Put a whole file so in the place of another; who reads finds one of the two. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags, MODE)
