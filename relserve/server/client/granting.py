"""GRANT, REVOKE and their like for one client: who may say so, and what of it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from relserve.errors import ForbiddenError, ProtocolError
from relserve.server.client.notices import Say
from relserve.server.rights.found import Finder, FoundObject
from relserve.server.rights.grants import Grant, Granting, GrantRole, OwnerChange, Role
from relserve.server.rights.judge import StatementJudge
from relserve.server.rights.look import kind_of
from relserve.server.rights.needs import Path
from relserve.server.rights.policy import (
    ON_SCHEMAS,
    ON_TABLES,
    PREDEFINED,
    PUBLIC,
    Change,
    Granted,
    Joined,
    Owned,
    Rights,
    RoleMade,
    Thing,
    Who,
)
from relserve.server.users.users import User, Users
from relserve.text2sql.guard.names import folded

_NOW_GOVERNED = (
    "from now on only its owner, admins and those to whom it was granted may use {}; before, everybody might"
)


def who_is(user: User) -> Who:
    """A user, for questions of rights."""
    return Who(user.name, user.is_admin, user.is_read_only)


def known_by(users: Users) -> Callable[[str], Who]:
    """Who a role is, by its name: a user, or nobody who logs in."""

    def known(name: str) -> Who:
        user = users.find(name)
        return Who(name) if user is None else who_is(user)

    return known


class Granter:
    """Grants for one client.

    Args:
        judge: the client's.
        say: sends a notice.
    """

    def __init__(self, judge: StatementJudge, users: Users, say: Say) -> None:
        self._judge, self._users, self._say = judge, users, say

    def grant(self, asked: Granting) -> None:
        """Do it; with the client's transaction.

        Raises:
            ProtocolError, ForbiddenError: it cannot be done, in PostgreSQL's words.
            OSError: the file of rights cannot be written.
        """
        match asked:
            case Grant():
                changes = list(self._grant(asked))
            case GrantRole():
                changes = list(self._grant_role(asked))
            case Role():
                changes = list(self._role(asked))
            case OwnerChange():
                changes = list(self._owner(asked))
        self._judge.change(changes)

    @property
    def _rights(self) -> Rights:
        return self._judge.rights()

    def _grant(self, asked: Grant) -> Iterator[Change]:
        things = list(self._things(asked.kind, asked.names, asked.all_in))
        self._check_roles(asked.roles)
        privileges = asked.privileges or (ON_TABLES if asked.kind == "table" else ON_SCHEMAS)
        for thing, kind in things:
            name = thing.name or thing.schema
            if not self._rights.may_grant(self._judge.who, thing):
                self._refuse(thing, name)
                self._say("WARNING", f'no privileges {_were(asked)} for "{name}"')
                continue
            if not self._rights.is_strict and not self._rights.is_governed(thing):
                self._say("NOTICE", _NOW_GOVERNED.format(f"{kind} {name}"))
            yield Granted(thing, asked.roles, privileges, asked.is_taken)

    def _refuse(self, thing: Thing, name: str) -> None:
        """As PostgreSQL: an error to who may do nothing with the thing, a warning to others."""
        privileges = ON_SCHEMAS if thing.kind == "schema" else ON_TABLES
        if not any(self._rights.may(self._judge.who, each, thing) for each in privileges):
            raise ForbiddenError(f"permission denied for {thing.kind} {name}")

    def _things(self, kind: str, names: Iterable[Path], all_in: bool = False) -> Iterator[tuple[Thing, str]]:
        """What names mean, each with its kind in PostgreSQL's words."""
        finder = self._judge.finder()
        for path in names:
            if kind == "schema" or all_in:
                schema = _schema(finder, path)
                if kind == "schema":
                    yield schema, "schema"
                for each in finder.all("table") if all_in else ():
                    if finder.schema_of(each) == schema:
                        yield finder.thing("table", each), kind_of(each)
            else:
                found = _one(finder, path)
                yield finder.thing("table", found), kind_of(found)

    def _grant_role(self, asked: GrantRole) -> Iterator[Change]:
        self._check_roles(asked.roles | asked.members, public=False)
        if not self._judge.who.is_admin:
            raise ForbiddenError(f'must have admin option on role "{min(asked.roles)}"')
        for role in asked.roles if not asked.is_taken else ():
            for member in asked.members:
                if member in self._rights.roles_of(role):
                    raise ProtocolError(f'role "{member}" is a member of role "{role}"', "0LP01")
        yield Joined(asked.roles, asked.members, asked.is_taken)

    def _role(self, asked: Role) -> Iterator[Change]:
        if not self._judge.who.is_admin:
            raise ForbiddenError(f"permission denied to {'drop' if asked.is_gone else 'create'} role")
        for name in asked.names:
            if not asked.is_gone:
                yield from self._made(name, asked.within)
            elif name in self._rights.roles:
                if self._rights.mentions(name):
                    raise ProtocolError(
                        f'role "{name}" cannot be dropped because some objects depend on it', "2BP01"
                    )
                yield RoleMade(name, is_gone=True)
            elif self._users.find(name) is not None:
                hint = f"`relserve user remove {name}` takes a user out."
                raise ProtocolError(f'"{name}" is a user of this server, and no role', "0A000", hint)
            elif asked.may_lack:
                self._say("NOTICE", f'role "{name}" does not exist, skipping')
            else:
                raise ProtocolError(f'role "{name}" does not exist', "42704")

    def _made(self, name: str, within: frozenset[str]) -> Iterator[Change]:
        if name == PUBLIC or name.startswith("pg_"):
            raise ProtocolError(f'role name "{name}" is reserved', "42939")
        if self._is_role(name):
            raise ProtocolError(f'role "{name}" already exists', "42710")
        self._check_roles(within, public=False)
        yield RoleMade(name)
        if within:
            yield Joined(within, frozenset([name]))

    def _owner(self, asked: OwnerChange) -> Iterator[Change]:
        ((thing, kind),) = self._things(asked.kind, [asked.name])
        self._check_roles([asked.role], public=False)
        who = self._judge.who
        if not self._rights.may_grant(who, thing):
            raise ForbiddenError(f"must be owner of {kind} {thing.name or thing.schema}")
        if not who.is_admin and asked.role not in self._rights.roles_of(who.name):
            raise ForbiddenError(f'must be member of role "{asked.role}"')
        user = self._users.find(asked.role)
        yield Owned(thing, None if user is not None and user.is_admin else asked.role)

    def _check_roles(self, names: Iterable[str], public: bool = True) -> None:
        for name in sorted(names):
            if not (self._is_role(name) or (public and name == PUBLIC)):
                raise ProtocolError(f'role "{name}" does not exist', "42704")

    def _is_role(self, name: str) -> bool:
        return name in self._rights.roles | PREDEFINED or self._users.find(name) is not None


def _were(asked: Grant) -> str:
    return "could be revoked" if asked.is_taken else "were granted"


def _schema(finder: Finder, path: Path) -> Thing:
    for each in finder.all("schema"):
        if each.schema == folded(path[-1]) and each.database == finder.database:
            return finder.schema_of(each)
    raise ProtocolError(f'schema "{path[-1]}" does not exist', "3F000")


def _one(finder: Finder, path: Path) -> FoundObject:
    found = finder.called("table", path)
    name = ".".join(path)
    if not found:
        raise ProtocolError(f'relation "{name}" does not exist', "42P01")
    if len(found) > 1:
        raise ProtocolError(f'"{name}" is in several schemas of the search path: write its schema', "42P09")
    if found[0].is_temporary:
        raise ProtocolError(f'"{name}" is temporary, and nobody else sees it', "0A000")
    return found[0]
