"""What a client sends: each message's body, read into a NamedTuple."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from relserve.errors import ProtocolError
from relserve.server.wire.body import MessageBody

SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
MAJOR_VERSION = 3
NEWEST_MINOR = 2  # of 3.0 and 3.2, which are those that clients speak


class StartupMessage(NamedTuple):
    """The first message of a session; `minor` is the protocol's version after 3."""

    minor: int
    parameters: dict[str, str]


class SSLRequest(NamedTuple):
    """Asks for TLS; answered by one byte, S or N."""


class GSSENCRequest(NamedTuple):
    """Asks for GSSAPI encryption; answered by one byte, G or N."""


class CancelRequest(NamedTuple):
    """Asks to cancel what the session with this process id and key does."""

    pid: int
    key: bytes


class Query(NamedTuple):
    """A text of statements, run at once."""

    sql: str


class Parse(NamedTuple):
    """Prepares a statement; `parameter_oids` may be fewer than it has, and 0 leaves a type open."""

    name: str
    sql: str
    parameter_oids: tuple[int, ...]


class Bind(NamedTuple):
    """Makes a portal of a statement; there is one of `parameter_formats` for each parameter."""

    portal: str
    statement: str
    parameter_formats: tuple[int, ...]
    parameters: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


class Describe(NamedTuple):
    """Asks for the columns of a statement (S) or of a portal (P)."""

    kind: Literal["S", "P"]
    name: str


class Close(NamedTuple):
    """Drops a statement (S) or a portal (P)."""

    kind: Literal["S", "P"]
    name: str


class Execute(NamedTuple):
    """Runs a portal, for at most `max_rows` rows; 0 is all."""

    portal: str
    max_rows: int


class Flush(NamedTuple):
    """Asks for what the server has not yet sent."""


class Sync(NamedTuple):
    """Ends a series of extended-query messages."""


class PasswordMessage(NamedTuple):
    """A step of authentication; which one it is, the server knows from what it asked."""

    body: bytes

    def password(self) -> str:
        """The clear-text password."""
        body = MessageBody("password", self.body)
        text = body.text()
        body.end()
        return text

    def sasl_initial(self) -> tuple[str, bytes]:
        """The mechanism that the client chose, and its first message."""
        body = MessageBody("SASL initial response", self.body)
        mechanism, first = body.text(), body.sized()
        body.end()
        return mechanism, first or b""


class CopyData(NamedTuple):
    """A piece of COPY's data, cut anywhere."""

    data: bytes


class CopyDone(NamedTuple):
    """Ends COPY's data."""


class CopyFail(NamedTuple):
    """The client gives up its COPY, for this reason."""

    reason: str


class Terminate(NamedTuple):
    """Ends the session."""


Startup = StartupMessage | SSLRequest | GSSENCRequest | CancelRequest
Message = (
    Query | Parse | Bind | Describe | Close | Execute | Flush | Sync | PasswordMessage
    | CopyData | CopyDone | CopyFail | Terminate
)  # fmt: skip


def read_startup(data: bytes) -> Startup:
    """The message before any other, which has no kind; `data` is what follows its length.

    Raises:
        ProtocolError: it is none of the four, or not whole.
    """
    body = MessageBody("startup", data)
    code = body.uint32()
    if code in (SSL_REQUEST, GSS_REQUEST):
        body.end()
        return SSLRequest() if code == SSL_REQUEST else GSSENCRequest()
    if code == CANCEL_REQUEST:
        return CancelRequest(body.uint32(), body.rest())
    if code >> 16 != MAJOR_VERSION:
        raise ProtocolError(
            f"unsupported frontend protocol {code >> 16}.{code & 0xFFFF}: here it is 3.0 or 3.2", "0A000"
        )
    return StartupMessage(code & 0xFFFF, _parameters(body))


def _parameters(body: MessageBody) -> dict[str, str]:
    parameters: dict[str, str] = {}
    while name := body.text():
        parameters[name] = body.text()
    body.end()
    if not parameters.get("user"):
        raise ProtocolError("no PostgreSQL user name specified in startup packet", "28000")
    return parameters


def read_message(kind: bytes, data: bytes) -> Message:
    """A message of a running session from its kind, one byte, and what follows its length.

    Raises:
        ProtocolError: no such kind, or a body that is not whole.
    """
    if kind not in _READERS:
        raise ProtocolError(f"invalid frontend message type {kind[0] if kind else 'without a byte'}")
    name, read = _READERS[kind]
    body = MessageBody(name, data)
    message = read(body)
    body.end()
    return message


def formats_of_each(codes: tuple[int, ...], count: int, of: str = "result column") -> tuple[int, ...]:
    """One format for each of `count` things: no code is text for all, one code is for all.

    Raises:
        ProtocolError: neither none nor one nor as many codes as things.
    """
    if len(codes) in (0, 1):
        return (codes or (0,)) * count
    if len(codes) != count:
        raise ProtocolError(f"bind message has {len(codes)} {of} formats but there are {count} {of}s")
    return codes


def _bind(body: MessageBody) -> Bind:
    portal, statement = body.text(), body.text()
    formats = _formats(body)
    parameters = body.sized_each(body.uint16())
    each = formats_of_each(formats, len(parameters), "parameter")
    return Bind(portal, statement, each, parameters, _formats(body))


def _formats(body: MessageBody) -> tuple[int, ...]:
    codes = tuple(body.uint16() for _ in range(body.uint16()))
    for code in codes:
        if code not in (0, 1):
            raise ProtocolError(f"unsupported format code: {code}; 0 is text, 1 is binary", "22023")
    return codes


def _parse(body: MessageBody) -> Parse:
    return Parse(body.text(), body.text(), tuple(body.uint32() for _ in range(body.uint16())))


def _execute(body: MessageBody) -> Execute:
    return Execute(body.text(), max(body.int32(), 0))


def _kind(body: MessageBody) -> Literal["S", "P"]:
    kind = body.take(1)
    if kind == b"S":
        return "S"
    if kind == b"P":
        return "P"
    raise ProtocolError(f"invalid {body.message} message subtype {kind[0]}: S is a statement, P a portal")


def _function_call(body: MessageBody) -> Message:
    raise ProtocolError("function calls by message are not supported; call the function in SQL", "0A000")


_READERS: dict[bytes, tuple[str, Callable[[MessageBody], Message]]] = {
    b"Q": ("query", lambda body: Query(body.text())),
    b"P": ("parse", _parse),
    b"B": ("bind", _bind),
    b"D": ("describe", lambda body: Describe(_kind(body), body.text())),
    b"C": ("close", lambda body: Close(_kind(body), body.text())),
    b"E": ("execute", _execute),
    b"H": ("flush", lambda body: Flush()),
    b"S": ("sync", lambda body: Sync()),
    b"p": ("password", lambda body: PasswordMessage(body.rest())),
    b"d": ("copy data", lambda body: CopyData(body.rest())),
    b"c": ("copy done", lambda body: CopyDone()),
    b"f": ("copy fail", lambda body: CopyFail(body.text())),
    b"X": ("terminate", lambda body: Terminate()),
    b"F": ("function call", _function_call),
}
