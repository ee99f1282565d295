"""The server: it listens, lets clients in, gives each a thread, and ends in order."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

import pyarrow as pa
from relserve_duckdb import Connection

from relserve import api
from relserve.engines.protocol import Engine
from relserve.errors import ForbiddenError, ProtocolError, UsageError
from relserve.machine.engine_status import EngineStatus, read_engines, state_dir
from relserve.machine.fleet_status import FleetStatus, read_fleets
from relserve.machine.gate_status import GateStatus, read_gates
from relserve.machine.private_files import open_private
from relserve.server.activity import activity_table
from relserve.server.catalog import Catalog
from relserve.server.client.channel import Channel
from relserve.server.client.inbox_room import InboxRoom
from relserve.server.client.notices import WireClient
from relserve.server.client.startup import Arrived, Startup
from relserve.server.client.state import ClientState, EndedStatement
from relserve.server.client.worker import ClientWorker
from relserve.server.database import ServerDatabase
from relserve.server.histories import ClientHistory, Histories
from relserve.server.options import ServerOptions
from relserve.server.page.counters import Counters
from relserve.server.page.facts import ConnectedClient
from relserve.server.places import BATCH, MAX_WAITING, lengthen_queue, who_leaves
from relserve.server.rights.store import RightsStore, rights_path
from relserve.server.tls import tls_context
from relserve.server.users.exposure import check_exposed
from relserve.server.users.log import LogEntry, StatementLog
from relserve.server.users.quota import Quota
from relserve.server.users.salts import Salts
from relserve.server.users.tries import Tries
from relserve.server.users.users import User, Users
from relserve.session.history import ErrorRecord, QueryRecord
from relserve.settings import load

log = logging.getLogger(__name__)

LOGIN_S = 30.0  # within which a client must have said who it is
TERMINATE_S = 0.1  # until pg_terminate_backend hangs up, so that a BI tool has noted its Stop by then
PAGE_ERRORS = 1000  # failed rows that the page goes through
END_S = 10.0  # for clients to end after the server was told to


class Server:
    """One database for many clients.

    Args:
        engine: answers calls that name no model, instead of the options' model.

    Attributes:
        counters: what has happened since it started.
        port: on which it listens.
        users: who may come in; None: everybody.
        rights: what was granted to them; None: everybody is an admin.
        quota: the tokens that they have used.
        salts: under which their answers are kept.

    Raises:
        UsageError: the options do not go together, or a file is not to be had.
    """

    def __init__(self, options: ServerOptions, engine: Engine | None = None) -> None:
        check_exposed(options.host, options.tls_cert is not None, options.users is not None)
        self.options, self.counters, self.port = options, Counters(), options.port
        self.users = Users.load(options.users) if options.users else None
        self.rights = RightsStore(rights_path(options.users), options.only_granted) if options.users else None
        if self.users is not None:
            self.users.keep_secret()
        self.salts = Salts(self.users.secret if self.users is not None and not options.share_cache else None)
        self.quota = Quota(time.monotonic)
        self._tries, self._key_tries = Tries(time.monotonic), Tries(time.monotonic)
        self.tls = tls_context(options.tls_cert, options.tls_key)
        self._needs_tls = self.tls is not None and self.users is not None
        self._log = _log_of(options)
        self._histories = Histories(api.new_book(load()))
        self._clients: dict[int, ClientState] = {}
        self._workers: set[ClientWorker] = set()
        self._rooms = defaultdict[str, InboxRoom](InboxRoom)  # by user, while one of their clients is here
        self._waiting: dict[Channel, None] = {}  # who have not said who they are, as they came
        self._pids, self._lock, self._is_ending = itertools.count(1), threading.Lock(), False
        self._database = ServerDatabase(
            options, self._activity, self._signal, self._prepared, self.quota, self.salts, engine
        )

    @property
    def engine(self) -> Engine:
        """What answers calls that name no model."""
        return self._database.engine

    async def run(
        self,
        is_up: Callable[[], None] = lambda: None,
        ends: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Serve until SIGINT or SIGTERM, or until `stop`; a second signal ends clients' statements, too.

        Args:
            ends: what is to be done at the end, beside the clients' last statements.

        Raises:
            UsageError: nothing can listen there.
        """
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        host, port = self.options.host, self.options.port
        try:
            listener = await self._loop.create_server(self._channel, host, port, backlog=BATCH)
        except OSError as error:
            raise UsageError(f"--port: cannot listen on {host}, port {port}: {error}; try another") from error
        for each in listener.sockets:
            lengthen_queue(each.fileno())
        self.port = listener.sockets[0].getsockname()[1]
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):  # not on the main thread
            for number in (signal.SIGINT, signal.SIGTERM):
                self._loop.add_signal_handler(number, self._told_to_stop)
        is_up()
        try:
            await self._stopping.wait()
        finally:
            listener.close()
            await asyncio.gather(self._end(), *([ends()] if ends else []))
            self.close()

    def stop(self) -> None:
        """End soon; from any thread."""
        self._loop.call_soon_threadsafe(self._stopping.set)

    def close(self) -> None:
        """Close the database, as `run` does at its end; for a server that never ran, too."""
        self._database.close()

    # What the page shows.

    def clients(self) -> list[ConnectedClient]:
        """See `ServerFacts`."""
        return [
            ConnectedClient(
                each.pid, each.user.name, each.variables.find("application_name") or "", each.channel.peer[0],
                each.status, each.state_change, each.text or None,
            )
            for each in self._states()
        ]  # fmt: skip

    def queries(self) -> list[tuple[str, QueryRecord]]:
        """See `ServerFacts`."""
        return self._histories.queries()

    def errors(self) -> list[tuple[str, ErrorRecord]]:
        """See `ServerFacts`."""
        return self._histories.latest_errors(PAGE_ERRORS)

    def engines(self) -> list[EngineStatus]:
        """See `ServerFacts`."""
        return read_engines(state_dir())

    def fleets(self) -> list[FleetStatus]:
        """See `ServerFacts`."""
        return read_fleets(state_dir())

    def gates(self) -> list[GateStatus]:
        """See `ServerFacts.gates`."""
        return read_gates(state_dir())

    # Clients come and go; in the loop.

    def _channel(self) -> Channel:
        startup = Startup(self.users, self.tls, self._needs_tls, self._arrived, self._cancel, self._tries)
        channel = Channel(startup.take, self._lost)
        if len(self._waiting) >= MAX_WAITING:
            leaving = who_leaves(self._waiting)
            del self._waiting[leaving]
            self._loop.call_soon(leaving.abort)  # not now: it may have been accepted a moment ago
        self._waiting[channel] = None
        self._loop.call_later(LOGIN_S, self._check_login, channel)
        return channel

    def _check_login(self, channel: Channel) -> None:
        if channel in self._waiting:
            channel.abort()

    def _arrived(self, channel: Channel, arrived: Arrived) -> None:
        if self._is_ending:
            raise ProtocolError("the server is shutting down", "57P03")
        if full := self._is_full_for(arrived.user):
            self.counters.refused()
            raise ProtocolError(full, "53300")
        self._database.check_name(arrived.parameters.get("database", ""), arrived.user)
        self._waiting.pop(channel, None)
        worker = ClientWorker(self, channel, arrived, next(self._pids))
        with self._lock:  # else the user's last other client, who leaves now, would take the room along
            channel.hand_over(self._rooms[arrived.user.name])
            self._workers.add(worker)
        worker.start()

    def _is_full_for(self, user: User) -> str | None:
        """Why a user gets no connection more."""
        most, count = self.options.max_connections, len(self._workers)
        if count >= most:
            return f"sorry, too many clients already: {most} (--max-connections)"
        if user.is_admin:
            return None
        if count >= max(most - self.options.reserved_connections, 1):
            return "remaining connection slots are reserved for admins (--reserved-connections)"
        own = sum(worker.user.name == user.name for worker in list(self._workers))
        if user.connections_at_once is not None and own >= user.connections_at_once:
            return f'too many connections for role "{user.name}": {user.connections_at_once}'
        return None

    def _lost(self, channel: Channel) -> None:
        self._waiting.pop(channel, None)
        for state in self._states():
            if state.channel is channel:
                state.cancel()

    def _cancel(self, address: str, pid: int, key: bytes) -> None:
        state = self._clients.get(pid)
        if not (state is not None and state.is_near(address)) and self._key_tries.wait_s(address):
            log.warning("an address tries many keys to cancel with: %s", address)
        elif state is not None and state.is_key(key):
            state.cancel()
        else:
            self._key_tries.wrong(address)

    # What workers tell; on their threads.

    def joins(self, state: ClientState) -> None:
        """A client is ready for its first statement."""
        self.counters.connected()
        with self._lock:
            self._clients[state.pid] = state

    def leaves(self, worker: ClientWorker) -> None:
        """A client is gone, and so is its thread soon."""
        with self._lock:
            state = self._clients.pop(worker.pid, None)
            self._workers.discard(worker)
            if all(each.user.name != worker.user.name for each in list(self._workers)):
                self._rooms.pop(worker.user.name, None)
        if state is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and its timers with it
                self._loop.call_soon_threadsafe(state.disarm)

    def history(self, user: User) -> ClientHistory:
        """A history for a new client; see `Histories.client`."""
        return self._histories.client(user.name, user.is_admin)

    def connect(self, user: User, history: ClientHistory, client: WireClient) -> Connection:
        """A connection to the database for a client."""
        return self._database.connect(user, history, client)

    @property
    def catalog(self) -> Catalog:
        """PostgreSQL's catalog beside the database."""
        return self._database.catalog

    def ended(self, state: ClientState, ended: EndedStatement) -> None:
        """A statement has ended."""
        self.log(state.user, state.channel.peer[0], state.pid, ended, state.history.num_tokens())

    def log(self, user: User, address: str, pid: int, ended: EndedStatement, num_tokens: int) -> None:
        """Count a statement, or a call of a tool, that has ended, and write it to the log of statements."""
        self.counters.statement_ended(ended.seconds, ended.num_rows, ended.sqlstate)
        if self._log is not None:
            self._log.write(
                LogEntry(
                    time.time() - ended.seconds, user.name, address, pid, ended.seconds, ended.num_rows,
                    num_tokens, ended.sqlstate, ended.text,
                )
            )  # fmt: skip

    def _states(self) -> list[ClientState]:
        with self._lock:
            return list(self._clients.values())

    def _activity(self) -> pa.Table:
        return activity_table(self._states())

    def _prepared(self, connection: int) -> list[dict[str, Any]]:
        """What the client of a connection has prepared; on that client's thread."""
        caller = next((each for each in self._states() if each.connection == connection), None)
        return [] if caller is None else caller.prepared()

    def _signal(self, connection: int, pid: int, kind: str) -> bool:
        """pg_cancel_backend and pg_terminate_backend, on the thread of whoever calls them."""
        states = self._states()
        caller = next((each for each in states if each.connection == connection), None)
        other = next((each for each in states if each.pid == pid), None)
        if caller is None or other is None:
            return False
        if not caller.user.is_admin and caller.user.name != other.user.name:
            caller.refusal = ForbiddenError("must be an admin, or the same user, to stop another's statement")
            raise caller.refusal
        if kind == "terminate" and other is caller:  # at once: what it sends from now on comes after its end
            self._loop.call_soon_threadsafe(other.terminate)
        elif kind == "terminate":
            self._loop.call_soon_threadsafe(self._loop.call_later, TERMINATE_S, other.terminate)
        else:
            self._loop.call_soon_threadsafe(other.cancel)
        return True

    # The end.

    def _told_to_stop(self) -> None:
        if self._stopping.is_set():
            for state in self._states():
                state.terminate()
        self._stopping.set()

    async def _end(self) -> None:
        self._is_ending = True
        for channel in list(self._waiting):
            channel.abort()
        for state in self._states():
            state.terminate()
        deadline_s = time.monotonic() + END_S
        while self._workers and time.monotonic() < deadline_s:
            await asyncio.sleep(0.05)


def _log_of(options: ServerOptions) -> StatementLog | None:
    """Where statements are logged.

    Raises:
        UsageError: the file cannot be written.
    """
    if options.log_statements is None:
        return None
    if options.log_statements == "-":
        return StatementLog(sys.stderr, options.log_texts)
    try:
        file = open_private(options.log_statements)
    except OSError as error:
        raise UsageError(f"cannot write {options.log_statements}: {error}") from error
    return StatementLog(file, options.log_texts)
