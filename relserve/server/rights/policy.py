"""Whether a user may do something to a table or a schema: PostgreSQL's rules over what was granted.

Pure: a `Rights` is what holds at one moment, and a change makes another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

PUBLIC = "public"  # everybody
READS, WRITES = "pg_read_all_data", "pg_write_all_data"  # PostgreSQL's roles for all tables at once
PREDEFINED = frozenset([READS, WRITES])
NOBODY = ""  # owns what a user owned who is gone
MAIN = "main"  # DuckDB's schema that is there from the start, as PostgreSQL's `public`
ON_TABLES = frozenset("SELECT INSERT UPDATE DELETE TRUNCATE REFERENCES TRIGGER".split())
ON_SCHEMAS = frozenset(["USAGE", "CREATE"])
_READING = frozenset(["SELECT", "USAGE"])
_WRITING = frozenset(["INSERT", "UPDATE", "DELETE", "USAGE"])


class Thing(NamedTuple):
    """What rights are on.

    Attributes:
        kind: "table", which a view is, too, "schema", "macro", "sequence" or "type".
        schema: in which it is; of a schema its own name.
        name: of a schema empty. Both as `folded` gives them.
    """

    kind: str
    schema: str
    name: str = ""


class RightsEntry(NamedTuple):
    """What is known of a thing.

    Attributes:
        owner: who made it; None: an admin, or somebody before this server kept it.
        grants: privileges by role; None: nobody has granted or revoked anything.
    """

    owner: str | None = None
    grants: Mapping[str, frozenset[str]] | None = None


class Who(NamedTuple):
    """A user, or a role whose rights a view has.

    Attributes:
        is_read_only: may write nothing, whatever was granted.
    """

    name: str
    is_admin: bool = False
    is_read_only: bool = False


ADMIN = Who("", is_admin=True)


@dataclass(frozen=True)
class Rights:
    """What holds in one database.

    Attributes:
        roles: names of those that nobody logs in by.
        members: of which roles a user or role is a member, without those of which these are.
        is_strict: whether what nobody has granted is its owner's and the admins' alone, as in PostgreSQL;
            else it is everybody's.
    """

    entries: Mapping[Thing, RightsEntry] = field(default_factory=dict)
    roles: frozenset[str] = frozenset()
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)
    is_strict: bool = False

    def may(self, who: Who, privilege: str, thing: Thing) -> bool:
        """Whether a user has a privilege, by any of their roles."""
        if who.is_admin:
            return True
        if who.is_read_only and privilege not in _READING:
            return False
        names = self.roles_of(who.name)
        entry = self.entries.get(thing, RightsEntry())
        if (READS in names and privilege in _READING) or (WRITES in names and privilege in _WRITING):
            return True
        if entry.owner in names:
            return True
        if entry.grants is None:
            return not self.is_strict or privilege in _at_first(thing).get(PUBLIC, ())
        return any(privilege in entry.grants.get(name, ()) for name in names)

    def owns(self, who: Who, thing: Thing) -> bool:
        """Whether a user may drop and alter a thing."""
        if who.is_admin or who.is_read_only:
            return who.is_admin
        entry = self.entries.get(thing, RightsEntry())
        if entry.grants is None and not self.is_strict:
            return True
        return entry.owner in self.roles_of(who.name)

    def is_governed(self, thing: Thing) -> bool:
        """Whether anything was granted or revoked on a thing."""
        return self.entries.get(thing, RightsEntry()).grants is not None

    def may_grant(self, who: Who, thing: Thing) -> bool:
        """Whether a user may say who else may use a thing."""
        entry = self.entries.get(thing, RightsEntry())
        return who.is_admin or (entry.owner in self.roles_of(who.name) and not who.is_read_only)

    def concern(self, who: Who) -> bool:
        """Whether there can be anything that a user may not do."""
        if who.is_admin:
            return False
        return self.is_strict or who.is_read_only or any(e.grants is not None for e in self.entries.values())

    def runs_as(self, view: Thing, asks: str) -> str | None:
        """With whose rights a view reads: its owner's, once anything was granted on it; else who asks.

        None: an admin's.
        """
        entry = self.entries.get(view, RightsEntry())
        return asks if entry.grants is None and not self.is_strict else entry.owner

    def roles_of(self, name: str) -> frozenset[str]:
        """A user's name and the roles that they have, PUBLIC among them; nobody is no role."""
        found = {PUBLIC}
        left = [name] if name not in (NOBODY, *PREDEFINED) else []
        while left:
            each = left.pop()
            if each not in found:
                found.add(each)
                left += self.members.get(each, ())
        return frozenset(found)

    def mentions(self, role: str) -> bool:
        """Whether anything is a role's, or was granted to it."""
        return any(entry.owner == role or role in (entry.grants or ()) for entry in self.entries.values())


class Granted(NamedTuple):
    """GRANT or, where `is_taken`, REVOKE of privileges on a thing."""

    thing: Thing
    roles: Set[str]
    privileges: Set[str]
    is_taken: bool = False


class Created(NamedTuple):
    """A thing that was not there before."""

    thing: Thing
    owner: str | None


class Dropped(NamedTuple):
    """A thing that is gone; a schema with all in it."""

    thing: Thing


class Renamed(NamedTuple):
    """A thing that has another name, or is in another schema."""

    thing: Thing
    now: Thing


class Owned(NamedTuple):
    """A thing that is somebody else's from now on."""

    thing: Thing
    owner: str | None


class Joined(NamedTuple):
    """GRANT or, where `is_taken`, REVOKE of roles: who has them from now on, or no more."""

    roles: Set[str]
    members: Set[str]
    is_taken: bool = False


class RoleMade(NamedTuple):
    """CREATE ROLE, or DROP ROLE where `is_gone`; the role of a user is gone with `relserve user remove`."""

    name: str
    is_gone: bool = False


Change = Granted | Created | Dropped | Renamed | Owned | Joined | RoleMade


def changed(rights: Rights, change: Change) -> Rights:
    """What holds after a change."""
    match change:
        case Joined(roles, members, is_taken):
            now = {name: rights.members.get(name, frozenset()) for name in {*rights.members, *members}}
            now |= {name: now[name] - roles if is_taken else now[name] | roles for name in members}
            return replace(rights, members={name: of for name, of in now.items() if of})
        case RoleMade(name, False):
            return replace(rights, roles=rights.roles | {name})
        case RoleMade(name, True):
            return _without(rights, name)
    return replace(rights, entries=_entries(dict(rights.entries), change))


def _entries(entries: dict[Thing, RightsEntry], change: Change) -> dict[Thing, RightsEntry]:
    match change:
        case Granted(thing, roles, privileges, is_taken):
            entry = entries.get(thing, RightsEntry())
            grants = dict(_at_first(thing) if entry.grants is None else entry.grants)
            for role in roles:
                before = grants.get(role, frozenset())
                grants[role] = before - privileges if is_taken else before | privileges
            entries[thing] = entry._replace(grants={role: some for role, some in grants.items() if some})
        case Created(thing, owner):
            _drop(entries, thing)
            if owner is not None:
                entries[thing] = RightsEntry(owner)
        case Dropped(thing):
            _drop(entries, thing)
        case Renamed(thing, now):
            _drop(entries, now)
            for each in [each for each in entries if _is_in(each, thing)]:
                to = now if each == thing else each._replace(schema=now.schema)
                entries[to] = entries.pop(each)
        case Owned(thing, owner):
            entries[thing] = entries.get(thing, RightsEntry())._replace(owner=owner)
    return entries


def _at_first(thing: Thing) -> Mapping[str, frozenset[str]]:
    """What the first GRANT adds to, as in PostgreSQL: everybody may look into the first schema."""
    return {PUBLIC: frozenset(["USAGE"])} if thing == Thing("schema", MAIN) else {}


def _drop(entries: dict[Thing, RightsEntry], thing: Thing) -> None:
    for each in [each for each in entries if _is_in(each, thing)]:
        del entries[each]


def _is_in(thing: Thing, other: Thing) -> bool:
    return thing == other or (other.kind == "schema" and thing.schema == other.schema)


def _without(rights: Rights, name: str) -> Rights:
    """Without a role or user: another one of that name later gets nothing of theirs."""
    entries = {
        thing: RightsEntry(
            NOBODY if entry.owner == name else entry.owner,
            entry.grants and {role: some for role, some in entry.grants.items() if role != name},
        )
        for thing, entry in rights.entries.items()
    }
    members = {each: roles - {name} for each, roles in rights.members.items() if each != name}
    return replace(rights, entries=entries, roles=rights.roles - {name}, members=members)
