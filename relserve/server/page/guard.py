"""Who may see the page."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OPEN = "/health"  # for load balancers; tells nothing
CLOSES = {"Connection": "close"}  # of whom nothing is known, no socket is kept
ONLY_HERE = "only for this machine: ask for localhost, or serve with --http-token\n"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_HERE = re.compile(r"(?i)(?:127\.0\.0\.1|\[::1\]|localhost)(?::[0-9]{1,5})?")
CONTENT = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS = {
    "Content-Security-Policy": CONTENT,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Guard:
    """Lets requests through to an app: with a token those that know it, else those to this very machine.

    The token comes as `Authorization: Bearer TOKEN`, or as the password of a browser's own dialog. Without a
    token, names other than the loopback's are refused: a page elsewhere could have its own name lead here.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the app's start and end."""
        if scope["type"] == "http":
            refusal = self._refusal(Request(scope))
            own = HEADERS | CLOSES if refusal is not None or scope["path"] == OPEN else HEADERS
            await (refusal or self._app)(scope, receive, _with_headers(send, own))
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> PlainTextResponse | None:
        if request.scope["path"] == OPEN:
            return None
        if self._token is None:
            if is_for_here(request.headers):
                return None
            return PlainTextResponse(ONLY_HERE, 403)
        if hmac.compare_digest(_password(request.headers), self._token.encode()):
            return None
        asking = {"WWW-Authenticate": 'Basic realm="relserve: any name, and the token", charset="UTF-8"'}
        return PlainTextResponse("this page needs its token\n", 401, asking)


def is_for_here(headers: Headers) -> bool:
    """Whether a request asks for one of this machine's own names, and no other.

    Read from what the client sent, and not from Starlette's URL: some releases put that together from
    whatever the Host header says, and with a Host of `x/health?` its path is not the one that is answered.
    """
    hosts = headers.getlist("host")
    return bool(hosts) and all(_HERE.fullmatch(host) for host in hosts)


def _password(headers: Headers) -> bytes:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return given.strip().encode("latin-1")
    if scheme.lower() != "basic":
        return b""
    try:
        return base64.b64decode(given, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""


def _with_headers(send: Send, own: Mapping[str, str]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = [(name.lower().encode(), value.encode()) for name, value in own.items()]
            message = {**message, "headers": [*message["headers"], *given]}
        await send(message)

    return sending
