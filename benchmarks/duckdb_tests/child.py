"""The process that runs files, so that one that kills it or never ends costs no other."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.duckdb_tests.compare import Difference, FileComparison, compare

LIMIT_S = 300.0  # for a file: far more than the limits of its runs together
ENDED = "the process ended or hung"


class FilesChild:
    """Runs files one after the other; a new process stands in for one that ends."""

    def __init__(self) -> None:
        self._start()

    def compare(self, path: Path, name: str) -> FileComparison:
        """As `compare` does; the end of the process is a difference."""
        self._pipe.send((path, name))
        try:
            if self._pipe.poll(LIMIT_S):
                compared: FileComparison = self._pipe.recv()
                return compared
        except EOFError:
            pass
        self.end()
        self._start()
        return failed(name, ENDED)

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(child_end,), daemon=True)
        self._process.start()
        child_end.close()


def failed(name: str, said: str) -> FileComparison:
    """A file that could not be compared to its end."""
    return FileComparison(name, "", 0, (Difference(name, 1, "as a whole", "ended", said),))


def _serve(pipe: Connection) -> None:
    """Compare what is sent, in a folder where nothing is kept and with nothing on the screen."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        while True:
            try:
                path, name = pipe.recv()
            except EOFError:
                return
            try:
                compared = compare(path, name)
            except Exception as error:  # a side that cannot start, say
                compared = failed(name, f"{type(error).__name__}: {error}")
            pipe.send(compared)
