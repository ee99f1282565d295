"""Refuses a client's statements for which their user has no rights, as PostgreSQL would.

What a statement reads and changes, DuckDB's parser tells (`needs`), or it is sought in the text; what names
mean, the client's connection tells (`found`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

import duckdb
from duckdb import StatementType as Type

from relserve.server.rights.defining import Defining
from relserve.server.rights.definitions import check_name, read_definition
from relserve.server.rights.found import Finder, FoundObject
from relserve.server.rights.look import WRITES, RightsLook
from relserve.server.rights.needs import needs_of
from relserve.server.rights.policy import Change, Rights, Who, changed
from relserve.server.rights.store import RightsStore
from relserve.server.users.long_texts import LONG
from relserve.server.users.statements import Allowed
from relserve.server.users.words import words
from relserve.text2sql.guard.names import folded

_DEFINES = frozenset(["create", "alter", "drop", "comment"])
_FREE = frozenset(  # they read and change no table
    "begin start commit end rollback abort deallocate use reset checkpoint force vacuum analyze attach "
    "detach load install prepare explain execute".split()
)
_LOOK = "SELECT system.main.count(*) FROM system.main.duckdb_schemas()"  # into all databases
_PREPARED = "SELECT name, statement FROM system.main.duckdb_prepared_statements()"


class StatementJudge:
    """Judges the statements of one client.

    Args:
        con: the client's.
        database: the server's own, by name.
        known: who a role is, by its name.
        in_transaction: whether what is done now may still be undone.
        latest: what is no other object as long as nobody has changed the catalog.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, store: RightsStore, database: str, who: Who,
        known: Callable[[str], Who], in_transaction: Callable[[], bool],
        latest: Callable[[], object],
    ) -> None:  # fmt: skip
        self._con, self._store, self._database, self.who = con, store, database, who
        self._known, self._in_transaction, self._latest = known, in_transaction, latest
        self._macros: tuple[object, list[FoundObject]] = object(), []  # and what they were true of
        self._began: object = None  # what was latest before the transaction saw anything
        self._seen: list[Rights] = []  # what held just before that, and just after
        self._effects: list[Change] = []  # of the statement that was judged last
        self._pending: list[Change] = []  # of this transaction

    @property
    def concerns(self) -> bool:
        """Whether there can be anything that the user may not do."""
        return self.rights().concern(self.who)

    def rights(self) -> Rights:
        """What holds for this client now."""
        return reduce(changed, self._pending, self._store.rights(self._database))

    def finder(self) -> Finder:
        """What the client's connection finds now."""
        return Finder(self._con, self._database, self._all_macros)

    def _all_macros(self, read: Callable[[], list[FoundObject]]) -> list[FoundObject]:
        """The macros, which DuckDB lists slowly, as long as nobody has changed anything.

        What a transaction sees is true of what was there before it began, and of nothing later.
        """
        latest = self._latest()
        if self._macros[0] is latest:
            return self._macros[1]
        macros = read()
        if self._began is latest:
            self._macros = latest, macros
        return macros

    def check(self, allowed: Iterable[Allowed]) -> None:
        """Refuse statements, all of them, for which the user lacks a right.

        Raises:
            ForbiddenError: in PostgreSQL's words.
        """
        statements, finder = list(allowed), self.finder()
        if self._seen and not self.who.is_admin:
            finder.all("table")  # before rights and macros are looked at: others may change them now
        for rights in self._held():
            look = _Statements(self._con, finder, rights, self.who, self._known)
            self._effects = [change for each in statements for change in look.judged(each)]

    def _now(self) -> list[Rights]:
        """What holds now, and what would with what others have just changed; without this transaction's own.

        DuckDB shows others a new name before the file of rights tells it.
        """
        announced = self._store.coming(self._database)  # first: they end when `rights` tells them
        now = self._store.rights(self._database)
        return [*(reduce(changed, coming, now) for coming in announced), now]

    def _held(self) -> list[Rights]:
        """All rights under which the names that the transaction sees may stand: those of now come last.

        It sees what others have dropped and renamed since it began, with whose names the rights are gone.
        """
        held: list[Rights] = []
        for rights in [*self._seen, *self._now()][::-1]:
            held += [rights] if rights not in held else []
        return [reduce(changed, self._pending, each) for each in reversed(held)]

    def transaction_began(self) -> None:
        """A transaction has just begun; what it sees is settled now, where DuckDB would as it first looks."""
        self._began, self._seen = self._latest(), self._now()
        if not self.who.is_admin:
            self._con.execute(_LOOK).fetchall()
            self._seen += self._now()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Within, what was judged last, and the transaction, comes to hold, at first in DuckDB alone."""
        with self._store.announcing(self._database, [*self._pending, *self._effects]):
            yield

    def happened(self) -> None:
        """The statement that was judged last did what it should."""
        self.change(self._effects)
        self._effects = []

    def change(self, changes: Sequence[Change]) -> None:
        """Have rights changed: with the transaction, if there is one.

        Raises:
            OSError: the file cannot be written.
        """
        self._pending += changes
        if self._pending and not self._in_transaction():
            self.transaction_ended(True)

    def transaction_ended(self, commits: bool) -> None:
        """What was changed in it holds for all, or is undone."""
        pending, self._pending = self._pending, []
        self._began, self._seen = None, []
        if commits:
            self._store.change(self._database, pending)


class _Statements:
    """Judges the statements of one text."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, found: Finder, rights: Rights, who: Who,
        known: Callable[[str], Who],
    ) -> None:  # fmt: skip
        self._con, self._who = con, who
        self._look = RightsLook(found, rights, who, known)
        self._defining = Defining(found, rights, who, self._look)

    def judged(self, allowed: Allowed) -> list[Change]:
        """Refuse a statement, or tell what it changes of what rights are on."""
        first = _first_word(allowed)
        if first == "execute":
            return [change for each in self._prepared(allowed.text) for change in self.judged(each)]
        for each in allowed.inner:  # of EXPLAIN and PREPARE, which define nothing
            self.judged(each)
        if first in _DEFINES and allowed.type != Type.SELECT:
            self._look.check_asks(allowed.text)
            return self._defining.effects(read_definition(allowed.text), allowed.text)
        if first not in _FREE and not self._look.is_free:
            self._statement(allowed, first)
        return []

    def _statement(self, allowed: Allowed, first: str) -> None:
        text = allowed.text.rstrip("; \t\r\n\f\v")
        if first == "pragma" and "storage_info" not in folded(text):
            return
        if first in ("call", "pragma"):  # whose arguments may be any expressions, as those of functions
            here = words(text)
            pragma, place = ("pragma_storage_info", 2) if first == "pragma" else ("", 1)
            text = f"FROM {pragma}{text.encode()[here[place].start :].decode() if here[place:] else ''}"
        needs = None
        if len(text) <= LONG:
            needs = needs_of(text, allowed.type in WRITES or first == "copy")
        if needs is None:
            needs = self._look.sought(text, first, allowed.type)
            needs.is_hidden |= first == "export"
        elif first == "truncate":
            needs.tables = [("TRUNCATE", path) for _, path in needs.tables]
        self._look.check(needs, self._who)

    def _prepared(self, text: str) -> Iterator[Allowed]:
        """The statement of an EXECUTE."""
        name = check_name(words(text)[1]).name
        for other, statement in self._con.execute(_PREPARED).fetchall():
            if other.lower() == name:
                for each in self._con.extract_statements(statement):
                    yield Allowed(each.type, each.query)


def _first_word(allowed: Allowed) -> str:
    if len(allowed.text) > LONG:
        return allowed.type.name.lower()  # one of SELECT, INSERT, UPDATE and DELETE
    here = words(allowed.text)
    return here[0].plain if here else ""
