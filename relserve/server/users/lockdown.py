"""What no statement of a server's user may do; docs/server_safety.md says it for users.

Two locks, for neither is enough. DuckDB's own, set when the database is opened, keeps every statement, view
and macro from files, extensions, Python's variables and settings; but it lets through the database's own
file (which COPY would overwrite) and its temporary ones (which hold other users' rows), settings of all
clients, and statements that concern all. So each text is looked at before it runs, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import duckdb
from duckdb import StatementType as Type

from relserve.errors import ForbiddenError
from relserve.server.users.long_texts import LONG, Odd, kinds_of_long
from relserve.server.users.refused import (
    CATALOG,
    FUNCTIONS,
    OWN,
    PRAGMAS,
    SEALED,
    SETTINGS,
    VIEWS,
    is_suspect,
)
from relserve.server.users.users import User
from relserve.server.users.words import Word, words

_CHANGED = frozenset(  # what comes before the name of something that is made, changed or gone
    "view table macro function schema database exists into update sequence type index column truncate use "
    "detach on".split()
)
_MAKES = ("create", "replace", "temp", "temporary", "persistent", "recursive", "materialized")
_HARMLESS = (
    Type.SELECT, Type.INSERT, Type.UPDATE, Type.DELETE, Type.MERGE_INTO, Type.CREATE, Type.CREATE_FUNC,
    Type.DROP, Type.ALTER, Type.TRANSACTION, Type.PREPARE, Type.EXECUTE, Type.MULTI, Type.VARIABLE_SET,
)  # fmt: skip
_ADMINS = (Type.VACUUM, Type.ATTACH, Type.DETACH)
_WITH_FILES = (Type.COPY, Type.EXPORT, Type.LOAD, Type.EXTENSION)
_WORD = re.compile(r"\w+")

MEMORY, TEMPORARY = "50%", "10GB"  # of the machine, and on disk beside the database's file
LONGEST_ODD = 2_000_000  # characters: DuckDB's parser holds up all clients for 2 s

_FILES = (
    "this server lets no statement touch files: send rows by COPY .. FROM STDIN, fetch them by COPY .. TO "
    "STDOUT, or have the server started with --allow-files"
)
_EXTENSIONS = "this server loads no extensions; start it with --allow-files to allow them"
_CALLED = "it reaches files, memory, logs or texts that concern all users"


class Allowed(NamedTuple):
    """A statement that may run."""

    type: Type


def locked_config(allow_files: bool, read_only: bool) -> dict[str, Any]:
    """The configuration under which a server opens its database, for `duckdb.connect(.., config=..)`.

    Args:
        allow_files: leave files, extensions and settings open, to everybody.
        read_only: open the file so that nothing can change it.
    """
    config: dict[str, Any] = {
        "python_enable_replacements": False,
        "allow_persistent_secrets": False,
        "memory_limit": MEMORY,
        "max_temp_directory_size": TEMPORARY,
    }
    if read_only:
        config["access_mode"] = "READ_ONLY"
    if allow_files:
        return config
    return config | {
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allowed_configs": sorted(SETTINGS),
        "lock_configuration": True,
    }


def check_allowed(
    con: duckdb.DuckDBPyConnection, text: str, user: User, allow_files: bool = False
) -> list[Allowed]:
    """Refuse a text that a user may not run, all of it, before anything of it runs.

    Args:
        text: as it goes to DuckDB, before relserve's own functions stand in it.

    Returns:
        The text's statements.

    Raises:
        ForbiddenError: says what is refused, and what can be done.
        duckdb.Error: DuckDB cannot read the text.
    """
    return _Check(con, user, allow_files).statements(text)


@dataclass(frozen=True)
class _Check:
    """Looks at the texts of one user."""

    con: duckdb.DuckDBPyConnection
    user: User
    allow_files: bool

    def statements(self, text: str) -> list[Allowed]:
        """See `check_allowed`."""
        if len(text) > LONG and (found := self._long(text)) is not None:
            return found
        parsed = self.con.extract_statements(text)
        kinds = [_kind(statement) for statement in parsed]
        for statement, kind in zip(parsed, kinds, strict=True):
            self._check_kind(kind, statement.query)
        if any(map(is_suspect, _WORD.findall(text.lower()))):
            self._check_words(words(text))
        return [Allowed(kind) for kind in kinds]

    def _long(self, text: str) -> list[Allowed] | None:
        """The statements of a long text; None where DuckDB's parser had better look at it.

        Raises:
            ForbiddenError: the text is too long for that, too.
        """
        try:
            return [Allowed(kind) for kind in kinds_of_long(text)]
        except Odd as what:
            if len(text) <= LONGEST_ODD:
                return None
            raise ForbiddenError(
                f"a text of {len(text):,} characters is only taken where it is plain SELECT, INSERT, UPDATE "
                f"or DELETE, and {what} is in this one: send rows by COPY .. FROM STDIN or as parameters"
            ) from None

    def _check_kind(self, kind: Type, text: str) -> None:
        if kind in _HARMLESS or (kind in _WITH_FILES and self.allow_files):
            return
        here = words(text)
        if kind == Type.EXPLAIN:
            self.statements(_explained(text, here))
        elif kind == Type.SET:
            self._check_setting(here, text)
        elif kind == Type.PRAGMA:
            self._check_pragma(here)
        elif kind == Type.CALL:
            if here[0].name != "call":  # CHECKPOINT and FORCE CHECKPOINT
                self._for_admins("CHECKPOINT")
        elif kind in _ADMINS:
            if here[0].name != "analyze":
                self._for_admins(here[0].name.upper())
        else:
            raise ForbiddenError(_FILES if kind in (Type.COPY, Type.EXPORT) else _EXTENSIONS)

    def _check_setting(self, here: Sequence[Word], text: str) -> None:
        """Of SET, RESET, USE, and PRAGMA with a value."""
        first, *rest = here
        names = [word.name for word in rest if word.name not in ("session", "local")]
        if names[:1] == ["variable"]:
            return
        if CATALOG in text.lower():
            raise ForbiddenError(_own(CATALOG))
        if first.name == "use" or self.allow_files:
            return
        if names[:1] == ["global"] or not names or names[0] not in SETTINGS:
            what = " ".join(names[: 2 if names[:1] == ["global"] else 1])
            raise ForbiddenError(
                f"{first.name.upper()} {what}: a setting of all clients, or one that the server keeps to "
                f"itself; clients may set: {', '.join(sorted(SETTINGS))}"
            )

    def _check_pragma(self, here: Sequence[Word]) -> None:
        if self.allow_files:
            return
        first, *rest = here
        if first.name != "pragma":  # IMPORT DATABASE and COPY FROM DATABASE
            raise ForbiddenError(_FILES)
        if rest and rest[0].name not in PRAGMAS:
            raise ForbiddenError(
                f"PRAGMA {rest[0].name} changes the server; clients may run: {', '.join(sorted(PRAGMAS))}"
            )

    def _for_admins(self, what: str) -> None:
        if not self.user.is_admin:
            raise ForbiddenError(f"{what} concerns all users of this server: only its admins may run it")

    def _check_words(self, found: Sequence[Word]) -> None:
        """Look for what a statement may hold anywhere: in a WITH, an EXPLAIN, a view or a macro."""
        names = ["", "", *(word.name for word in found), ""]
        if not SEALED.isdisjoint(names) and any(map(_is_stored, pairwise(names))):
            raise ForbiddenError(
                "a view cannot be over pg_stat_activity or stop clients: it would do so for others with the "
                "rights of its maker; CREATE TABLE .. AS keeps what is there now"
            )
        for number, word in enumerate(found, 2):
            before, name, after = names[number - 1], word.name, names[number + 1]
            if not word.is_name:
                continue
            is_changed = before in _CHANGED or names[number - 2 : number] == ["delete", "from"]
            if name.startswith(OWN) or (name == CATALOG and is_changed):
                raise ForbiddenError(_own(name))
            if (
                name == "trigger" and before in _MAKES
            ):  # it runs in the sessions of others, and sees what they have
                self._for_admins("CREATE TRIGGER")
            if not self.allow_files:
                _check_word(before, name, after)


def _check_word(before: str, name: str, after: str) -> None:
    if name in VIEWS or (name in FUNCTIONS and after == "("):
        raise ForbiddenError(f"{name}: this server lets no statement call it; {_CALLED}")
    if name == "copy" and _begins_statement(before) and after not in (".", ",", ")", ""):
        raise ForbiddenError(_FILES)
    if name == "secret" and before in ("create", "persistent", "temporary", "temp", "replace", "drop"):
        raise ForbiddenError("this server keeps no secrets, for no statement of it reaches the network")


def _is_stored(words: tuple[str, str]) -> bool:
    """Whether a view or macro is made here, whose text others will run."""
    return words[0] in _MAKES and words[1] in ("view", "macro", "function")


def _begins_statement(before: str) -> bool:
    """Whether a statement can begin after this word, as in WITH x AS (COPY .. or EXPLAIN ANALYZE COPY .."""
    return before in ("", "(", ")", ";", "as", "explain", "analyze")


def _own(name: str) -> str:
    return f"{name} is the server's own; functions are called by their names, as llm()"


def _kind(statement: duckdb.Statement) -> Type:
    """What a statement is; an extension's where Python has no name for it, as for UPDATE EXTENSIONS."""
    try:
        return statement.type
    except ValueError:
        return Type.EXTENSION


def _explained(text: str, here: Sequence[Word]) -> str:
    """The statement that an EXPLAIN is about, which runs where ANALYZE stands before it."""
    number = 1
    while number < len(here):
        word = here[number].name
        is_option = word == "(" and here[number + 1].name in ("analyze", "analyse", "format", "verbose")
        if is_option:
            number = next(i for i in range(number, len(here)) if here[i].name == ")") + 1
        elif word in ("analyze", "analyse", "verbose"):
            number += 1
        else:
            break
    return text.encode()[here[number].start :].decode()
