"""What the page asks of the server that it shows."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from relserve.machine.engine_status import EngineStatus
from relserve.machine.fleet_status import FleetStatus
from relserve.machine.gate_status import GateStatus
from relserve.server.page.counters import Counters
from relserve.session.history import ErrorRecord, QueryRecord


class ConnectedClient(NamedTuple):
    """One connected client.

    Attributes:
        pid: as pg_backend_pid() tells it.
        application: the client's application_name; '' where it gave none.
        state: in PostgreSQL's words: 'active', 'idle', 'idle in transaction',
            'idle in transaction (aborted)'.
        since: when it came into that state, with a time zone.
        statement: the text that runs, or ran last; None where there is none or texts are not to be shown.
    """

    pid: int
    user: str
    application: str
    address: str
    state: str
    since: datetime
    statement: str | None


class ServerFacts(Protocol):
    """The server, as the page sees it. Everything is asked from threads, several at once.

    Attributes:
        counters: what happened since the server started.
    """

    @property
    def counters(self) -> Counters: ...

    def clients(self) -> list[ConnectedClient]:
        """Who is connected now."""

    def queries(self) -> list[tuple[str, QueryRecord]]:
        """The relQueries on record, each with its user; also of users who have gone.

        Asked about once a second: a record that comes and goes in between is not counted.
        """

    def errors(self) -> list[tuple[str, ErrorRecord]]:
        """The latest failed rows, each with its user."""

    def engines(self) -> list[EngineStatus]:
        """The engines that answer."""

    def fleets(self) -> list[FleetStatus]:
        """The fleets whose owners run here."""

    def gates(self) -> list[GateStatus]:
        """Who waits to be admitted to engines."""
