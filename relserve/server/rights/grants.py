"""GRANT, REVOKE, CREATE ROLE, DROP ROLE and ALTER .. OWNER TO, read from their text.

sqlglot cuts the text; of most of these statements it has no tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot.dialects import Postgres
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from relserve.errors import ProtocolError
from relserve.server.rights.needs import Path
from relserve.server.rights.policy import ON_SCHEMAS, ON_TABLES, PUBLIC

_PRIVILEGES = {"table": ON_TABLES, "schema": ON_SCHEMAS}
_OTHERS = frozenset("sequence function procedure routine database type domain language foreign large".split())
_LOGIN = "users with passwords are made by `relserve user add NAME`, on the server's machine"


class Grant(NamedTuple):
    """GRANT of privileges, or REVOKE.

    Attributes:
        kind: "table" or "schema".
        names: of tables or schemas, or where `all_in` of schemas whose tables are meant.
        privileges: None: all.
    """

    is_taken: bool
    kind: str
    names: Sequence[Path]
    all_in: bool
    privileges: frozenset[str] | None
    roles: frozenset[str]

    @property
    def tag(self) -> str:
        """The command tag."""
        return "REVOKE" if self.is_taken else "GRANT"


class GrantRole(NamedTuple):
    """GRANT of roles, or REVOKE."""

    is_taken: bool
    roles: frozenset[str]
    members: frozenset[str]

    @property
    def tag(self) -> str:
        """The command tag."""
        return "REVOKE ROLE" if self.is_taken else "GRANT ROLE"


class Role(NamedTuple):
    """CREATE ROLE, in other ones from the start; DROP ROLE of several."""

    is_gone: bool
    names: Sequence[str]
    within: frozenset[str] = frozenset()
    may_lack: bool = False

    @property
    def tag(self) -> str:
        """The command tag."""
        return "DROP ROLE" if self.is_gone else "CREATE ROLE"


class OwnerChange(NamedTuple):
    """ALTER TABLE, VIEW or SCHEMA name OWNER TO role."""

    kind: str
    name: Path
    role: str
    tag: str


Granting = Grant | GrantRole | Role | OwnerChange


def read_granting(statement: str) -> Granting | None:
    """What a statement says of rights; None where it is another one.

    Raises:
        ProtocolError: it is wrong (42601), or this server has nothing like it (0A000).
    """
    try:
        tokens = Postgres.Tokenizer().tokenize(statement)
    except TokenError as error:
        raise ProtocolError(f"syntax error: {error}", "42601") from None
    at = _Reader(tokens)
    if at.takes("grant"):
        return _grant(at, is_taken=False)
    if at.takes("revoke"):
        return _grant(at, is_taken=True)
    for verb in ("create", "drop"):
        if at.takes(verb) and any(at.takes(word) for word in ("role", "user", "group")):
            return _role(at, verb)
    return _owner(at)


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._at = tokens, 0

    @property
    def word(self) -> str:
        """The next word in small letters; of a quoted name nothing."""
        token = self._next()
        return token.text.lower() if token and token.token_type != TokenType.IDENTIFIER else ""

    def takes(self, *words: str) -> bool:
        """Go past these words if they come next."""
        start = self._at
        for each in words:
            if self.word != each:
                self._at = start
                return False
            self._at += 1
        return True

    def expects(self, *words: str) -> None:
        """Go past a word, one of these."""
        if not any(self.takes(each) for each in words):
            raise self.wrong()

    def name(self) -> str:
        """A name as PostgreSQL reads it."""
        token = self._next()
        if token is None or token.token_type in (TokenType.STRING, TokenType.NUMBER) or not token.text:
            raise self.wrong()
        is_quoted = token.token_type == TokenType.IDENTIFIER
        if not is_quoted and not (token.text[0].isalpha() or token.text[0] == "_"):
            raise self.wrong()
        self._at += 1
        return token.text if is_quoted else token.text.lower()

    def path(self) -> Path:
        """A name in its parts."""
        parts = [self.name()]
        while self.takes("."):
            parts.append(self.name())
        return tuple(parts)

    def names(self) -> list[str]:
        """Names with commas between them."""
        found = [self.name()]
        while self.takes(","):
            found.append(self.name())
        return found

    def paths(self) -> list[Path]:
        """The same of names in parts."""
        found = [self.path()]
        while self.takes(","):
            found.append(self.path())
        return found

    def grantees(self) -> frozenset[str]:
        """Roles, of which PUBLIC is everybody."""
        found = []
        while True:
            self.takes("group")
            token = self._next()
            name = self.name()
            is_quoted = token is not None and token.token_type == TokenType.IDENTIFIER
            if name == PUBLIC and is_quoted:
                raise ProtocolError(f'role "{PUBLIC}" does not exist', "42704")
            found.append(name)
            if not self.takes(","):
                return frozenset(found)

    def ends(self) -> None:
        """See that nothing is left."""
        self.takes(";")
        if self._next() is not None:
            raise self.wrong()

    def wrong(self) -> ProtocolError:
        """A syntax error here."""
        token = self._next()
        where = f'at or near "{token.text}"' if token else "at end of input"
        return ProtocolError(f"syntax error {where}", "42601")

    def until(self, *words: str) -> bool:
        """Whether one of the words comes at all."""
        return any(token.text.lower() in words for token in self._tokens[self._at :])

    def _next(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None


def _grant(at: _Reader, is_taken: bool) -> Granting:
    if is_taken and (at.takes("grant", "option", "for") or at.takes("admin", "option", "for")):
        raise _no_options()
    if not at.until("on"):
        return _grant_role(at, is_taken)
    privileges = _privileges(at)
    at.expects("on")
    if at.takes("all", "tables", "in", "schema"):
        kind, all_in, names = "table", True, at.paths()
    else:
        if at.word in (*_OTHERS, "all"):
            raise ProtocolError(
                f"rights are kept of tables, views and schemas, and of no {at.word.upper()}", "0A000"
            )
        kind = "schema" if at.takes("schema") else "table"
        at.takes("table")
        all_in, names = False, at.paths()
    at.expects("from" if is_taken else "to")
    roles = at.grantees()
    _end(at, is_taken)
    if privileges is not None and (odd := sorted(privileges - _PRIVILEGES[kind])):
        raise ProtocolError(f"invalid privilege type {odd[0]} for {kind}", "0LP01")
    return Grant(is_taken, kind, names, all_in, privileges, roles)


def _privileges(at: _Reader) -> frozenset[str] | None:
    if at.takes("all"):
        at.takes("privileges")
        if at.takes("("):
            raise _no_columns()
        return None
    found = set()
    while True:
        name = at.name()
        if name.upper() not in ON_TABLES | ON_SCHEMAS | {"EXECUTE", "CONNECT", "TEMPORARY", "TEMP"}:
            raise ProtocolError(f'unrecognized privilege type "{name}"', "42601")
        if at.takes("("):
            raise _no_columns()
        found.add(name.upper())
        if not at.takes(","):
            return frozenset(found)


def _grant_role(at: _Reader, is_taken: bool) -> GrantRole:
    roles = frozenset(at.names())
    at.expects("from" if is_taken else "to")
    members = at.grantees()
    _end(at, is_taken)
    return GrantRole(is_taken, roles, members)


def _end(at: _Reader, is_taken: bool) -> None:
    if at.takes("with"):
        raise _no_options()
    if at.takes("granted", "by"):
        at.name()
    if is_taken and not at.takes("cascade"):
        at.takes("restrict")
    at.ends()


def _role(at: _Reader, verb: str) -> Role:
    if verb == "drop":
        may_lack = at.takes("if", "exists")
        names = at.names()
        at.ends()
        return Role(True, names, may_lack=may_lack)
    name, within = at.name(), frozenset[str]()
    at.takes("with")
    while at.word not in ("", ";"):
        if at.takes("in", "role") or at.takes("in", "group"):
            within = frozenset(at.names())
        elif not (at.takes("nologin") or at.takes("inherit") or at.takes("nosuperuser")):
            raise ProtocolError(f"CREATE ROLE makes a role without a password; {_LOGIN}", "0A000")
    at.ends()
    return Role(False, [name], within)


def _owner(at: _Reader) -> OwnerChange | None:
    if not at.takes("alter"):
        return None
    written = at.word
    if written not in ("table", "view", "schema"):
        return None
    at.takes(written)
    at.takes("if", "exists")
    name = at.path()
    if not at.takes("owner", "to"):
        return None
    role = at.name()
    at.ends()
    kind = "schema" if written == "schema" else "table"
    return OwnerChange(kind, name, role, f"ALTER {written.upper()}")


def _no_options() -> ProtocolError:
    return ProtocolError("only owners and admins grant here: there are no grant options", "0A000")


def _no_columns() -> ProtocolError:
    return ProtocolError("rights are on whole tables: make a view of the columns, and grant that", "0A000")
