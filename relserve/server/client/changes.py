"""When the catalog of a database may have become another one: what statements give may have changed then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ServerChanges:
    """Those of a process; a server is one."""

    def __init__(self) -> None:
        self._latest = object()
        self._num_under_way = 0
        self._lock = threading.Lock()

    @property
    def latest(self) -> object:
        """No other object as long as nothing has changed, nor is about to."""
        return object() if self._num_under_way else self._latest

    def happened(self) -> None:
        """Some client has changed something, which others see later."""
        self._latest = object()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Within, some client changes something, which others may see before this ends."""
        with self._lock:
            self._num_under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._latest = object()
                self._num_under_way -= 1


CATALOG = ServerChanges()
