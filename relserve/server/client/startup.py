"""A client's first messages: TLS, which protocol, who it is, and its password."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from relserve.server.client.channel import BROKEN, Channel, Frame
from relserve.server.users.users import User, Users
from relserve.server.wire import messages
from relserve.server.wire.faults import ErrorFields, ProtocolError, fields_of
from relserve.server.wire.scram import ScramServer, WrongPassword

log = logging.getLogger(__name__)

MECHANISM = "SCRAM-SHA-256"
FAILED_DELAY_S = 0.3  # before a wrong password is told, so that guessing takes its time
NEWEST = (3, 0)


@dataclass(frozen=True)
class Arrived:
    """A client that may work.

    Attributes:
        parameters: of its startup message, such as `application_name` and `database`.
    """

    user: User
    parameters: dict[str, str]


@dataclass
class Startup:
    """The state of one client that is not known yet; all in the loop.

    Attributes:
        users: who may come, with their passwords; None: everybody who reaches the port, without one.
        tls: None: no TLS is offered.
        needs_tls: whether a client without TLS is refused.
        arrived: called with a client that may work.
        cancel: called with the process number and key of a request to cancel.
    """

    users: Users | None
    tls: ssl.SSLContext | None
    needs_tls: bool
    arrived: Callable[[Channel, Arrived], None]
    cancel: Callable[[int, int], None]
    delay: Callable[[float, Callable[[], None]], object]
    _parameters: dict[str, str] = field(default_factory=dict)
    _scram: ScramServer | None = None
    _has_begun_scram: bool = False

    def take(self, channel: Channel, frame: Frame) -> None:
        """The client's next message."""
        try:
            kind, body = frame
            if kind == BROKEN:
                raise ProtocolError("08P01", body.decode())
            if self._scram is not None:
                self._take_password(channel, kind, body)
            else:
                self._take_first(channel, body)
        except WrongPassword:
            user = self._parameters.get("user", "")
            log.warning("wrong password for user %r from %s", user, channel.peer[0])
            told = ErrorFields("FATAL", "28P01", f'password authentication failed for user "{user}"')
            self.delay(FAILED_DELAY_S, lambda: _refuse(channel, told))
        except Exception as error:  # whatever is sent, only its sender hears of it
            _refuse(channel, fields_of(error)._replace(severity="FATAL"))

    def _take_first(self, channel: Channel, body: bytes) -> None:
        match messages.read_startup(body):
            case messages.SSLRequest():
                if self.tls is None or channel.is_encrypted:
                    channel.send_now(b"N")
                else:
                    channel.start_tls(self.tls)
            case messages.GSSENCRequest():
                channel.send_now(b"N")
            case messages.CancelRequest(pid, key):
                self.cancel(pid, key)
                channel.close()
            case messages.StartupMessage(version, parameters):
                self._start(channel, version, parameters)

    def _start(self, channel: Channel, version: tuple[int, int], parameters: dict[str, str]) -> None:
        if version[0] != NEWEST[0]:
            raise ProtocolError(
                "0A000",
                f"protocol {version[0]}.{version[1]} is not spoken here; it is {NEWEST[0]}.{NEWEST[1]}",
            )
        unknown = [name for name in parameters if name.startswith("_pq_.")]
        if version > NEWEST or unknown:
            channel.send_now(messages.negotiate_protocol_version(NEWEST[1], unknown))
        channel.is_started = True
        self._parameters = parameters
        if not (name := parameters.get("user", "")):
            raise ProtocolError("28000", "the startup message names no user")
        if self.needs_tls and not channel.is_encrypted:
            raise ProtocolError(
                "28000", "this server is only to be had with TLS: connect with sslmode=require"
            )
        if self.users is None:
            self._let_in(channel, User(name, verifier="", is_admin=True))
            return
        known = self.users.find(name)
        self._scram = ScramServer(known.verifier if known else None)
        channel.send_now(messages.authentication_sasl([MECHANISM]))

    def _take_password(self, channel: Channel, kind: bytes, body: bytes) -> None:
        scram = self._scram
        assert scram is not None and self.users is not None
        if kind != b"p":
            raise ProtocolError("08P01", f"a password was expected, and a message {kind!r} came")
        if not self._has_begun_scram:
            mechanism, first = messages.read_sasl_initial(body)
            if mechanism != MECHANISM:
                raise ProtocolError("28000", f"{mechanism} is not offered; the one way is {MECHANISM}")
            self._has_begun_scram = True
            channel.send_now(messages.authentication_sasl_continue(scram.first(first)))
            return
        channel.send_now(messages.authentication_sasl_final(scram.final(body)))
        known = self.users.find(self._parameters["user"])
        if known is None:
            raise WrongPassword
        self._let_in(channel, known)

    def _let_in(self, channel: Channel, user: User) -> None:
        self.arrived(channel, Arrived(user, self._parameters))


def _refuse(channel: Channel, fields: ErrorFields) -> None:
    channel.send_now(messages.error_response(fields))
    channel.close()
