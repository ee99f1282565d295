"""The gateway: who asks, whether they may, and the way to the engine and back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.types import Receive, Scope, Send

from relserve.call.token_counts import CHARS_A_TOKEN
from relserve.engines.local.entering import ENTERS, REQUEST_ID, Entering
from relserve.errors import EngineError, UsageError
from relserve.machine.traces import trace_of
from relserve.server.openai.asked import CHAT, COMPLETIONS, OpenAIRequest, read_asked
from relserve.server.openai.batches.row_exchange import RowExchange
from relserve.server.openai.batches.runner import RowReply
from relserve.server.openai.batches.service import BATCHES, FILES, BatchService
from relserve.server.openai.decision_answer import answer_of, decide, total_usage
from relserve.server.openai.decision_request import DECISIONS, SYSTEM_ONE, DecisionRequest, read_decision
from relserve.server.openai.events import EventStream, Tokens, events, json_object, tokens_of
from relserve.server.openai.exchange import LEFT, ClientLeft, Exchange
from relserve.server.openai.limits import TokenAccount, UserLimits
from relserve.server.openai.refusal import DEADLINE, Refusal, no_model, of_engine, unavailable
from relserve.server.openai.turned_away import TurnedAway, Want
from relserve.server.openai.upstream import Upstream
from relserve.server.page.counters import Counters
from relserve.server.page.guard import CLOSES, is_for_here
from relserve.server.users.quota import Quota
from relserve.server.users.salts import Salts
from relserve.server.users.users import User, Users

logger = logging.getLogger(__name__)

ANYBODY = User("anybody", is_admin=True)  # where nobody needs a key
UNKNOWN = "unknown"  # in metrics: who showed no key, or a wrong one
MODELS = "/v1/models"
CHATS = (CHAT, COMPLETIONS)
POSTED = (*CHATS, SYSTEM_ONE, DECISIONS)
RequestAsked = OpenAIRequest | DecisionRequest
LARGE = 1 << 18  # bytes of a body: to read 4 MiB takes a part of a second, in which nobody else has a turn
MOST_TOKENS = 4096  # taken for the model's context where it is not known yet
GATE_S = 0.1  # in which the gate may say first that a request's limit has passed while it waited
GRACE_S = 10.0  # for requests under way when the server ends
LEAST_CHARS, MOST_CHARS = 0.5, 8.0  # of a token, as far as one user's prompts are believed for all
RENEWS = 0.05  # weight of the latest prompt in the mean of characters a token


class Gateway:
    """An ASGI app with OpenAI's API; all in one event loop.

    Args:
        users: whose keys are good; None: nobody needs one, and only this machine's own names are answered to.
        quota: of the users' tokens, those that SQL takes among them.
        salts: of the engine's prefix cache.
        batches: folder of files and batches; None: there are none.
    """

    def __init__(
        self, upstream: Upstream, users: Users | None, quota: Quota, counters: Counters, salts: Salts,
        batches: Path | None = None,
    ) -> None:  # fmt: skip
        self._upstream, self._users, self._counters, self._salts = upstream, users, counters, salts
        self._limits, self._turned_away = UserLimits(quota), TurnedAway()
        self._chars_per_token = float(CHARS_A_TOKEN)  # of prompts, the chat template among them; learnt
        self._running: set[asyncio.Task[Any]] = set()
        self._large_body = asyncio.Lock()
        self._created = int(time.time())
        self._is_ending = False
        self._batches = BatchService(batches, self._ask_row) if batches is not None else None
        if self._batches is not None:
            self._batches.start()

    @property
    def who_may(self) -> str:
        """Who may ask, in words."""
        if self._users is None:
            return "it takes no keys, for there is no --users, and is for this machine alone"
        has_keys = any(user.keys for user in self._users.all())
        return "it takes the users' keys" + ("" if has_keys else "; nobody has one: relserve user key NAME")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        if scope["path"] == "/health":  # for load balancers
            await Exchange(scope, receive, send).whole(503 if self._is_ending else 200, {}, CLOSES)
            return
        exchange, user, began_s = Exchange(scope, receive, send), UNKNOWN, time.monotonic()
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            known = self._known(exchange)
            user = known.name
            self._counters.requests.begun(user)
            await self._answer(exchange, known)
        except Refusal as refusal:
            await _told(exchange, refusal)
        except ClientLeft:
            exchange.status = LEFT
        except asyncio.CancelledError:
            if not self._is_ending:
                raise
            await _told(exchange, unavailable("the server is shutting down"))
        except Exception:
            logger.exception("a request of %s failed", user)
            await _told(exchange, Refusal(500, "the server failed; its log says why"))
        finally:
            self._running.discard(task)
            status = exchange.status or LEFT
            self._counters.requests.ended(user, status, time.monotonic() - began_s)

    async def close(self) -> None:
        """Take no more requests; those under way have `GRACE_S` to end."""
        self._is_ending = True
        if self._batches is not None:
            await self._batches.close()
        if self._running:
            await asyncio.wait(self._running, timeout=GRACE_S)
        for task in list(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=1)
        await self._upstream.close()

    def _known(self, exchange: Exchange) -> User:
        """Who asks.

        Raises:
            Refusal: nobody who may.
        """
        headers = exchange.request.headers
        if self._users is None:
            if not is_for_here(headers):  # a web page's own name may lead here
                raise Refusal(403, "without keys this server is for its own machine alone: ask for localhost")
            return ANYBODY
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise Refusal(401, "you didn't provide an API key: Authorization: Bearer KEY", "invalid_api_key")
        try:
            user = self._users.find_by_key(secret.strip())
        except UsageError as error:
            logger.error("OpenAI clients are let in by nobody: %s", error)
            raise unavailable("the server cannot see whose key this is") from None
        if user is None:
            raise Refusal(401, f"incorrect API key provided: ..{secret.strip()[-4:]}", "invalid_api_key")
        return user

    async def _answer(self, exchange: Exchange, user: User) -> None:
        path, method = exchange.request.scope["path"], exchange.request.method
        if self._is_ending:
            raise unavailable("the server is shutting down")
        if path in POSTED:
            _check_method(method, "POST")
            await self._complete(exchange, user, path)
        elif self._batches is not None and self._batches.handles(path):
            await self._batches.answer(exchange, user)
        elif path == MODELS or path.startswith(MODELS + "/"):
            _check_method(method, "GET")
            await exchange.whole(200, self._models(user, path[len(MODELS) + 1 :]))
        else:
            there = ", ".join((*POSTED, MODELS, *((FILES, BATCHES) if self._batches is not None else ())))
            raise Refusal(404, f"unknown request URL: {method} {path}; there is {there}", "unknown_url")

    def _models(self, user: User, name: str) -> dict[str, Any]:
        models = self._of(user)
        if name and name not in models:
            raise no_model(name, models)
        facts: dict[str, Any] = {"object": "model", "created": self._created, "owned_by": "relserve"}
        if self._upstream.context is not None:
            facts["max_model_len"] = self._upstream.context  # as vLLM says it
        cards = [{"id": each, **facts} for each in models]
        return cards[0] if name else {"object": "list", "data": cards}

    def _of(self, user: User) -> list[str]:
        """The models that a user may ask here."""
        model = self._upstream.model
        return [model] if user.models is None or model in user.models else []

    async def _ask_row(
        self, user_name: str, path: str, body: dict[str, Any], tags: Mapping[str, Any]
    ) -> RowReply:
        """See `BatchRunner`."""
        exchange = RowExchange(path, body)
        user = ANYBODY if self._users is None else self._users.find(user_name)
        try:
            if user is None:
                raise Refusal(403, f"there is no user {user_name} any more")
            unhurried = replace(user, deadline_s=None, slo=None)  # those are of answers that somebody awaits
            await self._complete(exchange, unhurried, path, tags)
        except Refusal as refusal:
            return RowReply(refusal.status, refusal.body(), refusal.retry_s)
        except UsageError as error:  # the users' file cannot be read
            logger.error("a row of a batch waits: %s", error)
            return RowReply(503, None)
        except Exception:
            logger.exception("a row of a batch of %s failed", user_name)
            return RowReply(500, Refusal(500, "the server failed; its log says why").body())
        return RowReply(exchange.status or 500, exchange.content)

    async def _complete(
        self, exchange: Exchange, user: User, path: str, tags: Mapping[str, Any] | None = None
    ) -> None:
        """Answer a request.

        Args:
            tags: of a row in the background, for the scheduler; it is none of a user's requests at once.
        """
        self._limits.check(user, 1 if tags is None else 0)  # before the server takes the trouble to read
        asked = await self._read(path, await exchange.body(), user)
        if not self._of(user):
            raise no_model(self._upstream.model, [])
        self._limits.check_size(user, asked.num_answers)
        num_requests = asked.num_answers if tags is None else 0
        if tags is not None and isinstance(asked, OpenAIRequest):
            own = {**tags, "rel_id": f"openai {quote(user.name)} {tags['rel_id']}"}
            asked = replace(asked, body={**asked.body, "vllm_xargs": {**asked.body["vllm_xargs"], **own}})
        prompt_tokens = int(asked.num_chars / self._chars_per_token) + asked.num_ids + 1
        most = self._most(asked, prompt_tokens)
        with (
            self._limits.entered(user, prompt_tokens + most, num_requests) as spending,
            self._turned_away.asking(Want.of(user.name, asked.slo, most, prompt_tokens)),
        ):
            try:
                await exchange.while_there(self._within(exchange, user, asked, prompt_tokens, spending))
            finally:
                self._counters.requests.spent(user.name, *spending.tokens)

    async def _read(self, path: str, raw: bytes, user: User) -> RequestAsked:
        """A request's body; of several large ones one at a time, so that others have a turn between two."""
        async with self._large_body if len(raw) > LARGE else contextlib.nullcontext():
            await asyncio.sleep(0)
            given = path, raw, self._upstream.model, user, self._salts
            return read_asked(*given) if path in CHATS else read_decision(*given)

    async def _within(
        self, exchange: Exchange, user: User, asked: RequestAsked, prompt_tokens: int, spending: TokenAccount
    ) -> None:
        """Answer before the request's deadline."""
        left_s = None if asked.deadline_s is None else exchange.began_s + asked.deadline_s - time.time()
        try:
            async with asyncio.timeout(None if left_s is None else left_s + GATE_S):
                trace = trace_of(exchange.request.headers)
                if isinstance(asked, DecisionRequest):
                    await self._decide(exchange, asked, spending, trace)
                else:
                    headers = self._entering(user, asked, prompt_tokens, exchange.began_s) | trace
                    await self._forward(exchange, asked, spending, headers)
        except (asyncio.CancelledError, TimeoutError) as error:
            if not any(spending.tokens):  # of a whole answer nobody knows how far it came
                spending.spent(Tokens(prompt_tokens, 0))
            if isinstance(error, asyncio.CancelledError):
                raise
            raise Refusal(504, f"the deadline of {asked.deadline_s:g} s has passed", DEADLINE) from None

    def _most(self, asked: RequestAsked, prompt_tokens: int) -> int:
        """The most tokens that the answers may have together."""
        fits = max((self._upstream.context or MOST_TOKENS) - prompt_tokens, 1)
        return min(asked.max_tokens or fits, fits) * asked.num_answers

    def _entering(
        self, user: User, asked: OpenAIRequest, prompt_tokens: int, began_s: float
    ) -> dict[str, str]:
        """What the engine's gate is told."""
        request_id, most = uuid.uuid4().hex, self._most(asked, prompt_tokens)
        entering = Entering(
            user.name, prompt_tokens, most, asked.slo, asked.slo is None, asked.ids(request_id), began_s
        )
        return {REQUEST_ID: request_id, ENTERS: entering.header()}

    async def _decide(
        self, exchange: Exchange, asked: DecisionRequest, spending: TokenAccount, trace: Mapping[str, str]
    ) -> None:
        replies = await decide(self._upstream, asked, trace)
        usage = total_usage(replies)
        spending.spent(Tokens(usage.prompt_tokens, usage.output_tokens))
        await exchange.whole(200, answer_of(asked, self._upstream.model, replies))

    async def _forward(
        self, exchange: Exchange, asked: OpenAIRequest, spending: TokenAccount, headers: Mapping[str, str]
    ) -> None:
        body = json.dumps(asked.body).encode()
        try:
            async with self._upstream.send(asked.path, body, headers) as response:
                if response.status != HTTPStatus.OK:
                    raise of_engine(response.status, await response.read(), response.headers)
                if asked.deadline_s is not None and time.time() >= exchange.began_s + asked.deadline_s:
                    raise TimeoutError  # the gate alone may take a moment more
                if not response.headers.get("content-type", "").startswith("text/event-stream"):
                    answer = await response.read()
                    spending.spent(tokens_of(json_object(answer).get("usage")) or spending.tokens)
                    self._learn(asked, spending)
                    await exchange.whole(200, answer)
                    return
                await exchange.begin()
                stream = EventStream(asked)
                async for data in events(response.chunks):
                    shown = stream.for_client(data)
                    spending.spent(stream.tokens)
                    if shown is not None:
                        await exchange.event(shown)
                self._learn(asked, spending)
                await exchange.end()
        except EngineError as error:
            raise unavailable(str(error)) from None

    def _learn(self, asked: OpenAIRequest, spending: TokenAccount) -> None:
        """How many characters a token of a prompt has."""
        tokens = spending.tokens.prompt - asked.num_ids
        if asked.num_chars and tokens > 0:
            ratio = min(max(asked.num_chars / tokens, LEAST_CHARS), MOST_CHARS)
            self._chars_per_token += RENEWS * (ratio - self._chars_per_token)


def _check_method(method: str, allowed: str) -> None:
    if method != allowed:
        raise Refusal(405, f"the method is {method}; this URL takes {allowed}")


async def _told(exchange: Exchange, refusal: Refusal) -> None:
    """Tell a client why; one that has left hears nothing."""
    with contextlib.suppress(OSError):
        await exchange.refuse(refusal)
