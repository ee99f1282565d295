"""The one DuckDB database of a server, and a connection to it for each client."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import duckdb
import pyarrow as pa
import relserve_duckdb
from relserve_duckdb import Connection

from relserve import api
from relserve.call.slo import slo_of
from relserve.engines.protocol import Engine
from relserve.errors import OptionError, ProtocolError, UsageError
from relserve.examples import TABLES, scan_of
from relserve.server.catalog import Catalog, Signal, attach_catalog
from relserve.server.catalog.activity import Prepared
from relserve.server.client.notices import WireClient
from relserve.server.histories import ClientHistory
from relserve.server.options import ServerOptions
from relserve.server.users.daily import DailyCaps
from relserve.server.users.lockdown import open_locked
from relserve.server.users.metered import metered_finder
from relserve.server.users.quota import Quota
from relserve.server.users.salts import Salts
from relserve.server.users.users import User
from relserve.session.foreign_tables import ForeignTables
from relserve.session.session import Session
from relserve.settings import load

MEMORY = ":memory:"


class ServerDatabase:
    """Opened under the server's lock, with PostgreSQL's catalog beside it.

    Args:
        activity: who is connected, and
        signal: what stops a client, and
        prepared: what one has prepared; see `Catalog`.
        engine: answers calls that name no model, instead of the options' model.
    """

    def __init__(
        self, options: ServerOptions, activity: Callable[[], pa.Table], signal: Signal, prepared: Prepared,
        quota: Quota, salts: Salts, engine: Engine | None = None,
    ) -> None:  # fmt: skip
        self._options, self._quota, self._salts, self._engine = options, quota, salts, engine
        self._settings, self._daily = load(), DailyCaps()
        # the rows of statements that write are few, and to copy them is what is wanted
        warnings.filterwarnings("ignore", message="Arrow output on a DB-API result")
        self._raw = _opened(options)
        self._name = str(self._raw.execute("SELECT system.main.current_database()").fetchall()[0][0])
        self.catalog = Catalog(self._raw, activity, signal, prepared)
        self._root = relserve_duckdb.attach(self._raw, self._session(None), progress=False)
        self._root.describe("SELECT 1")  # the first one looks, in a child process, whether DuckDB tells types

    def connect(self, user: User, history: ClientHistory, client: WireClient) -> Connection:
        """A connection for a client, with a session of its own."""
        session = self._session(history)
        self._daily.limit(user)
        session.model_hosts.allow(user.models or ())
        find = metered_finder(session.find_engine, user, self._quota)
        judge = ForeignTables(client.notice, history) if session.foreign_tables else None
        ends = session.deadline_s if user.deadline_s is None else user.deadline_s
        try:
            slo = session.slo if user.slo is None else slo_of(f"the slo of {user.name!r}", user.slo)
        except OptionError as error:
            raise ProtocolError(str(error), "22023") from None
        own = replace(
            session, find_engine=find, foreign_tables=judge, deadline_s=ends, slo=slo,
            spending=replace(session.spending, user=lambda: self._daily.find(user.name, history.usage)),
            cache_salt=self._salts.of(user), keeps_calibrations=False,
            batches=replace(session.batches, owner=user.name),
        )  # fmt: skip
        con = self._root.cursor_for(own, client)
        con.raw.execute("SET TimeZone = 'UTC'")
        return con

    def check_name(self, asked: str, user: User) -> None:
        """Refuse a client that wants another database.

        The user's name is what clients send that were told none, and `postgres` what tools open at first.

        Raises:
            ProtocolError: it does, with 3D000.
        """
        if asked not in ("", self._name, user.name, "postgres"):
            hint = f'This server has one database, "{self._name}".'
            raise ProtocolError(f'database "{asked}" does not exist', "3D000", hint)

    @property
    def engine(self) -> Engine:
        """What answers calls that name no model."""
        return self._engine or api.find_engine(self._options.model)

    def close(self) -> None:
        """Write what is to be written, and close the file."""
        self._root.close()

    def _session(self, history: ClientHistory | None) -> Session:
        options = self._options
        return api.new_session(
            self._settings, model=options.model, engine=self._engine, history=history, cache=options.cache
        )


def _opened(options: ServerOptions) -> duckdb.DuckDBPyConnection:
    """The database.

    Raises:
        UsageError: it is not there, or is in use.
    """
    if options.read_only and options.database is None:
        raise UsageError("--read-only needs a database file: one in memory is empty and stays so")
    if options.examples and options.database is not None:
        raise UsageError("--examples puts the shipped tables into a database in memory: leave the file out")
    name = str(options.database or MEMORY)
    try:
        con = open_locked(name, options.allow_files, options.read_only, attach_catalog)
    except duckdb.IOException as error:
        raise UsageError(f"cannot open {name}: {error}") from error
    if options.examples:
        _add_examples(con)
    return con


def _add_examples(con: duckdb.DuckDBPyConnection) -> None:
    """Create the shipped tables, which the locked connection may not read from their files."""
    with duckdb.connect() as reader:
        for name in TABLES:
            con.register("_rows", reader.sql(f"FROM {scan_of(name)}").to_arrow_table())
            con.execute(f"CREATE TABLE {name} AS FROM _rows")
            con.unregister("_rows")
