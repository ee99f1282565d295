"""Refuses to create, alter and drop what a user does not own, and tells what becomes of the rights on it."""

from __future__ import annotations

from collections.abc import Iterator

from relserve.errors import ForbiddenError
from relserve.server.rights.definitions import Definition
from relserve.server.rights.found import Finder, FoundObject
from relserve.server.rights.look import RightsLook, kind_of
from relserve.server.rights.needs import Path, StatementNeeds
from relserve.server.rights.policy import Change, Created, Dropped, Renamed, Rights, Thing, Who
from relserve.server.users.words import words


class Defining:
    """One look at a definition; see `RightsLook`."""

    def __init__(self, found: Finder, rights: Rights, who: Who, look: RightsLook) -> None:
        self._found, self._rights, self._who, self._look = found, rights, who, look

    def effects(self, it: Definition, text: str) -> list[Change]:
        """Refuse a definition, or tell what it changes of what rights are on.

        Raises:
            ForbiddenError: the user may not do that.
        """
        if it.kind is None:
            if not self._look.is_free:
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
                self._look.check(StatementNeeds([("REFERENCES", path)]), self._who)
            else:
                list(self._owned("table", path))
        if it.kind in ("table", "type") and not self._look.is_free:
            self._look.check_query(text)
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

    def _must_own(self, thing: Thing, found: FoundObject | None) -> Thing:
        if not self._rights.owns(self._who, thing):
            kind = kind_of(found) if found is not None and thing.kind == "table" else thing.kind
            kind = "function" if kind == "macro" else kind
            raise ForbiddenError(f"must be owner of {kind} {thing.name or thing.schema}")
        return thing

    def _database_of(self, thing: Thing) -> str:
        return thing.schema.rpartition(".")[0] or self._found.database
