"""Looks at the texts of a server's user before they run; `lockdown` says why.

What a statement is, DuckDB tells. A text that holds none of the words that matter, however one reads it, has
passed then. In any other they are looked for where they stand, as DuckDB's tokenizer cuts the text, and
once more in what its parser made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import duckdb
from duckdb import StatementType as Type

from relserve.errors import ForbiddenError, ProtocolError
from relserve.server.users.definitions import check_definition, query_place
from relserve.server.users.long_texts import LONG, Odd, kinds_of_long
from relserve.server.users.refused import (
    CATALOG,
    FUNCTIONS,
    OWN,
    PRAGMAS,
    SEALED,
    SETTINGS,
    VIEWS,
    has_suspects,
)
from relserve.server.users.tree import named
from relserve.server.users.users import User
from relserve.server.users.words import Word, unseen_in, words

_CHANGED = frozenset(  # what comes before the name of something that is made, changed or gone
    "view table macro function schema database exists into update sequence type index column truncate use "
    "detach on".split()
)
_MAKES = ("create", "replace", "temp", "temporary", "persistent", "recursive", "materialized")
_READS = frozenset("from join table describe desc summarize show".split())
_HARMLESS = (
    Type.SELECT, Type.INSERT, Type.UPDATE, Type.DELETE, Type.MERGE_INTO, Type.DROP, Type.TRANSACTION,
    Type.EXECUTE, Type.VARIABLE_SET,
)  # fmt: skip
# By its first word, what DuckDB makes several statements of: PIVOT, and ADD COLUMN with a DEFAULT.
_SEVERAL = {
    "create": Type.CREATE, "alter": Type.ALTER, "explain": Type.EXPLAIN, "prepare": Type.PREPARE,
    "copy": Type.COPY, "call": Type.CALL, "set": Type.SET, "pragma": Type.PRAGMA, "merge": Type.MERGE_INTO,
    "insert": Type.INSERT, "update": Type.UPDATE, "delete": Type.DELETE,
    **dict.fromkeys(["select", "with", "from", "(", "values", "table", "pivot", "pivot_wider", "unpivot",
                     "pivot_longer", "describe", "desc", "summarize", "show"], Type.SELECT),
}  # fmt: skip
# of what EXPLAIN ANALYZE runs, the rest of the server learns nothing: it may change rows, and define nothing
_MEASURED = (Type.SELECT, Type.INSERT, Type.UPDATE, Type.DELETE, Type.MERGE_INTO, Type.COPY, Type.EXECUTE)
_DEFINE = (Type.CREATE, Type.CREATE_FUNC, Type.ALTER)
_WRITES = (Type.INSERT, Type.UPDATE, Type.DELETE)
_TOLD = (Type.SELECT, *_WRITES)  # what DuckDB's parser tells of
_ADMINS = (Type.VACUUM, Type.ATTACH, Type.DETACH)
_WITH_FILES = (Type.COPY, Type.EXPORT, Type.LOAD, Type.EXTENSION)

LONGEST_ODD = 2_000_000  # characters: DuckDB's parser holds up all clients for 2 s

_FILES = (
    "this server lets no statement touch files: send rows by COPY .. FROM STDIN, fetch them by COPY .. TO "
    "STDOUT, or have the server started with --allow-files"
)
_EXTENSIONS = "this server loads no extensions; start it with --allow-files to allow them"
_CALLED = "it reaches files, memory, logs or texts that concern all users"


class Allowed(NamedTuple):
    """A statement that may run.

    Attributes:
        text: of several in a long text, which do not run, the whole.
        inner: what EXPLAIN and PREPARE are about.
    """

    type: Type
    text: str
    inner: Sequence[Allowed] = ()


@dataclass(frozen=True)
class Check:
    """Looks at the texts of one user."""

    con: duckdb.DuckDBPyConnection
    user: User
    allow_files: bool

    def statements(self, text: str) -> list[Allowed]:
        """See `lockdown.check_allowed`."""
        if len(text) > LONG and (found := self.long(text)) is not None:
            return found
        is_suspect = has_suspects(text)
        here = words(text) if is_suspect or unseen_in(text) else ()
        parsed = self._parsed(text)
        kinds = [_kind(statement) for statement in parsed]
        is_told = True
        found = []
        for statement, kind in zip(parsed, kinds, strict=True):
            found.append(Allowed(kind, statement.query, self._check_kind(kind, statement.query)))
            if is_suspect:
                is_told &= self._check_tree(kind, statement.query)
        if is_suspect:
            self._check_words(here, is_told)
        return found

    def _parsed(self, text: str) -> list[duckdb.Statement]:
        try:
            return self.con.extract_statements(text)
        except UnicodeDecodeError:  # DuckDB cuts the line that its message quotes, and with it a character
            raise duckdb.ParserException("Parser Error: syntax error in a line of many characters") from None

    def long(self, text: str) -> list[Allowed] | None:
        """The statements of a long text; None where DuckDB's parser had better look at it.

        Raises:
            ForbiddenError: the text is too long for that, too.
        """
        try:
            return [Allowed(kind, text) for kind in kinds_of_long(text)]
        except Odd as what:
            if len(text) <= LONGEST_ODD:
                return None
            raise ForbiddenError(
                f"a text of {len(text):,} characters is only taken where it is plain SELECT, INSERT, UPDATE "
                f"or DELETE, and {what} is in this one: send rows by COPY .. FROM STDIN or as parameters"
            ) from None

    def _check_kind(self, kind: Type, text: str) -> Sequence[Allowed]:
        """Gives the statements that an EXPLAIN or a PREPARE is about."""
        if kind == Type.MULTI:
            kind = _SEVERAL.get(words(text)[0].plain, Type.EXTENSION)
        if kind in _HARMLESS or (kind in _WITH_FILES and self.allow_files):
            return ()
        here = words(text)
        if kind == Type.EXPLAIN:
            place, runs = _explained(here)
            inner = self.statements(_since(text, here[place]))
            if runs:
                self._check_measured(inner)
            return inner
        if kind == Type.PREPARE:
            return self.statements(_prepared(text, here))
        if kind in _DEFINE:
            self._check_definition(here)
        elif kind == Type.SET:
            self._check_setting(here)
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
        return ()

    @staticmethod
    def _check_measured(found: Sequence[Allowed]) -> None:
        for each in found:
            first = words(each.text)[0]
            if (_SEVERAL.get(first.plain) if each.type == Type.MULTI else each.type) not in _MEASURED:
                raise ProtocolError(
                    f"EXPLAIN ANALYZE runs its statement, and of {first.name.upper()} it does not: write "
                    "EXPLAIN without ANALYZE, or measure the SELECT, INSERT, UPDATE, DELETE or MERGE in it",
                    "0A000",
                )

    def _check_definition(self, here: Sequence[Word]) -> None:
        if [word.plain for word in here[:2]] == ["alter", "database"]:
            raise ForbiddenError(
                "ALTER DATABASE would take the database away from all clients of this server, which know it "
                "by its name: stop the server, and rename the file"
            )
        if not self.user.is_admin:
            check_definition(here, self.con)

    def _check_setting(self, here: Sequence[Word]) -> None:
        """Of SET, RESET, USE, and PRAGMA with a value."""
        first, *rest = here
        names = [word.name for word in rest if word.name not in ("session", "local")]
        if names[:1] == ["variable"]:
            return
        if any(CATALOG in (word.name if word.is_name else word.held or "") for word in rest):
            raise ForbiddenError(_own(CATALOG))
        if not _are_literals(rest):  # else it could be made up from what the check does not see
            raise ForbiddenError(
                f"{first.name.upper()} {' '.join(names[:1])}: write its value as one name, number or 'string'"
            )
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

    def _check_words(self, found: Sequence[Word], is_told: bool) -> None:
        """Look for what a statement may hold anywhere: in a WITH, an EXPLAIN, a view or a macro.

        Args:
            is_told: whether DuckDB's parser has told of every statement that there is no COPY inside.
        """
        names = ["", "", *(word.name for word in found), ""]
        for number, word in enumerate(found, 2):
            before, name, after = names[number - 1], word.name, names[number + 1]
            if not word.is_name:
                if word.held in VIEWS and before in _READS and not self.allow_files:
                    raise ForbiddenError(_refused(str(word.held)))
                continue
            is_changed = before in _CHANGED or names[number - 2 : number] == ["delete", "from"]
            if _is_own(name) or (name == CATALOG and is_changed):
                raise ForbiddenError(_own(name))
            if name == "trigger" and before in _MAKES:  # it runs in others' sessions, and sees what they have
                self._for_admins("CREATE TRIGGER")
            if not self.allow_files:
                _check_word(before, name, after)
                if name == "copy" and before == "(" and after not in (".", ",", ")", "") and not is_told:
                    raise ForbiddenError(_FILES)

    def _check_tree(self, kind: Type, text: str) -> bool:
        """Look at what DuckDB's parser found in a statement, or in the query that it defines something by.

        Returns:
            Whether it tells of the whole statement.
        """
        is_told = False
        for query in _queries(kind, text):
            found = named(query, kind in _WRITES)
            if found is None:
                continue
            is_told = kind in _TOLD
            for name in found.calls:
                if _is_own(name):
                    raise ForbiddenError(_own(name))
            if self.allow_files:
                continue
            if found.copies:
                raise ForbiddenError(_FILES)
            for name in (found.calls & FUNCTIONS) | (found.relations & VIEWS):
                raise ForbiddenError(_refused(name))
        return is_told


def _check_word(before: str, name: str, after: str) -> None:
    if name in VIEWS or (name in FUNCTIONS and after == "("):
        raise ForbiddenError(_refused(name))
    if name == "secret" and before in ("create", "persistent", "temporary", "temp", "replace", "drop"):
        raise ForbiddenError("this server keeps no secrets, for no statement of it reaches the network")


def _are_literals(found: Sequence[Word]) -> bool:
    """Whether nothing but names, numbers and plain strings, one at a time, is in a list of words."""
    kinds = ["string" if word.held is not None else word.plain for word in found if not word.is_name]
    plain = [each in ("string", *"=,.-+;") or each.isdigit() for each in kinds]
    one_by_one = all(a.held is None or b.held is None for a, b in pairwise(found))
    return all(plain) and one_by_one


def _is_own(name: str) -> bool:
    return name.startswith(OWN) or name in SEALED


def _own(name: str) -> str:
    return f"{name} is the server's own; functions are called by their names, as llm()"


def _refused(name: str) -> str:
    return f"{name}: this server lets no statement call it; {_CALLED}"


def _kind(statement: duckdb.Statement) -> Type:
    """What a statement is; an extension's where Python has no name for it, as for UPDATE EXTENSIONS."""
    try:
        return statement.type
    except ValueError:
        return Type.EXTENSION


def _queries(kind: Type, text: str) -> Iterator[str]:
    """What of a statement DuckDB's parser tells of: the whole, or what a table, view or macro is made of."""
    here = words(text)
    if kind in _TOLD:
        yield _until(text, here)
    elif kind in (Type.CREATE, Type.CREATE_FUNC) and (place := query_place(here)) is not None:
        for number in (place, place + 1):  # a macro's query begins with the word TABLE
            if number < len(here):
                body = _until(text, here)[len(text) - len(_since(text, here[number])) :]
                yield body
                yield f"SELECT (\n{body}\n)"


def _since(text: str, word: Word) -> str:
    return text.encode()[word.start :].decode()


def _until(text: str, here: Sequence[Word]) -> str:
    """The text without the semicolon at its end."""
    if here and here[-1].plain == ";":
        return text.encode()[: here[-1].start].decode()
    return text


def _explained(here: Sequence[Word]) -> tuple[int, bool]:
    """Where the statement that an EXPLAIN is about begins, and whether it runs."""
    number = 1
    while number < len(here):
        word = here[number].plain
        is_option = word == "(" and here[number + 1].name in ("analyze", "analyse", "format", "verbose")
        if is_option:
            number = next(i for i in range(number, len(here)) if here[i].plain == ")") + 1
        elif word in ("analyze", "analyse", "verbose"):
            number += 1
        else:
            break
    return number, any(word.name in ("analyze", "analyse") for word in here[1:number])


def _prepared(text: str, here: Sequence[Word]) -> str:
    """The statement that a PREPARE name AS prepares."""
    return _since(text, here[next(i for i, word in enumerate(here) if word.plain == "as") + 1])
