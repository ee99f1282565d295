"""A folder with files that nobody may touch; the kernel tells who did (inotify, Linux)."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
from pathlib import Path

FILES = {
    "secret.txt": "nobody's\n", "secret.csv": "a,b\n1,nobody's\n", "secret.json": '{"a": "nobody\'s"}\n',
    "secret.parquet": "PAR1\n", "shop.db": "the database's own file\n", "x.duckdb_extension": "\n",
    "imported/schema.sql": "CREATE TABLE imported (a INT);\n", "imported/load.sql": "\n",
}  # fmt: skip
_OPENED, _MODIFIED, _MOVED, _CREATED, _DELETED = 0x20, 0x2, 0x80, 0x100, 0x200
_EVENT = struct.Struct("iIII")


class WatchedFolder:
    """The folder, which is made anew.

    Raises:
        OSError: the kernel watches nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = -1
        self.restore()

    def restore(self) -> None:
        """Have the files as they were."""
        if self._fd >= 0:
            os.close(self._fd)
        for each in self._folder.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        for name, text in FILES.items():
            (self._folder / name).parent.mkdir(exist_ok=True)
            (self._folder / name).write_text(text, encoding="utf-8")
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK)
        mask = _OPENED | _MODIFIED | _MOVED | _CREATED | _DELETED
        for folder in (self._folder, *(each for each in self._folder.iterdir() if each.is_dir())):
            if self._fd < 0 or self._libc.inotify_add_watch(self._fd, os.fsencode(folder), mask) < 0:
                raise OSError(ctypes.get_errno(), f"{folder} cannot be watched")

    def events(self) -> set[str]:
        """Names of files that were opened, written or made since the last look; "." is the folder itself."""
        names: set[str] = set()
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                return names
            while data:
                *_, length = _EVENT.unpack_from(data)
                name = data[_EVENT.size : _EVENT.size + length].rstrip(b"\0").decode(errors="replace")
                names.add(name or ".")
                data = data[_EVENT.size + length :]
