"""Where requests go: the one engine that answers SQL, too."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

import aiohttp

from relserve.call.relquery import Reply, Submission
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine, ServesOpenAI
from relserve.errors import EngineError, EngineStartError, RelserveError
from relserve.server.openai.refusal import ENDED, error_of

logger = logging.getLogger(__name__)

START_S = 45.0  # how long a request waits for an engine that is starting
HOST = "http://engine"  # a socket has no name; HTTP wants one


class UpstreamResponse(NamedTuple):
    """What came of a request: HTTP's status and headers, whose names have no case; the body as it comes."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]

    async def read(self) -> bytes:
        """All of the body."""
        return b"".join([chunk async for chunk in self.chunks])


class Upstream(Protocol):
    """What answers requests of OpenAI's API.

    Attributes:
        model: the name of its model.
        context: tokens that a prompt and its answer may have together; None: not known yet.
    """

    model: str
    context: int | None

    def send(
        self, path: str, body: bytes, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[UpstreamResponse]:
        """The answer to a request, as it comes; leaving it aborts what is unfinished.

        Args:
            headers: `entering.ENTERS`, by which the gate of whichever engine it goes to is asked first; it
                answers 429 where it lets nobody in.

        Raises:
            EngineError: nothing answers now; inside, too.
        """

    async def answer(self, submission: Submission) -> list[Reply]:
        """All replies to a submission; cancelling it aborts what is unfinished.

        Raises:
            EngineError: nothing answers now; in words for clients.
            OptionError: as of `Engine.answer`.
        """

    async def close(self) -> None:
        """Give up what is under way."""


class OpenAIEngine(ServesOpenAI, Engine, Protocol):
    """An engine that OpenAI clients can ask."""


class EngineUpstream:
    """The OpenAI server of an engine.

    Args:
        model: the name by which clients ask for it.
        arguments: see `ServesOpenAI.openai_socket`.
    """

    def __init__(self, engine: OpenAIEngine, model: str, arguments: Mapping[str, Any]) -> None:
        self.model = model
        self.context: int | None = None
        self._engine, self._arguments = engine, arguments
        self._client: aiohttp.ClientSession | None = None
        self._reaching: asyncio.Task[aiohttp.ClientSession] | None = None

    def start(self) -> None:
        """Have the engine started, if it is not up, and wait for nothing."""
        self._reach()

    @asynccontextmanager
    async def send(
        self, path: str, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[UpstreamResponse]:
        """See `Upstream.send`."""
        async with contextlib.AsyncExitStack() as stack:
            client = await self._up()
            try:
                response = await stack.enter_async_context(_post(client, path, body, headers))
            except aiohttp.ClientConnectorError:  # a shared engine's process has ended, and takes a new one
                if self._client is client:  # else somebody else found that out before
                    self._client = None
                response = await stack.enter_async_context(_post(await self._up(), path, body, headers))
            yield response

    async def answer(self, submission: Submission) -> list[Reply]:
        """See `Upstream.answer`."""
        await self._up()
        try:
            return await asyncio.wrap_future(spawn(_all_of(self._engine.answer(submission))))
        except EngineError as error:  # which may tell of this machine
            logger.warning("the engine did not answer: %s", error)
            raise EngineError(ENDED) from error

    async def close(self) -> None:
        """See `Upstream.close`."""
        if self._reaching is not None:
            self._reaching.cancel()
        if self._client is not None:
            await self._client.close()

    async def _up(self) -> aiohttp.ClientSession:
        if self._client is not None:
            return self._client
        try:
            async with asyncio.timeout(START_S):
                return await asyncio.shield(self._reach())
        except TimeoutError:
            raise EngineStartError(f"the engine for {self.model} is starting; ask again") from None
        except RelserveError:  # the log says why
            raise EngineStartError(f"the engine for {self.model} did not start; ask again later") from None

    def _reach(self) -> asyncio.Task[aiohttp.ClientSession]:
        if self._reaching is None:
            self._reaching = asyncio.ensure_future(self._connected())
            self._reaching.add_done_callback(self._reached)
        return self._reaching

    def _reached(self, task: asyncio.Task[aiohttp.ClientSession]) -> None:
        self._reaching = None
        if not task.cancelled() and (error := task.exception()):
            logger.error("OpenAI clients have no engine: %s", error)

    async def _connected(self) -> aiohttp.ClientSession:
        """A client of an engine that is up."""
        try:
            path = await asyncio.wrap_future(spawn(self._engine.openai_socket(self._arguments)))
        except RelserveError as error:
            raise EngineStartError(str(error)) from error
        client = aiohttp.ClientSession(
            HOST, connector=aiohttp.UnixConnector(str(path), limit=0), timeout=aiohttp.ClientTimeout(),
            cookie_jar=aiohttp.DummyCookieJar(),
        )  # fmt: skip
        try:
            async with client.get("/v1/models") as models:  # a model that is not up is started by that
                if models.status != HTTPStatus.OK:
                    raise EngineStartError(error_of(await models.read())[0])
                self.context = (await models.json())["data"][0].get("max_model_len")
        except aiohttp.ClientError as error:
            await client.close()
            raise EngineStartError(f"the engine for {self.model} does not answer: {error}") from error
        except BaseException:
            await client.close()
            raise
        self._client = client
        return client


@asynccontextmanager
async def _post(
    client: aiohttp.ClientSession, path: str, body: bytes, headers: Mapping[str, str]
) -> AsyncIterator[UpstreamResponse]:
    try:
        sent = {"content-type": "application/json", **headers}
        async with client.post(path, data=body, headers=sent) as response:
            yield UpstreamResponse(response.status, response.headers, response.content.iter_any())
    except aiohttp.ClientConnectorError:
        raise
    except aiohttp.ClientError as error:
        logger.warning("the engine ended while it worked on a request: %s", error)
        raise EngineError("the engine ended while it worked on the request; ask again") from error


async def _all_of(replies: AsyncIterator[list[Reply]]) -> list[Reply]:
    async with aclosing(replies) as stream:  # type: ignore[type-var]
        return [reply async for some in stream for reply in some]
