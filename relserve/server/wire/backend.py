"""What the server sends: messages as bytes, ready for the socket; rows are in `values`."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from relserve.server.wire.types import ResultColumn


class ErrorFields(NamedTuple):
    """An error or a notice as PostgreSQL's clients read it.

    `position` counts characters from 1; `routine` is that of PostgreSQL's source which some drivers look for.
    `table` and the two behind it are what a constraint that failed is of.
    """

    severity: str
    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None
    position: int | None = None
    routine: str | None = None
    table: str | None = None
    column: str | None = None
    constraint: str | None = None


def authentication_ok() -> bytes:
    """The client is who it says."""
    return _message(b"R", struct.pack("!i", 0))


def authentication_sasl(mechanisms: Iterable[str]) -> bytes:
    """Asks for SASL by one of these mechanisms, the preferred one first."""
    return _message(b"R", struct.pack("!i", 10), *map(_text, mechanisms), b"\0")


def authentication_sasl_continue(data: bytes) -> bytes:
    """The server's challenge."""
    return _message(b"R", struct.pack("!i", 11), data)


def authentication_sasl_final(data: bytes) -> bytes:
    """The server's proof that it knows the password too."""
    return _message(b"R", struct.pack("!i", 12), data)


def parameter_status(name: str, value: str) -> bytes:
    """What a setting is, at the start and when it changes."""
    return _message(b"S", _text(name), _text(value))


def backend_key_data(pid: int, key: bytes) -> bytes:
    """What a CancelRequest for this session must bring; the key has four bytes before protocol 3.2."""
    return _message(b"K", struct.pack("!I", pid), key)


def negotiate_protocol_version(minor: int, unknown_options: Sequence[str]) -> bytes:
    """The newest minor version that the server speaks, and the protocol options that it does not know."""
    counted = struct.pack("!Ii", 3 << 16 | minor, len(unknown_options))
    return _message(b"v", counted, *map(_text, unknown_options))


def ready_for_query(status: bytes) -> bytes:
    """The next query may come: I idle, T in a transaction, E in a failed one."""
    return _message(b"Z", status)


def row_description(columns: Sequence[ResultColumn], formats: Sequence[int]) -> bytes:
    """The columns of the rows to come."""
    return _message(b"T", struct.pack("!H", len(columns)), *map(_field, columns, formats))


def parameter_description(oids: Sequence[int]) -> bytes:
    """The types of a prepared statement's parameters."""
    return _message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def no_data() -> bytes:
    """A statement gives no rows."""
    return _message(b"n")


def parse_complete() -> bytes:
    """A statement is prepared."""
    return _message(b"1")


def bind_complete() -> bytes:
    """A portal is made."""
    return _message(b"2")


def close_complete() -> bytes:
    """A statement or portal is dropped."""
    return _message(b"3")


def portal_suspended() -> bytes:
    """As many rows as wanted have been sent, and more may come."""
    return _message(b"s")


def command_complete(tag: str) -> bytes:
    """A statement is done; `tag` is such as SELECT 5."""
    return _message(b"C", _text(tag))


def empty_query_response() -> bytes:
    """The text held no statement."""
    return _message(b"I")


def error_response(fields: ErrorFields) -> bytes:
    """An error, which ends the statement or the session."""
    return _message(b"E", _fields(fields))


def notice_response(fields: ErrorFields) -> bytes:
    """A warning or other news, which ends nothing."""
    return _message(b"N", _fields(fields))


def copy_in_response(formats: Sequence[int]) -> bytes:
    """The client may send COPY's data; one format for each column."""
    return _message(b"G", _copy_formats(formats))


def copy_out_response(formats: Sequence[int]) -> bytes:
    """COPY's data follow; one format for each column."""
    return _message(b"H", _copy_formats(formats))


def copy_data(data: bytes) -> bytes:
    """A piece of COPY's data."""
    return _message(b"d", data)


def copy_done() -> bytes:
    """COPY's data end."""
    return _message(b"c")


def _message(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return kind + struct.pack("!i", len(body) + 4) + body


def _text(text: str) -> bytes:
    """UTF-8 with the zero byte that ends it; what cannot be in it is shown escaped."""
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\0") + b"\0"


def _field(column: ResultColumn, format_code: int) -> bytes:
    kind = column.type
    return _text(column.name) + struct.pack(
        "!IhIhih", column.table_oid, column.number, kind.oid, kind.size, kind.typmod, format_code
    )


def _fields(fields: ErrorFields) -> bytes:
    told = zip("SVCMDHPRtcn", (fields.severity, *fields), strict=True)
    return b"".join(code.encode() + _text(str(value)) for code, value in told if value is not None) + b"\0"


def _copy_formats(formats: Sequence[int]) -> bytes:
    overall = int(any(formats))
    return struct.pack(f"!bH{len(formats)}H", overall, len(formats), *formats)
