"""Who has a socket at one of the server's HTTP ports: so many at once, and nobody who sends nothing for long.

uvicorn waits for ever for a request's first byte and for the end of its headers.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from relserve.server.tls import shake_hands

HEAD_S = 10.0  # within which the headers of a request must have come, from the socket's opening or first byte
MAX_HEAD = 1 << 16  # bytes of them


class Sockets:
    """The sockets of one port; all in the loop.

    Where there are as many as may be, one that has not asked for anything yet goes for one more, else one
    whose requests are all answered: each time that which has been so for longest. Where all are being
    answered, the new one goes.

    Args:
        most: at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._silent: dict[HttpSocket, None] = {}  # as they came
        self._answered: dict[HttpSocket, None] = {}  # as they were
        self._asking: dict[HttpSocket, None] = {}

    def came(self, socket: HttpSocket) -> None:
        """There is a new one."""
        self._silent[socket] = None
        if len(self._silent) + len(self._answered) + len(self._asking) > self._most:
            leaving = next(iter(self._silent if len(self._silent) > 1 else self._answered), socket)
            self.gone(leaving)
            asyncio.get_running_loop().call_soon(leaving.abort)  # not now: it may be being made

    def asks(self, socket: HttpSocket) -> None:
        """A request has come."""
        self.gone(socket)
        self._asking[socket] = None

    def rests(self, socket: HttpSocket) -> None:
        """It has been answered."""
        self.gone(socket)
        self._answered[socket] = None

    def gone(self, socket: HttpSocket) -> None:
        """It is closed."""
        for sockets in (self._silent, self._answered, self._asking):
            sockets.pop(socket, None)


class HttpSocket(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
    """One socket, which uvicorn reads.

    Args:
        sockets: of the port.
        tls: how to speak TLS; here, for uvicorn itself would let handshakes go on for a minute, uncounted.
        uvicorns: what uvicorn gives its protocols.
    """

    def __init__(self, sockets: Sockets, tls: ssl.SSLContext | None, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._sockets, self._tls = sockets, tls
        self._plain: asyncio.Transport | None = None
        self._early = b""  # what came before TLS was told to be up
        self._is_lost = False
        self._reads_head, self._head_size = False, 0
        self._time: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """See asyncio.Protocol; with TLS the handshake begins."""
        self._plain = transport
        self._sockets.came(self)
        if self._tls is None:
            self._begin(transport)
        else:
            transport.pause_reading()  # until TLS reads
            shake_hands(transport, self, self._tls, self._begin)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self.transport is None:
            self._early += data
            return
        super().data_received(data)
        if self._is_busy:
            self._stop_timing()
            self._sockets.asks(self)
        elif self._time is None:
            self._start_timing()
        self._head_size = self._head_size + len(data) if self._reads_head else 0
        if self._head_size > MAX_HEAD:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._is_lost = True
        self._stop_timing()
        self._sockets.gone(self)
        if self.transport is not None:
            super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """See httptools, which bounds no headers; h11, which knows no such call, does."""
        self._reads_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """See httptools."""
        self._reads_head = False
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """See uvicorn: a request is answered."""
        super().on_response_complete()
        if not self._is_busy and not self._is_lost:
            self._sockets.rests(self)
            if self._reads_head or self._has_more or self.cycle.more_body:
                self._start_timing()  # the next request has begun to come, or this one's body goes on

    def abort(self) -> None:
        """Hang up."""
        if self._plain is not None:
            self._plain.abort()

    @property
    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _has_more(self) -> bool:
        """Whether h11, which knows no such calls as httptools, has read a part of a request."""
        return hasattr(self, "conn") and bool(self.conn.trailing_data[0])

    def _begin(self, transport: asyncio.Transport) -> None:
        if self._is_lost:
            transport.abort()
            return
        super().connection_made(transport)
        self._start_timing()
        if self._early:
            self.data_received(self._early)

    def _start_timing(self) -> None:
        self._time = self.loop.call_later(HEAD_S, self.abort)

    def _stop_timing(self) -> None:
        if self._time is not None:
            self._time.cancel()
            self._time = None
