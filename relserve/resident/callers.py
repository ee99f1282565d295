"""Which DuckDB connections ask through the extension."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from relserve.resident.caller import ExtensionConnection
from relserve.session.session import Session

MAX_GONE = 64  # connections without a socket that are remembered


class Callers:
    """The connections that have a socket open, by their names, and the latest of those that had one.

    A connection whose query is interrupted closes its sockets, and its history is still wanted.
    """

    def __init__(self) -> None:
        self._callers: dict[tuple[int, str], ExtensionConnection] = {}
        self._gone: OrderedDict[tuple[int, str], ExtensionConnection] = OrderedDict()
        self._num_sockets: dict[ExtensionConnection, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def joined(self, session: Session, name: str, instance: str) -> Iterator[ExtensionConnection]:
        """While inside, a socket of the connection of this name is open."""
        own = self._join(session, name, None if name == instance else self._join(session, instance, None))
        try:
            yield own
        finally:
            self._leave(session, name)
            if name != instance:
                self._leave(session, instance)

    def _join(
        self, session: Session, name: str, aggregates: ExtensionConnection | None
    ) -> ExtensionConnection:
        with self._lock:
            key = id(session), name
            caller = (
                self._callers.get(key)
                or self._gone.pop(key, None)
                or ExtensionConnection(session, aggregates)
            )
            self._callers[key] = caller
            self._num_sockets[caller] = self._num_sockets.get(caller, 0) + 1
            return caller

    def _leave(self, session: Session, name: str) -> None:
        with self._lock:
            key = id(session), name
            caller = self._callers[key]
            self._num_sockets[caller] -= 1
            if self._num_sockets[caller]:
                return
            del self._callers[key], self._num_sockets[caller]
            self._gone[key] = caller
            if len(self._gone) > MAX_GONE:
                self._gone.popitem(last=False)
        caller.close()
