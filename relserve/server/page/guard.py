"""Who may see the page."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections import OrderedDict
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from relserve.server.users.tries import Tries

OPEN = "/health"  # for load balancers; tells nothing
CLOSES = {"Connection": "close"}  # of whom nothing is known, no socket is kept
EVERYBODY = ""  # whose token it is
MOST_WRONG = 1000  # tokens that are remembered to be wrong
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


class TokenGuard:
    """Lets requests through to an app: with a token those that know it, else those to this very machine.

    The token comes as `Authorization: Bearer TOKEN`, or as the password of a browser's own dialog; there is a
    budget of wrong ones. Without a token, names other than the loopback's are refused: a page elsewhere could
    have its own name lead here.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token
        self._tries = Tries(time.monotonic)
        self._wrong: OrderedDict[bytes, None] = OrderedDict()  # digests of the latest wrong tokens

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
        given, address = _password(request.headers), request.client.host if request.client else ""
        is_guess = bool(given) and hashlib.sha256(given).digest() not in self._wrong
        if is_guess and (wait_s := self._tries.wait_s(address, EVERYBODY)):
            return PlainTextResponse("too many wrong tokens\n", 429, {"Retry-After": str(wait_s)})
        if hmac.compare_digest(given, self._token.encode()):
            self._tries.right(address, EVERYBODY)
            return None
        if is_guess:
            self._was_wrong(address, given)
        asking = {"WWW-Authenticate": 'Basic realm="relserve: any name, and the token", charset="UTF-8"'}
        return PlainTextResponse("this page needs its token\n", 401, asking)

    def _was_wrong(self, address: str, given: bytes) -> None:
        """Count a guess; the same one again, as of a page that was left open, tells nothing new."""
        self._tries.wrong(address, EVERYBODY)
        self._wrong[hashlib.sha256(given).digest()] = None
        while len(self._wrong) > MOST_WRONG:
            self._wrong.popitem(last=False)


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
