"""The tools over streamable HTTP, at /mcp: for the users of a server by their keys, else for this machine."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import defaultdict
from http import HTTPStatus
from typing import Any

from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from relserve.errors import ForbiddenError, UsageError
from relserve.server.users.quota import HOUR
from relserve.server.users.users import User, Users

logger = logging.getLogger(__name__)

BODY_S = 60.0  # within which a request's body must have come; the SDK bounds its size
MOST_SESSIONS = 1000  # of a user's, opened in an hour and not ended; the SDK ends who rests for half an hour
_SESSION = b"mcp-session-id"


def http_app(made: MCPServer[Any], users: Users | None, host: str) -> ASGIApp:
    """The app.

    Args:
        users: whose keys are good, as of OpenAI clients; None: nobody needs one, and only requests to this
            machine's own names are answered.
    """
    if users is None:
        return _BodyInTime(made.streamable_http_app(host="127.0.0.1"))
    keyless = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # a web page has no key
    app = made.streamable_http_app(host=host, transport_security=keyless)
    guarded = RequireAuthMiddleware(_FewSessions(_BodyInTime(app)), [])
    return _WithLifespan(app, AuthenticationMiddleware(guarded, backend=BearerAuthBackend(_Keys(users))))


def user_of(request: Any, users: Users) -> User:
    """Who sends an HTTP request, whose key was good, as the users' file says now.

    Raises:
        ForbiddenError: the user is gone.
    """
    user = users.find(request.user.access_token.client_id)
    if user is None:
        raise ForbiddenError("the user of this key is gone")
    return user


class _Keys:
    """A `TokenVerifier` of the SDK."""

    def __init__(self, users: Users) -> None:
        self._users = users

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            user = self._users.find_by_key(token.strip())
        except UsageError as error:
            logger.error("MCP clients are let in by nobody: %s", error)
            return None
        return None if user is None else AccessToken(token=token, client_id=user.name, scopes=[])


class _WithLifespan:
    """Requests go through the guard; the app's own start and end do not."""

    def __init__(self, app: ASGIApp, guarded: ASGIApp) -> None:
        self._app, self._guarded = app, guarded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        inner = self._app if scope["type"] == "lifespan" else self._guarded
        await inner(scope, receive, send)


class _BodyInTime:
    """Refuses a request whose body does not come to its end: it would keep its socket."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        until = asyncio.get_running_loop().time() + BODY_S
        is_whole = is_late = is_answered = False

        async def receiving() -> Message:
            nonlocal is_whole, is_late
            try:
                async with asyncio.timeout_at(None if is_whole or is_answered else until):
                    message = await receive()
            except TimeoutError:
                if not is_late:
                    is_late = True
                    told = PlainTextResponse(f"the body did not come within {BODY_S:g} s\n", 408)
                    await told(scope, receive, send)
                return {"type": "http.disconnect"}
            is_whole = is_whole or not message.get("more_body", False)
            return message

        async def sending(message: Message) -> None:
            nonlocal is_answered
            if not is_late:
                is_answered = True
                await send(message)

        await self._app(scope, receiving, sending)


class _FewSessions:
    """Lets each user open so many sessions: of all users together the SDK lets 10,000 be open."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._opened = defaultdict[str, dict[bytes, float]](dict)  # by user: when, in this order

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = str(scope["user"].access_token.client_id)
        given = next((value for key, value in scope["headers"] if key == _SESSION), None)
        if given is None and (wait_s := self._wait_s(name)):
            told = (
                f"user {name} has {MOST_SESSIONS} sessions of the last hour that were not ended: use one for "
                "many calls, or end each\n"
            )
            await PlainTextResponse(told, 429, {"Retry-After": f"{math.ceil(wait_s)}"})(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            made = next((value for key, value in message.get("headers", ()) if key == _SESSION), None)
            if given is None and made is not None:
                self._opened[name][made] = time.monotonic()
            elif scope["method"] == "DELETE" and message.get("status") == HTTPStatus.OK:
                self._opened[name].pop(given or b"", None)
            await send(message)

        await self._app(scope, receive, sending)

    def _wait_s(self, name: str) -> float:
        opened, since = self._opened[name], time.monotonic() - HOUR.seconds
        while opened and (first := next(iter(opened.items())))[1] <= since:
            del opened[first[0]]
        return next(iter(opened.values())) - since if len(opened) >= MOST_SESSIONS else 0.0
