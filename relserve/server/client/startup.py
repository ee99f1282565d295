"""A client's first messages: TLS, which protocol, who it is, and its password."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from relserve.errors import ProtocolError
from relserve.server.client.channel import BROKEN, Channel, Frame
from relserve.server.users.tries import Tries
from relserve.server.users.users import MAX_NAME_BYTES, User, Users
from relserve.server.wire import backend, frontend
from relserve.server.wire.backend import ErrorFields
from relserve.server.wire.faults import fields_of
from relserve.server.wire.scram import MECHANISM, ScramServer

log = logging.getLogger(__name__)

WRONG_PASSWORD = "28P01"


@dataclass(frozen=True)
class Arrived:
    """A client that may work.

    Attributes:
        parameters: of its startup message, such as `application_name` and `database`.
        minor: of the protocol's version 3 that it speaks.
    """

    user: User
    parameters: dict[str, str]
    minor: int = 0


@dataclass
class Startup:
    """The state of one client that is not known yet; all in the loop.

    Attributes:
        users: who may come, with their passwords; None: everybody who reaches the port, without one.
        tls: None: no TLS is offered.
        needs_tls: whether a client without TLS is refused.
        arrived: called with a client that may work.
        cancel: called with the address of a request to cancel, its process number and key.
        tries: wrong passwords so far.
    """

    users: Users | None
    tls: ssl.SSLContext | None
    needs_tls: bool
    arrived: Callable[[Channel, Arrived], None]
    cancel: Callable[[str, int, bytes], None]
    tries: Tries
    _parameters: dict[str, str] = field(default_factory=dict)
    _scram: ScramServer | None = None
    _minor: int = 0
    _has_begun: bool = False
    _asked: set[type] = field(default_factory=set)  # for encryption, in its kinds
    _is_over: bool = False

    def take(self, channel: Channel, frame: Frame) -> None:
        """The client's next message."""
        if self._is_over:
            return
        try:
            kind, body = frame
            if kind == BROKEN:
                raise ProtocolError(body.decode())
            if self._scram is not None:
                self._take_password(channel, kind, body)
            else:
                self._take_first(channel, body)
        except Exception as error:  # whatever is sent, only its sender hears of it
            self._is_over = True
            told = fields_of(error)._replace(severity="FATAL")
            log.warning("a client at %s is refused: %s", channel.peer[0], told.message)
            _refuse(channel, told)

    def _take_first(self, channel: Channel, body: bytes) -> None:
        message = frontend.read_startup(body)
        if isinstance(message, frontend.SSLRequest | frontend.GSSENCRequest):
            if type(message) in self._asked:  # who asks on and on, and reads no answer, fills the memory
                raise ProtocolError("encryption was asked for twice: send the startup message", "08P01")
            self._asked.add(type(message))
        match message:
            case frontend.SSLRequest():
                if self.tls is None or channel.is_encrypted:
                    channel.send_now(b"N")
                else:
                    channel.start_tls(self.tls)
            case frontend.GSSENCRequest():
                channel.send_now(b"N")
            case frontend.CancelRequest(pid, key):
                self.cancel(channel.peer[0], pid, key)
                channel.close()
            case frontend.StartupMessage(minor, parameters):
                self._start(channel, minor, parameters)

    def _start(self, channel: Channel, minor: int, parameters: dict[str, str]) -> None:
        unknown = [name for name in parameters if name.startswith("_pq_.")]
        self._minor = min(minor, frontend.NEWEST_MINOR)
        if minor != self._minor or unknown:
            channel.send_now(backend.negotiate_protocol_version(self._minor, unknown))
        channel.is_started = True
        self._parameters, name = parameters, parameters["user"]
        if self.needs_tls and not channel.is_encrypted:
            raise ProtocolError(
                "this server is only to be had with TLS: connect with sslmode=verify-full, or with "
                "sslmode=require, which does not look who answers",
                "28000",
            )
        if self.users is None:
            if len(name.encode()) > MAX_NAME_BYTES:
                raise ProtocolError(f"the name of a user has at most {MAX_NAME_BYTES} bytes", "28000")
            self._let_in(channel, User(name, verifier="", is_admin=True))
            return
        known = self.users.find(name)
        self._scram = ScramServer(name, known.verifier if known else None, self.users.secret)
        channel.send_now(backend.authentication_sasl([MECHANISM]))

    def _take_password(self, channel: Channel, kind: bytes, body: bytes) -> None:
        scram, users = self._scram, self.users
        assert scram is not None
        assert users is not None
        message = frontend.read_message(kind, body)
        if not isinstance(message, frontend.PasswordMessage):
            raise ProtocolError(f"a password was expected, and {type(message).__name__} came")
        if not self._has_begun:
            mechanism, first = message.sasl_initial()
            if mechanism != MECHANISM:
                raise ProtocolError(f"{mechanism} is not offered; the one way is {MECHANISM}", "28000")
            self._has_begun = True
            channel.send_now(backend.authentication_sasl_continue(scram.first(first)))
            return
        last = self._checked(channel, scram, message.body)
        known = users.find(self._parameters["user"])
        if known is None:
            raise ProtocolError("the user has just been removed", WRONG_PASSWORD)
        channel.send_now(backend.authentication_sasl_final(last))
        self._let_in(channel, known)

    def _checked(self, channel: Channel, scram: ScramServer, final: bytes) -> bytes:
        """What a client with the right password is told; a wrong one counts."""
        address, name = channel.peer[0], self._parameters["user"]
        if wait_s := self.tries.wait_s(address, name):
            raise ProtocolError(
                f'too many wrong passwords for user "{name}" or from this address: try again in {wait_s} s',
                "28000",
            )
        try:
            last = scram.final(final)
        except ProtocolError as error:
            if error.sqlstate == WRONG_PASSWORD:
                self.tries.wrong(address, name)
            raise
        self.tries.right(address, name)
        return last

    def _let_in(self, channel: Channel, user: User) -> None:
        self._is_over = True
        self.arrived(channel, Arrived(user, self._parameters, self._minor))


def _refuse(channel: Channel, fields: ErrorFields) -> None:
    channel.send_now(backend.error_response(fields))
    channel.close()
