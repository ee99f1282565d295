"""The thread that works for one client, from the end of its login to its leave."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Protocol

from relserve_duckdb import Connection

from relserve.errors import ProtocolError
from relserve.server.catalog import Catalog
from relserve.server.client.changes import CATALOG
from relserve.server.client.channel import Channel, HungUp
from relserve.server.client.commands import Set
from relserve.server.client.executor import DEFINE, Executor
from relserve.server.client.granting import Granter, known_by, who_is
from relserve.server.client.notices import WireClient
from relserve.server.client.performer import Performer
from relserve.server.client.portals import Portals
from relserve.server.client.session import ClientSession
from relserve.server.client.startup import Arrived
from relserve.server.client.state import ClientState, EndedStatement
from relserve.server.client.variables import LEVELS, REPORTED, SessionVariables
from relserve.server.histories import ClientHistory
from relserve.server.options import ServerOptions
from relserve.server.rights.judge import StatementJudge
from relserve.server.rights.store import RightsStore
from relserve.server.users.lockdown import Allowed, check_allowed
from relserve.server.users.users import User, Users
from relserve.server.wire import backend
from relserve.server.wire.backend import ErrorFields
from relserve.server.wire.faults import fields_of

log = logging.getLogger(__name__)

_DATABASE = "SELECT system.main.current_database()"


class WorkerHost(Protocol):
    """The server, as a worker needs it."""

    def connect(self, user: User, history: ClientHistory, client: WireClient) -> Connection:
        """A connection to the database for a client."""

    @property
    def catalog(self) -> Catalog:
        """PostgreSQL's catalog beside the database."""

    @property
    def options(self) -> ServerOptions:
        """How the server was started."""

    @property
    def users(self) -> Users | None:
        """Who may come in; None: everybody."""

    @property
    def rights(self) -> RightsStore | None:
        """What was granted; None: the server has no users."""

    def history(self, user: User) -> ClientHistory:
        """A history for a new client."""

    def joins(self, state: ClientState) -> None:
        """A client is ready for its first statement."""

    def leaves(self, worker: ClientWorker) -> None:
        """A client is gone, and so is its thread soon."""

    def ended(self, state: ClientState, ended: EndedStatement) -> None:
        """A statement has ended."""


class ClientWorker(threading.Thread):
    """Serves one client.

    Attributes:
        pid: the client's number.
        user: who it is.
    """

    def __init__(self, host: WorkerHost, channel: Channel, arrived: Arrived, pid: int) -> None:
        super().__init__(name=f"relserve client {pid}", daemon=True)
        self.pid, self.user = pid, arrived.user
        self._host, self._channel, self._arrived = host, channel, arrived
        self._loop = asyncio.get_running_loop()
        self._variables = SessionVariables(self._changed, _defaults(arrived.user, host.options))

    def run(self) -> None:
        """See the class."""
        con = None
        try:
            history = self._host.history(self._arrived.user)
            con = self._host.connect(self._arrived.user, history, WireClient(self._say))
            self._serve(con, history)
        except HungUp:
            pass
        except ProtocolError as error:  # what it asked for as it came
            log.warning("a client of %s is refused: %s", self._arrived.user.name, error)
            self._send_last(error)
        except Exception as error:
            log.exception("the client %d of %s ends", self.pid, self._arrived.user.name)
            self._send_last(error)
        finally:
            self._channel.hang_up()
            try:
                if con is not None:
                    con.close()
            finally:
                self._host.leaves(self)  # last: the server closes its database when the last client has left

    def _serve(self, con: Connection, history: ClientHistory) -> None:
        user, parameters, options = self.user, self._arrived.parameters, self._host.options
        variables = self._variables
        state = ClientState(
            self.pid, user, self._channel, con, variables, history, self._say, self._host.ended, self._loop,
            self._arrived.minor,
        )  # fmt: skip

        state.longest_s = _longest_s(user, options)
        judge = self._judge(state)

        def check(text: str) -> list[Allowed]:
            if judge is not None and judge.concerns:
                state.transaction.begin_implicit()  # the names are to mean the same when it runs
            allowed = check_allowed(con.raw, text, user, options.allow_files)
            if any(each.type in DEFINE for each in allowed):
                state.transaction.begin_implicit()  # a definition that turns out too large is undone
            if judge is not None:
                judge.check(allowed)
            state.transaction.runs()
            return allowed

        of_rights = (judge.happened, judge.changing) if judge is not None else ()
        executor = Executor(
            con, self._host.catalog, state.facts, check, state.transaction.savepoints,
            state.transaction.is_open, *of_rights,
        )  # fmt: skip
        state.transaction.while_ending = executor.transaction_ending
        portals = Portals(executor, variables)
        state.prepared = portals.listed
        granter = Granter(judge, self._host.users, self._say) if judge and self._host.users else None
        performer = Performer(con, state, executor, portals, granter)
        self._greet(state)
        for name, value in _asked_settings(parameters):
            if performer.perform(Set(name, value), executor.run) is None:
                self._say("WARNING", f'unrecognized configuration parameter "{name}" is left out')
        variables.keep()
        self._host.joins(state)
        ClientSession(self._channel, state, executor, performer, portals).run()

    def _judge(self, state: ClientState) -> StatementJudge | None:
        """None: the server has no users."""
        users, store = self._host.users, self._host.rights
        if users is None or store is None:
            return None
        database = str(state.con.raw.execute(_DATABASE).fetchall()[0][0])
        judge = StatementJudge(
            state.con.raw, store, database, who_is(state.user), known_by(users),
            state.transaction.is_open, lambda: CATALOG.latest,
        )  # fmt: skip
        state.transaction.when_begun = judge.transaction_began
        state.transaction.when_ended = judge.transaction_ended
        return judge

    def _send_last(self, error: Exception) -> None:
        with suppress(HungUp):
            self._channel.send(backend.error_response(fields_of(error)._replace(severity="FATAL")))

    def _greet(self, state: ClientState) -> None:
        told = [(name, state.variables.find(name) or "") for name in REPORTED]
        self._channel.send(
            backend.authentication_ok()
            + b"".join(backend.parameter_status(*each) for each in told)
            + backend.backend_key_data(state.pid, state.key)
        )

    def _changed(self, name: str, value: str) -> None:
        self._channel.send(backend.parameter_status(name, value))

    def _say(self, severity: str, text: str, sqlstate: str | None = None) -> None:
        """Send a notice at once, ahead of the rows that still wait to be sent, if the client wants it."""
        least = self._variables.find("client_min_messages") or "notice"
        if LEVELS.index(severity.lower()) < LEVELS.index(least):
            return
        sqlstate = sqlstate or ("01000" if severity == "WARNING" else "00000")
        self._channel.send(backend.notice_response(ErrorFields(severity, sqlstate, text)))


def _asked_settings(parameters: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The settings in a startup message, those of its `options` (-c name=value) too."""
    words = iter(re.findall(r"(?:\\.|[^\s\\])+", parameters.get("options", "")))  # as PostgreSQL splits them
    for word in words:
        setting = next(words, "") if word == "-c" else word
        found = re.fullmatch(r"(?s)(?:-c|--)?([A-Za-z_][\w.-]*)=(.*)", setting)
        if found is None or (setting == word and not word.startswith("-")):
            raise ProtocolError(
                f'"{word}" in the options of the connection is no setting: write -c name=value', "22023"
            )
        yield found[1].lower().replace("-", "_"), re.sub(r"(?s)\\(.)", r"\1", found[2])
    for name, value in parameters.items():
        if name not in ("user", "database", "options", "replication") and not name.startswith("_pq_."):
            yield name.lower(), value


def _defaults(user: User, options: ServerOptions) -> dict[str, str]:
    """What a client's settings are before it asks for any."""
    return {
        "session_authorization": user.name, "is_superuser": "on" if user.is_admin else "off",
        "max_connections": str(options.max_connections), "ssl": "on" if options.tls_cert else "off",
        "statement_timeout": _milliseconds(_least(options.statement_timeout_s, _longest_s(user, options))),
        "idle_session_timeout": _milliseconds(options.idle_timeout_s),
        "default_transaction_read_only": "on" if options.read_only else "off",
    }  # fmt: skip


def _longest_s(user: User, options: ServerOptions) -> float | None:
    """How long a statement of a user may run, whatever timeout they set."""
    if user.longest_statement_s is not None or user.is_admin:
        return user.longest_statement_s
    return options.longest_statement_s


def _least(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each), default=None)


def _milliseconds(seconds: float | None) -> str:
    return str(round(seconds * 1000)) if seconds else "0"
