"""Gateways on a port of their own, in a thread's event loop, and OpenAI's client of them."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai

from relserve.server.openai.gateway import Gateway
from relserve.server.openai.upstream import Upstream
from relserve.server.page.counters import Counters
from relserve.server.page.serving import serving
from relserve.server.users.quota import Quota
from relserve.server.users.salts import Salts
from relserve.server.users.users import Users
from tests.ending import ends_soon

KEY = "sk-relserve-nobody"
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Running:
    """A gateway that listens.

    Attributes:
        url: of OpenAI's API.
    """

    def __init__(self, gateway: Gateway, counters: Counters, quota: Quota) -> None:
        self.gateway, self.counters, self.quota = gateway, counters, quota
        self.url = ""
        self.loop: asyncio.AbstractEventLoop | None = None

    def client(self, key: str = KEY, **options: Any) -> openai.OpenAI:
        """OpenAI's own, as it comes, but that it does not try again by itself."""
        plain = openai.DefaultHttpxClient(verify=NO_TLS)  # else it reads all of the machine's certificates
        given = {"max_retries": 0, "timeout": 60, "http_client": plain, **options}
        return openai.OpenAI(base_url=self.url, api_key=key, **given)

    @property
    def port(self) -> int:
        """On which it listens."""
        return int(self.url.split(":")[2].removesuffix("/v1"))

    @property
    def codes(self) -> dict[tuple[str, int], int]:
        """Requests that ended, by user and status."""
        return self.counters.requests.read().ended

    def close(self) -> None:
        """As the server does at its end."""
        assert self.loop is not None
        asyncio.run_coroutine_threadsafe(self.gateway.close(), self.loop).result(30)


@contextmanager
def running(
    make_upstream: Callable[[], Upstream], users: Users | None = None, batches: Path | None = None
) -> Iterator[Running]:
    """A gateway to what `make_upstream` makes in the gateway's event loop.

    Args:
        batches: folder of files and batches.
    """
    ready, done = threading.Event(), threading.Event()
    made: list[Running] = []

    async def serve() -> None:
        counters, quota = Counters(), Quota(time.monotonic)
        salts = Salts(None if users is None else users.secret)
        gateway = Gateway(make_upstream(), users, quota, counters, salts, batches)
        one = Running(gateway, counters, quota)
        one.loop = asyncio.get_running_loop()
        async with serving(one.gateway, "127.0.0.1", 0) as port:
            one.url = f"http://127.0.0.1:{port}/v1"
            made.append(one)
            ready.set()
            await asyncio.to_thread(done.wait)
            await one.gateway.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(60)
        yield made[0]
    finally:
        done.set()
        if batches is None:
            ends_soon(thread)
        else:  # the next server has the folder when this one has ended
            thread.join(60)
