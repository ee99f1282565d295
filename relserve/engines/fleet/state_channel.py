"""Where the members of a fleet report to: a UDP socket on the engine loop of their owner.

A datagram counts if it comes from a member by that member's own secret, makes sense, and is younger than
what that member said before. Others are dropped, and counted by the reason.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections import Counter
from collections.abc import Callable

from relserve.errors import EngineError
from relserve.machine.state_message import Refused, Target, decode
from relserve.policies.dispatch.state import Report

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
BUFFER_BYTES = 2**20  # of the socket: what comes while the loop is busy; the kernel may give less
OLD, FAILED = "old", "failed"

Take = Callable[[str, Report], object]


class StateChannel(asyncio.DatagramProtocol):
    """Takes what members report; to be used on one event loop.

    Args:
        take: is told the member's name and its report.

    Attributes:
        taken: reports that counted.
        dropped: datagrams that did not, by reason: those of `state_message.decode`, "old" for one that is
            repeated, overtaken or of an earlier process, and "failed" where `take` raised.
    """

    def __init__(self, take: Take) -> None:
        self._take = take
        self.taken, self.dropped = 0, Counter[str]()
        self._tokens: dict[str, str] = {}
        self._latest: dict[str, tuple[int, int]] = {}
        self._transport: asyncio.BaseTransport | None = None
        self._host = LOOPBACK
        self._opening = asyncio.Lock()

    async def open(self, host: str = LOOPBACK, port: int = 0, seen_as: str = "") -> None:
        """Listen.

        Args:
            host: an address of this machine; by default nobody else can reach it.
            port: 0 for any that is free.
            seen_as: the host by which members reach it, where that is another one.

        Raises:
            EngineError: it cannot listen there.
        """
        loop = asyncio.get_running_loop()
        try:
            self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=(host, port))
        except OSError as error:
            raise EngineError(
                f"the fleet's owner cannot listen at {host}, port {port}, for its members' states: "
                f"{error.strerror or error}; name an address of this machine and a free port"
            ) from error
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self._host = seen_as or host

    @property
    def is_open(self) -> bool:
        """Whether it listens."""
        return self._transport is not None

    @property
    def address(self) -> str:
        """Where members report to, as "host:port"."""
        if self._transport is None:
            raise EngineError("the channel of states is not open")
        port = self._transport.get_extra_info("sockname")[1]
        return f"[{self._host}]:{port}" if ":" in self._host else f"{self._host}:{port}"

    async def admit(self, name: str, host: str = LOOPBACK) -> Target:
        """`expect` a member that is about to start, and listen if that is not done yet; errors as of both."""
        async with self._opening:
            if not self.is_open:
                await self.open(host)
        return self.expect(name)

    def expect(self, name: str, token: str = "") -> Target:
        """Take reports of a member from now on; gives what it has to know, which nobody else should.

        Args:
            token: its secret, where it knows one already; else a new one, and what it sent with an old one
                counts no more.

        Raises:
            UsageError: a name or secret of an impossible length.
        """
        target = Target(self.address, token or secrets.token_hex(32), name)
        self._tokens[name] = target.token
        return target

    def forget(self, name: str) -> None:
        """Take no more reports of a member; with the last one the channel closes."""
        self._tokens.pop(name, None)
        if not self._tokens:
            self.close()

    def datagram_received(self, data: bytes, addr: object) -> None:
        """A datagram has come, from whomever."""
        try:
            name, report, _ = decode(data, self._tokens)
        except Refused as refusal:
            self.dropped[str(refusal)] += 1
            return
        age = report.incarnation, report.sequence
        if age <= self._latest.get(name, (-1, -1)):
            self.dropped[OLD] += 1
            return
        self._latest[name] = age
        self.taken += 1
        try:
            self._take(name, report)
        except Exception:  # of any kind: the next one may be taken
            self.dropped[FAILED] += 1
            logger.exception("a report of the member %s was not taken", name)

    def error_received(self, exc: Exception) -> None:
        """Nothing: what was sent from this socket is nothing."""

    def close(self) -> None:
        """Listen no more."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None
