"""When the catalog of a database may have become another one: what statements give may have changed then."""

from __future__ import annotations


class ServerChanges:
    """Those of a process; a server is one.

    Attributes:
        latest: is no other object as long as nothing has changed.
    """

    def __init__(self) -> None:
        self.latest = object()

    def happened(self) -> None:
        """Some client has changed something."""
        self.latest = object()


CATALOG = ServerChanges()
