"""Statements that PostgreSQL's clients send and the server answers by itself: read here, run elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from relserve_duckdb.text.lexical import NAME, STRING

from relserve.errors import ProtocolError
from relserve.server.client.split import bare
from relserve.server.client.variables import switched
from relserve.server.rights.grants import Granting, read_granting


class Begin(NamedTuple):
    """BEGIN, or START TRANSACTION; None: it does not say whether it only reads."""

    is_read_only: bool | None
    tag: str


class End(NamedTuple):
    """COMMIT or ROLLBACK; `chains` begins the next transaction at once."""

    commits: bool
    chains: bool


class Savepoint(NamedTuple):
    """SAVEPOINT, RELEASE or ROLLBACK TO: the tag says which."""

    tag: str
    name: str


class Set(NamedTuple):
    """SET name = value; None: back to the default. A local one ends with the transaction."""

    name: str
    value: str | None
    is_local: bool = False


class SetConfig(NamedTuple):
    """SELECT set_config(..): as `Set`, and a row with the value."""

    name: str
    value: str | None
    is_local: bool
    column: str


class Mode(NamedTuple):
    """SET TRANSACTION READ ONLY or READ WRITE."""

    is_read_only: bool


class ResetAll(NamedTuple):
    """RESET ALL."""


class Show(NamedTuple):
    """SHOW name; "all" for all."""

    name: str


class Declare(NamedTuple):
    """DECLARE a cursor over a query."""

    name: str
    query: str
    is_held: bool


class Fetch(NamedTuple):
    """FETCH or MOVE so many rows; None: all."""

    name: str
    most: int | None
    moves: bool


class CloseCursor(NamedTuple):
    """CLOSE a cursor; None: all."""

    name: str | None


class Deallocate(NamedTuple):
    """DEALLOCATE a prepared statement; None: all."""

    name: str | None


class Nothing(NamedTuple):
    """Accepted, without effect."""

    tag: str


class Discard(NamedTuple):
    """DISCARD ALL, PLANS, SEQUENCES or TEMP."""

    what: str


class RightsCommand(NamedTuple):
    """GRANT, REVOKE, roles and owners."""

    asked: Granting


Command = (
    Begin | End | Savepoint | Set | SetConfig | Mode | ResetAll | Show | Declare | Fetch | CloseCursor
    | Deallocate | Nothing | Discard | RightsCommand
)  # fmt: skip

_NAME = rf"({NAME}|[\w$.]++)"
_SET_CONFIG = re.compile(
    rf"""(?isx)select\s++(?:pg_catalog\s*+\.\s*+)?set_config\s*+\(\s*+(?P<name>'[\w.]++')\s*+,
    \s*+(?P<value>{STRING})\s*+,\s*+(?P<local>true|false|'\w++')\s*+\)
    (?:\s*+(?:as\s++)?(?P<column>{_NAME}))?"""
)
_RIGHTS = re.compile(  # of what is made and altered DuckDB's own is most
    r"(?is)(?:grant|revoke)\b|(?:create|drop)\s++(?:role|user|group)\b"
    r"|alter\s++(?:table|view|schema)\b.*?\bowner\s++to\b"
)
_NO_TWO_PHASES = "DuckDB has no two-phase commit"


def read_command(text: str) -> Command | None:
    """The command in a statement; None where it is DuckDB's.

    Raises:
        ProtocolError: DuckDB can do nothing like it (0A000), or it is wrong (42601).
    """
    statement = bare(text)
    word = re.match(r"[A-Za-z]+", statement)
    reader = _READERS.get(word[0].lower()) if word else None
    return None if reader is None else reader(statement)


def unquoted(name: str) -> str:
    """An identifier as PostgreSQL reads it."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _begin(statement: str) -> Command | None:
    if not re.match(r"(?i)(begin|start\s++transaction)\b", statement):
        return None
    tag = "BEGIN" if statement[:5].lower() == "begin" else "START TRANSACTION"
    return Begin(_is_read_only(statement), tag)


def _is_read_only(modes: str) -> bool | None:
    """What the last of a transaction's modes says of it; None: nothing."""
    found = re.findall(r"(?i)\bread\s++(only|write)\b", modes)
    return found[-1].lower() == "only" if found else None


def _end(statement: str) -> Command | None:
    if found := re.match(
        rf"(?i)rollback\s++(?:work\s++|transaction\s++)?to\s++(?:savepoint\s++)?{_NAME}", statement
    ):
        return Savepoint("ROLLBACK", unquoted(found[1]))
    if re.match(r"(?i)(commit|rollback)\s++prepared\b", statement):
        raise ProtocolError(_NO_TWO_PHASES, "0A000")
    chains = re.search(r"(?i)\band\s++chain\b", statement) is not None
    return End(statement[:1].lower() in "ce", chains)


def _savepoint(statement: str) -> Command | None:
    found = re.fullmatch(rf"(?i)(release)?+\s*+(?:savepoint\s++)?{_NAME}", statement)
    if found is None:
        raise ProtocolError("a savepoint is made so: SAVEPOINT name", "42601")
    return Savepoint("RELEASE" if found[1] else "SAVEPOINT", unquoted(found[2]))


def _set(statement: str) -> Command | None:
    rest = re.match(r"(?is)set\s++(?:(session|local)\s++(?!characteristics|authorization))?(.*)", statement)
    if rest is None:  # nothing is set, as in SET;
        return None
    is_local, body = (rest[1] or "").lower() == "local", rest[2]
    if re.match(r"(?i)constraints\b", body):
        return Nothing("SET CONSTRAINTS")
    if found := re.match(r"(?i)(session\s++characteristics|transaction)\b", body):
        is_read_only = _is_read_only(body)
        if is_read_only is None:
            return Nothing("SET")
        if found[1].lower() == "transaction":
            return Mode(is_read_only)
        return Set("default_transaction_read_only", "on" if is_read_only else "off")
    if re.match(r"(?i)(role|session\s++authorization)\s++(none|default)\b", body):
        return Nothing("SET")
    if re.match(r"(?i)(role|session\s++authorization)\b", body):
        raise ProtocolError("a session keeps the user that it began with: connect as the other one", "0A000")
    if found := re.match(r"(?is)time\s++zone\s++(?:interval\s++)?(.+)", body):
        return Set("timezone", _value(found[1]), is_local)
    if found := re.match(r"(?is)names\s++(.+)", body):
        return Set("client_encoding", _value(found[1]), is_local)
    if found := re.match(r"(?is)schema\s*+(?:=|\bto\b|(?='))\s*+(.+)", body):
        return Set("search_path", _value(found[1]), is_local)
    if found := re.match(rf"(?is){_NAME}(?:\s*+=|\s++to\s)\s*+(.+)", body):
        return Set(unquoted(found[1]), _value(found[2]), is_local)
    return None


def _value(text: str) -> str | None:
    text = text.strip()
    if text.lower() in ("default", "local"):
        return None
    if re.fullmatch(STRING, text):
        return text[1:-1].replace("''", "'")
    return text


def _reset(statement: str) -> Command | None:
    name = re.sub(r"(?i)^reset\s++(session\s++|local\s++)?", "", statement).strip()
    if name.lower() == "all":
        return ResetAll()
    other = {"time zone": "timezone", "schema": "search_path"}.get(" ".join(name.lower().split()))
    return Set(other or unquoted(name), None)


def _show(statement: str) -> Command | None:
    name = re.sub(r"(?i)^show\s++(session\s++)?", "", statement).strip().lower()
    named = {"time zone": "timezone", "transaction isolation level": "transaction_isolation",
             "session characteristics as transaction isolation level": "transaction_isolation"}  # fmt: skip
    name = named.get(name, name)
    return Show(unquoted(name)) if re.fullmatch(_NAME, name) else None


def _declare(statement: str) -> Command | None:
    found = re.match(
        rf"(?is)declare\s++{_NAME}\s++(.*?)\bcursor\b\s*+(with(?:out)?\s++hold\s++)?for\s++(.*)", statement
    )
    if found is None:
        raise ProtocolError("a cursor is declared so: DECLARE name CURSOR FOR SELECT ..", "42601")
    if re.search(r"(?i)(?<!no )(?<!no\s)\bscroll\b", found[2]):
        raise ProtocolError("cursors only go forward here: leave out SCROLL", "0A000")
    is_held = bool(found[3]) and found[3].lower().startswith("with ")
    return Declare(unquoted(found[1]), found[4], is_held)


def _fetch(statement: str) -> Command | None:
    found = re.fullmatch(
        rf"(?is)(fetch|move)\s++(?:(all|forward\s++all|forward\s++\d++|forward|next|\d++|\w++(?:\s++-?\d++)?|-\d++)\s++)??"
        rf"(?:(?:from|in)\s++)?{_NAME}",
        statement,
    )
    if found is None:
        raise ProtocolError("rows are fetched so: FETCH 100 FROM name", "42601")
    what = (found[2] or "1").lower().removeprefix("forward").strip() or "1"
    if what not in ("all", "next") and not what.isdecimal():
        raise ProtocolError(f"cursors only go forward here: FETCH {what.upper()} is not possible", "55000")
    count = None if what == "all" else 1 if what == "next" else int(what)
    return Fetch(unquoted(found[3]), count, found[1].lower() == "move")


def _close(statement: str) -> Command | None:
    name = statement[5:].strip()
    return CloseCursor(None if name.lower() == "all" else unquoted(name))


def _deallocate(statement: str) -> Command | None:
    name = re.sub(r"(?i)^deallocate\s++(prepare\s++)?", "", statement).strip()
    return Deallocate(None if name.lower() == "all" else unquoted(name))


def _nothing(statement: str) -> Command | None:
    return Nothing(statement.split(None, 1)[0].upper())


def _lock(statement: str) -> Command | None:
    return Nothing("LOCK TABLE")


def _discard(statement: str) -> Command | None:
    return Discard(statement[7:].strip().lower())


def _select(statement: str) -> Command | None:
    """A call of set_config with constants that is all there is; any other SELECT is DuckDB's."""
    found = _SET_CONFIG.fullmatch(statement)
    if found is None:
        return None
    column = unquoted(found["column"]) if found["column"] else "set_config"
    is_local = switched("is_local", found["local"])
    return SetConfig(str(_value(found["name"])), _value(found["value"]), is_local, column)


def _rights(statement: str) -> Command | None:
    asked = read_granting(statement) if _RIGHTS.match(statement) else None
    return None if asked is None else RightsCommand(asked)


def _two_phases(statement: str) -> Command | None:
    if re.match(r"(?i)prepare\s++transaction\b", statement):
        raise ProtocolError(_NO_TWO_PHASES, "0A000")
    return None


_READERS: dict[str, Callable[[str], Command | None]] = {
    "begin": _begin, "start": _begin, "commit": _end, "end": _end, "rollback": _end, "abort": _end,
    "savepoint": _savepoint, "release": _savepoint, "set": _set, "reset": _reset, "show": _show,
    "declare": _declare, "fetch": _fetch, "move": _fetch, "close": _close, "deallocate": _deallocate,
    "listen": _nothing, "unlisten": _nothing, "lock": _lock, "discard": _discard, "prepare": _two_phases,
    "select": _select, **dict.fromkeys(["grant", "revoke", "create", "drop", "alter"], _rights),
}  # fmt: skip
