"""What a text that an agent sends may be: one SELECT over tables, within the rights of its user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from relserve_duckdb import Connection

from relserve.call.options import FUNCTIONS
from relserve.errors import UnsafeSqlError
from relserve.server.client.changes import CATALOG
from relserve.server.client.granting import known_by, who_is
from relserve.server.rights.judge import StatementJudge
from relserve.server.rights.store import RightsStore
from relserve.server.users.lockdown import check_allowed
from relserve.server.users.nesting import check_nesting
from relserve.server.users.plain import plain_text
from relserve.server.users.users import User, Users
from relserve.text2sql.guard.check import LONGEST, check_asking_select

ASKING = frozenset(FUNCTIONS)
_ALL_TABLES = "FROM text2sql('a question may be about all tables')"
_DATABASE = "SELECT system.main.current_database()"


class ReadingGuard:
    """Looks at texts before they run on one connection.

    Args:
        user: whose rights count. What only admins may do, nobody may here: an agent may have been misled.
    """

    def __init__(self, con: Connection, user: User, users: Users | None, rights: RightsStore | None) -> None:
        self._con, self._plain = con, as_plain(user)
        self._judge: StatementJudge | None = None
        if users is not None and rights is not None:
            database = str(con.raw.execute(_DATABASE).fetchall()[0][0])
            self._judge = StatementJudge(
                con.raw, rights, database, who_is(user), known_by(users), lambda: True, lambda: CATALOG.latest
            )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction in which names keep their meaning and nothing is written; it is always ended."""
        self._con.execute("BEGIN TRANSACTION READ ONLY")
        try:
            if self._judge is not None:
                self._judge.transaction_began()
            yield
        finally:
            self._con.execute("ROLLBACK")

    def checked(self, text: str) -> str:
        """The text in the form in which it runs; within `reading`.

        Raises:
            UnsafeSqlError: it is more than one SELECT over tables, with functions that compute or ask.
            ForbiddenError: the user has no right to it.
            ComplexSqlError, ProtocolError, duckdb.Error: DuckDB should not or cannot read it.
        """
        if len(text) > LONGEST:
            raise UnsafeSqlError(f"SQL may have {LONGEST:,} characters here, and this has {len(text):,}")
        text = plain_text(text)
        check_nesting(text)
        self._check_rights(text)
        check_asking_select(self._con.raw, text, ASKING)
        return text.rstrip("; \t\r\n\f\v")

    def check_question(self) -> None:
        """Refuse a user who may not read all tables, which a question may be about."""
        self._check_rights(_ALL_TABLES)

    def _check_rights(self, text: str) -> None:
        allowed = check_allowed(self._con.raw, text, self._plain)
        if self._judge is not None:
            self._judge.check(allowed)


def as_plain(user: User) -> User:
    """A user without an admin's powers: a model writes the SQL, and texts of strangers may mislead it."""
    return replace(user, is_admin=False)
