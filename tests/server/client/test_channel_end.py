"""The end of a client's socket."""

from __future__ import annotations

import asyncio

from relserve.server.client.channel import Channel


class ClosedTwice(asyncio.Transport):
    """As asyncio's of TLS is after a second `close`, until it tells that the connection is lost."""

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        raise AttributeError("'NoneType' object has no attribute '_write_appdata'")

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


def test_a_client_that_leaves_as_the_server_ends_is_told_nothing() -> None:
    async def ends() -> bool:
        channel = Channel(lambda *_: None, lambda _: None)
        channel.connection_made(ClosedTwice())
        channel.end_with(b"the server is shutting down")
        return channel.is_leaving

    assert asyncio.run(ends())
