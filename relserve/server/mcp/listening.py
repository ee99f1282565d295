"""What the caller of a tool hears: how far its llm calls are, and what failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from relserve.server.client.notices import WireClient
from relserve.session.history import QueryRecord
from relserve.session.progress import Progress


class ToolClient(WireClient):
    """A `Client` (relserve_duckdb) that keeps what it is told, for whoever asks.

    Attributes:
        notes: lines about failed rows and the like.
        latest: the relQuery that got further last; None: none has begun.
    """

    def __init__(self) -> None:
        super().__init__(self._note)
        self.notes: list[str] = []
        self.latest: QueryRecord | None = None

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """See `Teller`."""
        yield self._update

    def _update(self, record: QueryRecord) -> None:
        self.latest = record

    def _note(self, severity: str, text: str, sqlstate: str | None = None) -> None:
        self.notes.append(text)
