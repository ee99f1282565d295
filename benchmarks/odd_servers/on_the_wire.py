"""Kinds of misbehaviour in status, headers, the form of bodies, streams and time."""

from __future__ import annotations

import json

from benchmarks.odd_servers.kinds import TRIES, Misbehaviour, OddRowOutcome, always, once
from benchmarks.odd_servers.server import OddReply, OddRequest, good, http, right_body

UTF_7 = "application/json; charset=utf-7"
YEAR_1 = "Mon, 01 Jan 0001 00:00:00 GMT"
DEEP = b'{"choices": ' + b"[" * 3000 + b"]" * 3000 + b"}"


def error(status: int, message: str, *headers: str, **fields: object) -> OddReply:
    """A refusal in OpenAI's words."""
    return http(status, {"error": {"message": message, **fields}}, *headers)


def _body(asked: OddRequest) -> bytes:
    return json.dumps(right_body(asked)).encode()


def _chunked(asked: OddRequest, size: int, pause_s: float = 0.0, ends: bool = True) -> OddReply:
    body = _body(asked)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    parts: list[bytes | float] = [head]
    for start in range(0, len(body), size):
        chunk = body[start : start + size]
        parts += [b"%x\r\n" % len(chunk) + chunk + b"\r\n", pause_s]
    return OddReply((*parts, b"0\r\n\r\n") if ends else tuple(parts), closes=not ends)


def _events(asked: OddRequest) -> OddReply:
    """A stream that nobody asked for."""
    chunks = [{"choices": [{"delta": {"content": each}}]} for each in asked.content]
    data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    return http(200, data + b"data: [DONE]\n\n", kind="text/event-stream")


def _raw(text: str) -> OddReply:
    return OddReply((text.encode(),), closes=True)


OK = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
STALLED = (f"{OK}content-length: 99\r\n\r\n{{".encode(), 30.0)
EARLY = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"

STATUS = [
    once("status", "500 once", error(500, "oops")),
    once("status", "502 with a page once", http(502, b"<html>Bad Gateway</html>", kind="text/html")),
    once("status", "503 once", error(503, "overloaded")),
    once("status", "529 once", error(529, "overloaded")),
    once("status", "408 once", error(408, "too slow")),
    once("status", "429 once", error(429, "slow down")),
    once("status", "429 inside a 200 once", error(200, "slow down", code=429)),
    always("status", "500 always", error(500, "oops"), OddRowOutcome.NULL, TRIES),
    always("status", "400", error(400, "no"), OddRowOutcome.NULL),
    always("status", "400 over the context", error(400, "maximum context length is 9"), OddRowOutcome.NULL),
    always("status", "413", http(413, b"", kind=""), OddRowOutcome.NULL),
    always(
        "status", "422 with a list", http(422, {"detail": [{"loc": ["a"], "msg": "b"}]}), OddRowOutcome.NULL
    ),
    always("status", "418 with nothing", http(418, b""), OddRowOutcome.NULL),
    always("status", "301 to nowhere", http(301, b""), OddRowOutcome.NULL),
    always("status", "403 of moderation", error(403, "flagged by moderation"), OddRowOutcome.NULL),
    always("status", "401 in the middle", error(401, "key revoked"), OddRowOutcome.ENDS),
    always("status", "402", error(402, "Payment Required"), OddRowOutcome.ENDS),
    always("status", "402 inside a 200", error(200, "no credits", code=402), OddRowOutcome.ENDS),
    always("status", "403 for a quota", error(403, "quota exceeded"), OddRowOutcome.ENDS),
    always("status", "429 for money", error(429, "pay", type="insufficient_quota"), OddRowOutcome.ENDS),
]
HEADERS = [
    once("headers", "Retry-After: soon", error(429, "slow down", "retry-after: soon")),
    once("headers", "Retry-After: 0", error(429, "slow down", "retry-after: 0")),
    once("headers", "Retry-After: nan", error(503, "busy", "retry-after-ms: nan")),
    once("headers", "Retry-After in the year 1", error(503, "", f"retry-after: {YEAR_1}")),
    always("headers", "Retry-After: an hour", error(429, "no", "retry-after: 3600"), OddRowOutcome.NULL),
    once("headers", "gzip that is none", http(200, b"{}", "content-encoding: gzip")),
    once("headers", "a header of 200 KB", http(200, b"{}", "x: " + "a" * 200_000)),
    always("headers", "text/plain", lambda a: http(200, _body(a), kind="text/plain"), OddRowOutcome.RIGHT),
    always("headers", "no content type", lambda a: http(200, _body(a), kind=""), OddRowOutcome.RIGHT),
    always("headers", "another charset", lambda a: http(200, _body(a), kind=UTF_7), OddRowOutcome.RIGHT),
    always(
        "headers", "ends the connection", lambda a: OddReply(good(a).parts, closes=True), OddRowOutcome.RIGHT
    ),
    always(
        "headers", "hints before the answer", lambda a: OddReply((EARLY, *good(a).parts)), OddRowOutcome.RIGHT
    ),
]
BODIES = [
    once("bodies", "not JSON once", http(200, b"{not json")),
    once("bodies", "no UTF-8 once", http(200, b'{"choices": "\xff\xfe"}')),
    once("bodies", "no HTTP once", _raw("\x00\x01 not HTTP\r\n\r\n")),
    once("bodies", "hangs up once", OddReply((), closes=True)),
    once("bodies", "ends too early once", _raw(f"{OK}content-length: 999\r\n\r\n{{")),
    once("bodies", "a length that is too small", _raw(f"{OK}content-length: 3\r\n\r\n{{}}    ")),
    always("bodies", "hangs up always", OddReply((), closes=True), OddRowOutcome.NULL, TRIES),
    always("bodies", "empty", http(200, b""), OddRowOutcome.NULL, TRIES),
    always("bodies", "204", OddReply((b"HTTP/1.1 204 No Content\r\n\r\n",)), OddRowOutcome.NULL, TRIES),
    always(
        "bodies", "a page", http(200, b"<html>log in</html>", kind="text/html"), OddRowOutcome.NULL, TRIES
    ),
    always("bodies", "null", http(200, None), OddRowOutcome.NULL, TRIES),
    always("bodies", "a list", http(200, []), OddRowOutcome.NULL, TRIES),
    always("bodies", "no choices", http(200, {"id": "1"}), OddRowOutcome.NULL, TRIES),
    always("bodies", "empty choices", http(200, {"choices": []}), OddRowOutcome.NULL, TRIES),
    always("bodies", "choices of text", http(200, {"choices": ["a"]}), OddRowOutcome.NULL, TRIES),
    always("bodies", "nested 3,000 deep", http(200, DEEP), OddRowOutcome.NULL),
    always(
        "bodies", "a mark of byte order", lambda a: http(200, b"\xef\xbb\xbf" + _body(a)), OddRowOutcome.RIGHT
    ),
    always("bodies", "2 MB of spaces", lambda a: http(200, b" " * 2**21 + _body(a)), OddRowOutcome.RIGHT),
]
STREAMS = [
    always("streams", "in chunks", lambda a: _chunked(a, 40), OddRowOutcome.RIGHT),
    always("streams", "in small slow chunks", lambda a: _chunked(a, 5, 0.002), OddRowOutcome.RIGHT),
    once("streams", "chunks that end early once", _chunked(OddRequest("", "llm", False, 1), 9, ends=False)),
    always("streams", "events that nobody asked for", _events, OddRowOutcome.EITHER, TRIES),
]
DELAYS = [
    always("delays", "half a second", lambda a: OddReply((0.5, *good(a).parts)), OddRowOutcome.RIGHT),
    once("delays", "no reply once", OddReply((30.0,), closes=True), patience_s=3.0),
    once("delays", "stops after its head once", OddReply(STALLED, closes=True), patience_s=3.0),
    always("delays", "no reply at all", OddReply((30.0,), closes=True), OddRowOutcome.NULL, 2)._replace(
        patience_s=2.0
    ),
]

ON_THE_WIRE: list[Misbehaviour] = [*STATUS, *HEADERS, *BODIES, *STREAMS, *DELAYS]
