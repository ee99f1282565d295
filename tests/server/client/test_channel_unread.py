"""What a client sends while its statement runs: the socket is not read on for ever."""

from __future__ import annotations

import asyncio
import struct

import pytest

from relserve.server.client import inbox_room
from relserve.server.client.channel import FRAME_BYTES, MAX_UNREAD, Broken, Channel
from relserve.server.client.inbox_room import LARGE, InboxRoom
from tests.server.client.raw_client import message
from tests.server.client.test_channel_end import ClosedTwice


class Paused(ClosedTwice):
    """Tells whether it is read."""

    is_read = True

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


def test_messages_without_a_body_are_not_taken_for_ever() -> None:
    async def floods() -> tuple[bool, bool]:
        channel, transport = Channel(lambda *_: None, lambda _: None), Paused()
        channel.connection_made(transport)
        channel.is_started = True
        channel.hand_over(InboxRoom())
        count = MAX_UNREAD // FRAME_BYTES + 1
        channel.data_received(message(b"H", b"") * count)
        was_read = transport.is_read
        for _ in range(count):
            channel.receive()
        await asyncio.sleep(0)
        return was_read, transport.is_read

    assert asyncio.run(floods()) == (False, True)


def test_the_large_messages_of_a_user_have_room_for_so_much_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_room, "MOST", 3 * LARGE)
    room = InboxRoom()

    def begun() -> Channel:
        """A client whose message of two thirds of the room has begun."""
        channel = Channel(lambda *_: None, lambda _: None)
        channel.connection_made(Paused())
        channel.is_started = True
        channel.hand_over(room)
        channel.data_received(b"Q" + struct.pack("!i", 2 * LARGE))
        return channel

    async def several() -> tuple[bytes, bytes]:
        first, second = begun(), begun()
        with pytest.raises(Broken, match="send fewer at once"):
            second.receive()
        first.data_received(bytes(2 * LARGE - 4))
        one = first.receive()[0]
        third, fourth = begun(), begun()
        third.connection_lost(None)
        with pytest.raises(Broken):
            fourth.receive()
        fifth = begun()
        fifth.data_received(bytes(2 * LARGE - 4))
        return one, fifth.receive()[0]

    assert asyncio.run(several()) == (b"Q", b"Q")
