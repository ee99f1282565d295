"""What was typed, kept for the next shell in a file that only its user may read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

FILE_NAME = "shell_history"  # of the shell


class _Kept(FileHistory):
    """A disk that is full, or a folder that went away, costs the entry in the file and nothing else."""

    def store_string(self, string: str) -> None:
        """See `History`. What begins with a space is not kept, as in other shells."""
        if not string.startswith(" "):
            with suppress(OSError):
                super().store_string(string)

    def load_history_strings(self) -> Iterable[str]:
        """See `History`."""
        with suppress(OSError):
            yield from super().load_history_strings()


def open_history(folder: Path, name: str = FILE_NAME) -> History:
    """The history in a folder's file; where it cannot be written, one that lasts as long as the shell."""
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)
    except OSError:
        return InMemoryHistory()
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)
    return _Kept(str(path))
