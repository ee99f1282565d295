"""The HTTP engine: answers from any OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from relserve.call.hosts import without_user
from relserve.call.relquery import Reply, Submission
from relserve.engines import fingerprint
from relserve.engines.http.client import JsonClient
from relserve.engines.http.concurrency_limit import ConcurrencyLimit
from relserve.engines.http.dialect import Dialect
from relserve.engines.http.embedded_rows import EmbeddedRows
from relserve.engines.http.label_reply import as_asked
from relserve.engines.http.read_rows import ReadRows
from relserve.engines.http.rows import HttpRows
from relserve.engines.http.server import ModelServer, base_url_of, find_served
from relserve.engines.keys import ServerKey
from relserve.errors import EngineDeadError, EngineError, ModelError

MAX_QUEUED = 2  # at a server that answers one request at a time: it, and the next

log = logging.getLogger(__name__)


class HttpEngine:
    """Answers from the OpenAI-compatible server at a URL, one request a row.

    Probabilities of choices are read by whichever of the `ReadingWays` the server knows.

    Args:
        url: of the server, with or without /v1; "url#model" names the model as `served_model` does.
        served_model: the model's name at the server; None for the one that it serves.
        api_key: where the server wants one; or what tells it whenever the server is looked at.
        timeout_s: how long one request may take; a row that takes longer is tried once more.
        max_retries: how often a row is tried again.
        max_waits: how often after refusals for overload (429, 503), which count only when the server answered
            nothing in between; None: as often.
        max_in_flight: most requests at the server at once, over all relQueries.
    """

    embeds = True

    def __init__(
        self,
        url: str,
        *,
        served_model: str | None = None,
        api_key: str | Callable[[], ServerKey] | None = None,
        timeout_s: float = 600,
        max_retries: int = 6,
        max_waits: int | None = None,
        max_in_flight: int = 256,
    ) -> None:
        url, _, named = url.partition("#")
        self._url, self._wanted = url, served_model or named or None
        self._base_url, self._shown = base_url_of(url), without_user(url)
        self._api_key, self._timeout_s = api_key, timeout_s
        self._max_retries, self._max_in_flight = max_retries, max_in_flight
        self._max_waits = max_retries if max_waits is None else max_waits
        self._starting = asyncio.Lock()
        self._server: ModelServer | None = None
        self._learnt: tuple[str, Dialect] | None = None  # a model, and what its server was found to refuse
        self._running: set[HttpRows] = set()

    asks_before_sending = True  # see `Submission.may_send`

    @property
    def model(self) -> str:
        """The name by which users ask for it: the URL, or URL#model."""
        return f"{self._url}#{self._wanted}" if self._wanted else self._url

    @property
    def server(self) -> ModelServer | None:
        """What was found out about the server; None before it is first asked."""
        return self._server

    @property
    def num_in_flight(self) -> int:
        """Requests at the server now."""
        return self._server.concurrency.num_inside if self._server else 0

    @property
    def row_limits(self) -> tuple[int, int]:
        """How often a row is tried again after faults, and after refusals for overload."""
        return self._max_retries, self._max_waits

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`: of the URL and the model's name at the server.

        Where no name is given, the server is asked each time: by now it may serve another model. None once it
        refused `temperature`: what it answers at its own is not greedy, and would not repeat.
        """
        if self._server is not None and "temperature" in self._server.dialect.omitted:
            return None
        if self._wanted is not None:
            return fingerprint.of_server(self._base_url, self._wanted)
        known = self._server
        server = await self._started()
        if server is known:
            try:
                served = await find_served(server.client, self._shown, None, server.key)
            except (EngineError, ModelError):
                return None  # it may pass; `answer` finds out
            if served.model != server.model:
                await self._forget(server, EngineDeadError(f"{self._shown} now serves {served.model}"))
                server = await self._started()
        return fingerprint.of_server(self._base_url, server.model)

    async def start(self) -> ModelServer:
        """Look at the server, if that was not done yet.

        Raises:
            EngineStartError: no server that answers is there, or it does not let us in.
            ModelError: it does not serve the model.
        """
        return await self._started()

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; ModelError where the server does not serve the model."""
        if not submission.prompts:
            return
        asked = as_asked(submission)
        server = await self._started()
        rows = HttpRows(server, asked, self._max_retries, self._max_waits)
        if submission.sampling.embeds:
            rows = EmbeddedRows(server, submission, self._max_retries, self._max_waits)
        elif submission.sampling.read is not None:
            rows = ReadRows(server, asked, self._max_retries, self._max_waits, plain=submission)
        rows.start()
        self._running.add(rows)
        try:
            num_left = len(submission.prompts)
            while num_left:
                came = [await rows.inbox.get()]
                while not rows.inbox.empty():
                    came.append(rows.inbox.get_nowait())
                replies = [one for one in came if isinstance(one, Reply)]
                num_left -= len(replies)
                if replies:
                    yield replies
                for one in came:
                    if isinstance(one, Exception):
                        raise one
        except (EngineError, ModelError) as error:
            self._running.discard(rows)
            await self._forget(server, error)
            raise
        finally:
            self._running.discard(rows)
            await rows.cancel()

    async def close(self) -> None:
        """See `Engine.close`; relQueries under way end with EngineDeadError."""
        if self._server is not None:
            await self._forget(self._server, EngineDeadError(f"{without_user(self.model)} was closed"))

    async def _started(self) -> ModelServer:
        """The server, looked at once."""
        async with self._starting:
            if self._server is None:
                key = self._api_key() if callable(self._api_key) else ServerKey(self._api_key)
                client = JsonClient(self._base_url, key.text, self._timeout_s)
                try:
                    served = await find_served(client, self._shown, self._wanted, key)
                except BaseException:
                    await client.close()
                    raise
                log.info("%s: %s", self._shown, served)
                dialect = Dialect(is_vllm=served.is_vllm, is_llama_cpp=served.is_llama_cpp)
                if self._learnt is not None and self._learnt[0] == served.model:
                    dialect = self._learnt[1]
                # What waits inside a server that answers one at a time would time out there.
                most = min(MAX_QUEUED, self._max_in_flight) if served.one_at_a_time else self._max_in_flight
                queues = served.is_vllm or served.is_llama_cpp  # and nobody pays by tokens
                concurrency = ConcurrencyLimit(most, is_careful=not queues)
                name = without_user(self.model)
                self._server = ModelServer(name, client, served.model, dialect, concurrency, key)
            return self._server

    async def _forget(self, server: ModelServer, error: EngineError | ModelError) -> None:
        """End the other relQueries at the server, and let the next submission look at it anew."""
        if self._server is server:
            self._server = None
            self._learnt = server.model, server.dialect
        for rows in self._running:
            if rows.server is server:
                rows.inbox.put_nowait(type(error)(str(error)))
        await server.client.close()
