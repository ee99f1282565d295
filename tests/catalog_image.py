"""PostgreSQL's catalog for servers is built by the worker that first serves, and read by the others."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from relserve.server.catalog import attached


@contextmanager
def one_catalog(folder: Path) -> Iterator[None]:
    """Inside, servers of all processes with this folder have one image of the catalog's file."""
    path, build = folder / "catalog.duckdb", attached._image

    @cache
    def image() -> bytes:
        with (folder / "catalog.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                path.write_bytes(build())
            return path.read_bytes()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attached, "_image", image)
        yield
