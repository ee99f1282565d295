"""What a client is told of an exception: SQLSTATE, message, hint, and where in its text the mistake is."""

from __future__ import annotations

import re
import unicodedata

import duckdb

from relserve.errors import ProtocolError
from relserve.server.wire.backend import ErrorFields
from relserve.server.wire.sqlstates import sqlstate_of

_PREFIX = re.compile(r"^(?:[A-Z][\w ]* Error: )+")
_WHERE = re.compile(r"(?m)^LINE (\d++): ([^\n]*+)\n( *+)\^[\^~]*+\s*+\Z")
_HINTS = ("Did you mean", "Candidate", "Either ", "Use ", "Try ", "To ")
_NO_CTID = 'Referenced column "ctid" not found'  # by which DuckDB changes rows of an attached table
_SEND_WHOLE = (
    "Rows have no ctid here. From a DuckDB that attaches this database, send the UPDATE or DELETE as it is: "
    "CALL postgres_execute('..', 'UPDATE ..')."
)
_CUT = "..."
_CHECK = re.compile(r'CHECK constraint failed on table "((?:[^"]++|"")++)" with expression (CHECK.*)')
_NAME = r'("(?:[^"]++|"")++"|[^."]++)'
_NOT_NULL = re.compile(rf"NOT NULL constraint failed: {_NAME}\.{_NAME}")


def fields_of(error: BaseException, sql: str | None = None) -> ErrorFields:
    """The fields of an ErrorResponse, or of a NoticeResponse for a warning.

    Args:
        error: any exception or warning.
        sql: the text that was run; without it only a place in the first line can be told.
    """
    message = str(error) or type(error).__name__
    position = where = None
    if isinstance(error, duckdb.Error):
        message = _PREFIX.sub("", message)
        if found := _WHERE.search(message):
            position = _position(int(found[1]), found[2], len(found[3]), sql)
            where = None if position else found[0].strip()
            message = message[: found.start()]
    first, _, rest = message.strip().partition("\n")
    detail, hint = _detail_and_hint(rest.strip())
    if isinstance(error, ProtocolError) and error.hint:
        hint = error.hint
    elif first.startswith(_NO_CTID):
        hint = _SEND_WHOLE
    severity = "WARNING" if isinstance(error, Warning) else "ERROR"
    routine = error.routine if isinstance(error, ProtocolError) else None
    code = sqlstate_of(error, message)
    fields = ErrorFields(severity, code, first, detail or where, hint, position, routine)
    return _of_constraint(fields) if isinstance(error, duckdb.ConstraintException) else fields


def _of_constraint(fields: ErrorFields) -> ErrorFields:
    """With the table, and the column, that DuckDB names in its message."""
    if found := _CHECK.match(fields.message):
        return fields._replace(table=found[1].replace('""', '"'))
    if found := _NOT_NULL.match(fields.message):
        return fields._replace(table=_unquoted(found[1]), column=_unquoted(found[2]))
    return fields


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def check_of(fields: ErrorFields) -> str | None:
    """The text of the check that failed, as DuckDB writes it; None: it was none."""
    found = _CHECK.match(fields.message)
    return found[2] if found else None


def _detail_and_hint(rest: str) -> tuple[str | None, str | None]:
    """What follows the first line: advice is a hint, and anything else a detail."""
    if not rest:
        return None, None
    return (None, rest) if rest.startswith(_HINTS) else (rest, None)


def _position(number: int, shown: str, caret: int, sql: str | None) -> int | None:
    """The character of the text, from 1, under which DuckDB's caret stands; None if that cannot be told.

    Args:
        number: of the line, from 1.
        shown: the line as DuckDB shows it, which may be cut at both ends.
        caret: how many cells are before the caret, `LINE n: ` included.
        sql: the whole text.
    """
    column = _characters(shown, caret - len(f"LINE {number}: "))
    lines = [shown] if sql is None and number == 1 else (sql or "").split("\n")
    if column is None or number > len(lines):
        return None
    part = shown.removesuffix(_CUT)
    start = 0
    if not lines[number - 1].startswith(part):
        part = part.removeprefix(_CUT)
        start = lines[number - 1].find(part) - len(_CUT)
    if part not in lines[number - 1] or (sql is None and shown.startswith(_CUT)):
        return None
    return sum(len(line) + 1 for line in lines[: number - 1]) + start + column + 1


def _characters(text: str, cells: int) -> int | None:
    """How many characters fill so many cells of a terminal."""
    for count, char in enumerate(text):
        if cells <= 0:
            return count
        cells -= 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return len(text) if cells <= 0 else None
