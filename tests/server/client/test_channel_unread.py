"""What a client sends while its statement runs: the socket is not read on for ever."""

from __future__ import annotations

import asyncio

from relserve.server.client.channel import FRAME_BYTES, MAX_UNREAD, Channel
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
        channel.hand_over()
        count = MAX_UNREAD // FRAME_BYTES + 1
        channel.data_received(message(b"H", b"") * count)
        was_read = transport.is_read
        for _ in range(count):
            channel.receive()
        await asyncio.sleep(0)
        return was_read, transport.is_read

    assert asyncio.run(floods()) == (False, True)
