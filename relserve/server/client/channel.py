"""One client's socket: asyncio reads and writes it, and the thread that works for the client waits on it."""

from __future__ import annotations

import asyncio
import queue
import socket
import ssl
import struct
import threading
from collections.abc import Callable

from relserve.errors import ProtocolError
from relserve.server.client.inbox_room import LARGE, InboxRoom
from relserve.server.tls import shake_hands
from relserve.server.users.tries import network_of

MAX_START = 10_000  # bytes of a message before the client is known, as in PostgreSQL
MAX_MESSAGE = 1 << 28
LAST_S = 1.0  # for a client that is told to go to read why
LINGER_S = 10.0  # for one whose socket closes to read what was sent, and under TLS to say that it closes, too
REST_S = 30.0  # without a further byte of a message that has begun
MAX_UNREAD, MAX_UNSENT = 1 << 23, 1 << 20  # bytes, from which the socket, or the thread, has to wait
FRAME_BYTES = 256  # of memory that a message takes beside its body: one of five bytes has none
BROKEN = b"!"  # kind of a frame of ours: what came is no message, and the body says why

_CUT = f"a message has begun, and no more of it came for {REST_S:g} s"

Frame = tuple[bytes, bytes]  # a message's kind, b"" for one without, and its body


class HungUp(ConnectionError):
    """The client is gone, or was told to go."""


class SessionEnds(Exception):
    """The client is told why, and hung up on.

    Attributes:
        sqlstate: told to the client.
    """

    sqlstate = ""


class Broken(SessionEnds):
    """What the client sent is no message, and where the next one begins cannot be known."""

    sqlstate = "08P01"


class Channel(asyncio.Protocol):
    """Frames from the socket, bytes to it.

    Until `hand_over` each frame goes to `on_frame`, in the loop; then to the thread that calls `receive`.

    Args:
        on_frame: takes a frame; may call `send_now`, `start_tls`, `hand_over` and `close`.
        on_lost: called once, in the loop, when the socket is gone.

    Attributes:
        peer: address and port of the client.
        network: that its address belongs to.
        is_encrypted: whether the socket speaks TLS.
        is_lost: whether the socket is gone.
        is_leaving: whether it is, or the client was told to go.
    """

    def __init__(
        self, on_frame: Callable[[Channel, Frame], None], on_lost: Callable[[Channel], None]
    ) -> None:
        self._on_frame, self._on_lost = on_frame, on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._shaking: asyncio.Transport | None = None  # the plain one, until TLS has started
        self.peer: tuple[str, int] = ("", 0)
        self.network = ""
        self.is_encrypted = self.is_lost = self.is_leaving = self._is_handed_over = False
        self.is_started = False  # whether messages have a kind in front
        self._received = bytearray()
        self._frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._num_unread = self._num_unsent = 0
        self._counts = threading.Condition()
        self._is_reading, self._reads_soon = True, False
        self._room, self._num_large = InboxRoom(), 0  # of its bytes that are taken
        self._begun = 0  # bytes of a large message that has begun
        self._lingering: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None  # the rest of a message is waited for

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol; comes again when TLS has started."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=MAX_UNSENT)
        peer = transport.get_extra_info("peername")
        self.peer = (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else ("local", 0)
        self.network = network_of(self.peer[0])
        if isinstance(peer, tuple):  # the kernel tells when a silent client is no more
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._received += data
        if self._transport is None:  # TLS has started, and nobody has told yet
            return
        try:
            self._take_frames()
        except ProtocolError as error:  # where the next message begins cannot be known
            self._break(str(error))
        self._wait_for_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        with self._counts:
            self.is_lost = self.is_leaving = True
            self._counts.notify_all()
        for timer in (self._lingering, self._rest):
            if timer is not None:
                timer.cancel()
        self._frames.put(None)
        self._give_back(self._num_large)
        self._on_lost(self)

    def pause_writing(self) -> None:
        """See asyncio.Protocol."""
        with self._counts:
            self._num_unsent += MAX_UNSENT

    def resume_writing(self) -> None:
        """See asyncio.Protocol."""
        with self._counts:
            self._num_unsent -= MAX_UNSENT
            self._counts.notify_all()

    # What runs in the loop.

    def send_now(self, data: bytes) -> None:
        """Write bytes, in the loop; one that is closed twice under TLS could not take them."""
        if self._transport is not None and not self.is_lost and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Send what is written, and hang up; in the loop."""
        if self._transport is not None:
            self._transport.close()
            self._lingering = self._lingering or self._loop.call_later(LINGER_S, self.abort)

    def abort(self) -> None:
        """Hang up at once; in the loop."""
        transport = self._transport or self._shaking
        if transport is not None:
            transport.abort()

    def end_with(self, data: bytes) -> None:
        """Send the last bytes, and hang up; a thread that waits for the client gets an error."""
        self.send_now(data)
        self.close()
        self._loop.call_later(LAST_S, self.abort)  # a client that does not read would keep the socket open
        self._frames.put(None)
        with self._counts:
            self.is_leaving = True
            self._counts.notify_all()

    def hand_over(self, room: InboxRoom) -> None:
        """From now on frames wait for `receive`, the large ones in this room; in the loop."""
        self._is_handed_over, self._room = True, room

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Speak TLS from the next byte on; in the loop."""
        transport, self._transport = self._transport, None
        assert transport is not None
        if self._received:  # sent before TLS: somebody between may have put it there
            transport.abort()
            return
        transport.write(b"S")
        self._shaking = transport
        shake_hands(transport, self, context, self._tls_started)

    def _tls_started(self, transport: asyncio.Transport) -> None:
        self.connection_made(transport)
        self.is_encrypted = True
        self.data_received(b"")  # what came in the meantime

    def _take_frames(self) -> None:
        while (frame := self._next_frame()) is not None:
            self._give(frame)
        if self._is_reading and self._num_unread > MAX_UNREAD and self._transport is not None:
            self._is_reading = False
            self._transport.pause_reading()
            self._read_on()  # the thread may have taken them since

    def _wait_for_rest(self) -> None:
        """Have a message that has begun go on, as long as it is read."""
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        if self._received and self._is_reading and not self.is_leaving:
            self._rest = self._loop.call_later(REST_S, self._break, _CUT)

    def _break(self, problem: str) -> None:
        """What came is no message."""
        self._received.clear()
        self._give((BROKEN, problem.encode()))

    def _give(self, frame: Frame) -> None:
        if not self._is_handed_over:
            self._on_frame(self, frame)
            return
        with self._counts:
            self._num_unread += FRAME_BYTES + len(frame[1])
        self._frames.put(frame)

    def _next_frame(self) -> Frame | None:
        head = 5 if self.is_started else 4
        if len(self._received) < head:
            return None
        (length,) = struct.unpack_from("!i", self._received, head - 4)
        longest = MAX_MESSAGE if self._is_handed_over else MAX_START
        if not 4 <= length <= longest:
            raise ProtocolError(
                f"a message says that it has {length} bytes; it may have 4 to {longest}", "08P01"
            )
        end = head - 4 + length
        if length > LARGE and not self._begun and not self.is_lost:
            self._room.take(length)
            with self._counts:
                self._begun, self._num_large = length, self._num_large + length
        if len(self._received) < end:
            return None
        self._begun = 0
        frame = bytes(self._received[: head - 4]), bytes(self._received[head:end])
        del self._received[:end]
        return frame

    def _give_back(self, num_bytes: int) -> None:
        """The room of large messages, once: they are received, or the socket is gone."""
        with self._counts:
            num_bytes = min(num_bytes, self._num_large)
            self._num_large -= num_bytes
        self._room.give_back(num_bytes)

    def _read_on(self) -> None:
        self._reads_soon = False
        if not self._is_reading and self._num_unread <= MAX_UNREAD and self._transport is not None:
            self._is_reading = True
            self._transport.resume_reading()
            self._wait_for_rest()

    # What the client's thread calls.

    def receive(self, timeout_s: float | None = None) -> Frame:
        """The next frame.

        Raises:
            HungUp: the client is gone.
            Broken: what came is none.
            TimeoutError: none came in time.
        """
        try:
            frame = self._frames.get(timeout=timeout_s)
        except queue.Empty:
            raise TimeoutError from None
        if frame is None:
            raise HungUp("the client is gone")
        if frame[0] == BROKEN:
            raise Broken(frame[1].decode())
        with self._counts:
            self._num_unread -= FRAME_BYTES + len(frame[1])
        if len(frame[1]) + 4 > LARGE:
            self._give_back(len(frame[1]) + 4)
        if not self._is_reading and not self._reads_soon and self._num_unread <= MAX_UNREAD:
            self._reads_soon = True  # once: wake-ups fill the loop's pipe, which signals come through, too
            self._loop.call_soon_threadsafe(self._read_on)
        return frame

    def send(self, data: bytes) -> None:
        """Write bytes; waits while the client does not read those before.

        Raises:
            HungUp: the client is gone.
        """
        with self._counts:
            self._counts.wait_for(lambda: self.is_leaving or self._num_unsent < MAX_UNSENT)
            if self.is_leaving:
                raise HungUp("the client is gone")
            self._num_unsent += len(data)
        self._loop.call_soon_threadsafe(self._sent, data)

    def hang_up(self) -> None:
        """Close, from any thread."""
        self._loop.call_soon_threadsafe(self.close)

    def _sent(self, data: bytes) -> None:
        self.send_now(data)
        with self._counts:
            self._num_unsent -= len(data)
            self._counts.notify_all()
