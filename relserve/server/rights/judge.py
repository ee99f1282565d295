"""Refuses a client's statements for which their user has no rights, as PostgreSQL would.

What a statement reads and changes, DuckDB's parser tells (`needs`), or it is sought in the text; what names
mean, the client's connection tells (`found`). A view reads with its owner's rights, a macro with those of
who calls it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce

import duckdb
from duckdb import StatementType as Type

from relserve.errors import ForbiddenError
from relserve.server.client.changes import CATALOG
from relserve.server.rights.definitions import Definition, read_definition, target_of
from relserve.server.rights.found import Finder, Found
from relserve.server.rights.needs import BY_TEXT, Needs, Path, needs_of
from relserve.server.rights.policy import (
    ADMIN,
    MAIN,
    Change,
    Created,
    Dropped,
    Renamed,
    Rights,
    Thing,
    Who,
    changed,
    folded,
)
from relserve.server.rights.store import RightsStore
from relserve.server.users.definitions import query_place
from relserve.server.users.long_texts import LONG
from relserve.server.users.statements import Allowed
from relserve.server.users.words import words

_WRITES = (Type.INSERT, Type.UPDATE, Type.DELETE)
_DEFINES = frozenset(["create", "alter", "drop", "comment"])
_FREE = frozenset(  # they read and change no table
    "begin start commit end rollback abort deallocate use reset checkpoint force vacuum analyze attach "
    "detach load install prepare explain execute".split()
)
_ASKS = frozenset(["text2sql", "text2sql_query"])  # the SQL of their answers is not known yet
_PREPARED = "SELECT statement FROM system.main.duckdb_prepared_statements() WHERE system.main.lower(name) = ?"
_ACTIONS = {"merge": ("UPDATE", "INSERT", "DELETE"), "copy": ("INSERT",), "truncate": ("TRUNCATE",)}


class Judge:
    """Judges the statements of one client.

    Args:
        con: the client's.
        database: the server's own, by name.
        known: who a role is, by its name.
        in_transaction: whether what is done now may still be undone.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, store: RightsStore, database: str, who: Who,
        known: Callable[[str], Who], in_transaction: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._con, self._store, self._database, self.who = con, store, database, who
        self._known, self._in_transaction = known, in_transaction
        self._macros: tuple[object, list[Found]] = object(), []  # and what they were true of
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

    def _all_macros(self, read: Callable[[], list[Found]]) -> list[Found]:
        """The macros, which DuckDB lists slowly, as long as nobody has changed anything."""
        latest = CATALOG.latest
        if self._macros[0] is not latest:
            self._macros = latest, read()
        return self._macros[1]

    def check(self, allowed: Iterable[Allowed]) -> None:
        """Refuse statements, all of them, for which the user lacks a right.

        Raises:
            ForbiddenError: in PostgreSQL's words.
        """
        self._effects = []
        look = _Look(self._con, self.finder(), self.rights(), self.who, self._known)
        for each in allowed:
            self._effects += look.judged(each)

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
        if commits:
            self._store.change(self._database, pending)


class _Look:
    """One look at a text."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        found: Finder,
        rights: Rights,
        who: Who,
        known: Callable[[str], Who],
    ) -> None:
        self._con, self._found, self._rights, self._who, self._known = con, found, rights, who, known
        self._is_free = not rights.concern(who)
        self._done: set[tuple[Who, str, str]] = set()  # views and macros whose bodies are judged

    def judged(self, allowed: Allowed) -> list[Change]:
        """Refuse a statement, or tell what it changes of what rights are on."""
        first = _first_word(allowed)
        if first == "execute":
            return [change for each in self._prepared(allowed.text) for change in self.judged(each)]
        for each in allowed.inner:  # of EXPLAIN and PREPARE, which define nothing
            self.judged(each)
        if first in _DEFINES and allowed.type != Type.SELECT:
            return self._definition(read_definition(allowed.text), allowed.text)
        if first not in _FREE and not self._is_free:
            self._statement(allowed, first)
        return []

    def _statement(self, allowed: Allowed, first: str) -> None:
        text = allowed.text.rstrip("; \t\r\n\f\v")
        if first == "pragma" and "storage_info" not in folded(text):
            return
        if first == "call":
            text = f"FROM {text[4:]}"
        needs = None
        if len(text) <= LONG:
            needs = needs_of(text, allowed.type in _WRITES or first == "copy")
        if needs is None:
            needs = self._sought(text, first, allowed.type)
            needs.is_hidden |= first == "export"
        elif first == "truncate":
            needs.tables = [("TRUNCATE", path) for _, path in needs.tables]
        self._check(needs, self._who)

    def _prepared(self, text: str) -> Iterator[Allowed]:
        name = words(text)[1].name
        for (statement,) in self._con.execute(_PREPARED, [name]).fetchall():
            for each in self._con.extract_statements(statement):
                yield Allowed(each.type, each.query)

    def _sought(self, text: str, first: str, kind: Type) -> Needs:
        """What a text may need of which DuckDB's parser tells nothing: all tables whose names are in it."""
        needs = Needs()
        own: list[Found] = []
        if first in _ACTIONS or kind in _WRITES:
            path = target_of(text)
            own = self._found.called("table", path)
            written = [each for each in _ACTIONS["merge"] if re.search(rf"(?i)\b{each}\b", text)]
            actions = written if first == "merge" else _ACTIONS.get(first) or [kind.name]
            needs.tables += [(action, path) for action in actions]
            needs.is_hidden = not path
        text = folded(text)
        for each in self._found.all("table"):
            count = _count(each.name, text)
            if count > (1 if each in own and first != "merge" else 0):
                needs.loose.add(each.name)
        needs.calls |= {each.name for each in self._found.all("macro") if _count(each.name, text)}
        needs.is_hidden |= any(_count(name, text) for name in BY_TEXT - {"histogram"})
        needs.calls |= {name for name in _ASKS if _count(name, text)}
        return needs

    def _check(self, needs: Needs, reader: Who, view: Found | None = None) -> None:
        """Refuse what the reader lacks a right for.

        Args:
            view: in which the names stand.
        """
        within = view.schema if view is not None else None
        for privilege, path in needs.tables:
            for each in self._found.called("table", path, within):
                self._need(privilege, each, reader, None if len(path) > 1 else view)
        for each in self._found.all("table") if needs.loose else ():
            if each.name in needs.loose:
                self._need("SELECT", each, reader, view)
        self._check_calls(needs)

    def _need(self, privilege: str, found: Found, reader: Who, view: Found | None) -> None:
        if found.is_temporary and not found.is_view:
            return
        if not found.is_temporary:
            # what a view's bare name means elsewhere, the search path of who asks decides
            own = view is None or (found.database, found.schema) in (view[:2], (view.database, MAIN))
            for who in [reader] if own else dict.fromkeys([reader, self._who]):
                self._require(who, privilege, found)
        if found.is_view:
            self._check_view(found, reader)

    def _require(self, who: Who, privilege: str, found: Found) -> None:
        if not self._rights.may(who, "USAGE", self._found.schema_of(found)):
            raise ForbiddenError(f"permission denied for schema {found.schema}")
        if not self._rights.may(who, privilege, self._found.thing("table", found)):
            raise ForbiddenError(f"permission denied for {_kind_of(found)} {found.name}")

    def _check_view(self, view: Found, asks: Who) -> None:
        name = self._rights.runs_as(self._found.thing("table", view), asks.name)
        reader = ADMIN if name is None else asks if name == asks.name else self._known(name)
        if view.is_temporary:
            reader = self._who
        if (reader, view.schema, view.name) in self._done:
            return
        self._done.add((reader, view.schema, view.name))
        sql = (view.sql or "").rstrip("; \n")
        here = words(sql)
        place = query_place(here)
        body = sql.encode()[here[place].start :].decode() if place is not None else sql
        needs = needs_of(body)
        self._check(needs if needs is not None else self._sought(body, "", Type.SELECT), reader, view)

    def _check_calls(self, needs: Needs) -> None:
        if needs.is_hidden or needs.calls & _ASKS:
            if self._may_read_all():
                return
            what = "text2sql" if needs.calls & _ASKS else "query_table"
            raise ForbiddenError(
                f"permission denied for function {what}: it reads tables that are only known when it runs, "
                "and you may not read all of this database"
            )
        called = {name for name in needs.calls if (self._who, "", name) not in self._done}
        self._done |= {(self._who, "", name) for name in called}
        for macro in self._found.all("macro") if called else ():
            if macro.name in called:
                self._check_macro(macro.sql or "")

    def _check_macro(self, body: str) -> None:
        told = needs_of(body, in_macro=True) or needs_of(f"SELECT ({body}\n)", in_macro=True)
        self._check(told if told is not None else self._sought(body, "", Type.SELECT), self._who)

    def _may_read_all(self) -> bool:
        things = [
            self._found.thing("table", each) for each in self._found.all("table") if not each.is_temporary
        ]
        return all(self._rights.may(self._who, "SELECT", thing) for thing in things)

    # Definitions.

    def _definition(self, it: Definition, text: str) -> list[Change]:
        if it.kind is None:
            if not self._is_free:
                raise ForbiddenError(f"permission denied for database {it.verb}: only an admin may do that")
            return []
        if it.verb == "create":
            return self._created(it, text)
        changes: list[Change] = []
        for path in it.names if it.kind != "trigger" else ():
            for thing in self._owned(it.kind, path):
                if it.verb == "drop":
                    changes.append(Dropped(thing))
                elif it.renamed is not None and it.kind == "schema":
                    changes.append(Renamed(thing, Thing("schema", it.renamed)))
                elif it.renamed is not None:
                    changes.append(Renamed(thing, thing._replace(name=it.renamed)))
        for path in it.on:
            list(self._owned("table", path))
        return changes if it.kind != "index" else []

    def _created(self, it: Definition, text: str) -> list[Change]:
        for path in it.on:
            if it.kind == "table":
                self._check(Needs([("REFERENCES", path)]), self._who)
            else:
                list(self._owned("table", path))
        if it.kind in ("table", "type") and not self._is_free:
            self._check_query(text)
        if it.is_temporary or it.kind in ("index", "trigger"):
            return []
        assert it.kind is not None
        thing = self._found.to_make(it.kind, it.names[0])
        self._check_place(thing)
        there = [each for each in self._found.all(it.kind) if self._found.thing(it.kind, each) == thing]
        if there:
            if "replace" in [word.plain for word in words(text)[:4]]:
                self._must_own(thing, there[0])
            return []
        return [Created(thing, None if self._who.is_admin else self._who.name)]

    def _check_place(self, thing: Thing) -> None:
        rights, who = self._rights, self._who
        if thing.kind == "schema":
            if not who.is_admin and (rights.is_strict or who.is_read_only):
                raise ForbiddenError(f"permission denied for database {self._database_of(thing)}")
        elif not rights.may(who, "CREATE", Thing("schema", thing.schema)):
            raise ForbiddenError(f"permission denied for schema {thing.schema}")

    def _check_query(self, text: str) -> None:
        here = words(text)
        place = query_place(here)
        if place is not None and place < len(here):
            body = text.encode()[here[place].start :].decode().rstrip("; \t\r\n\f\v")
            needs = needs_of(body) or needs_of(f"SELECT * FROM (\n{body}\n)")
            self._check(needs or self._sought(body, "", Type.SELECT), self._who)

    def _owned(self, kind: str, path: Path) -> Iterator[Thing]:
        """What a name means, all of it the user's own.

        Raises:
            ForbiddenError: something is not.
        """
        if kind == "schema":
            made = self._found.to_make("schema", path)
            yield self._must_own(made, None)
            return
        for each in self._found.called(kind, path):
            if each.is_temporary:
                continue
            if kind == "index":
                yield from self._owned("table", (each.database, each.schema, each.sql or ""))
            else:
                yield self._must_own(self._found.thing(kind, each), each)

    def _must_own(self, thing: Thing, found: Found | None) -> Thing:
        if not self._rights.owns(self._who, thing):
            kind = _kind_of(found) if found is not None and thing.kind == "table" else thing.kind
            kind = "function" if kind == "macro" else kind
            raise ForbiddenError(f"must be owner of {kind} {thing.name or thing.schema}")
        return thing

    def _database_of(self, thing: Thing) -> str:
        return thing.schema.rpartition(".")[0] or self._found.database


def _kind_of(found: Found) -> str:
    return "view" if found.is_view else "table"


def _first_word(allowed: Allowed) -> str:
    if len(allowed.text) > LONG:
        return allowed.type.name.lower()  # one of SELECT, INSERT, UPDATE and DELETE
    here = words(allowed.text)
    return here[0].plain if here else ""


def _count(name: str, text: str) -> int:
    """How often a name may stand in a text, between quotes, too."""
    ways = {name, name.replace('"', '""'), name.replace("'", "''")}
    return max(len(re.findall(rf"(?<!\w){re.escape(way)}(?!\w)", text)) for way in ways)
