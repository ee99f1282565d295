"""The events of a streamed answer, and the tokens that they tell of."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from relserve.server.openai.asked import Asked
from relserve.server.openai.refusal import of_engine

_END = b"\n\n"
DONE = b"[DONE]"


class Tokens(NamedTuple):
    """Of a request so far."""

    prompt: int = 0
    output: int = 0


def tokens_of(usage: Any) -> Tokens | None:
    """What a `usage` tells; None where there is none."""
    if not isinstance(usage, dict):
        return None
    return Tokens(int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0))


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """What each event of a stream holds, however it was cut on its way."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(_END)
        for each in whole:
            if each.startswith(b"data:"):
                yield each[5:].strip()


def framed(data: bytes) -> bytes:
    """An event as it is sent."""
    return b"data: " + data + _END


def for_client(data: bytes, asked: Asked) -> tuple[bytes | None, Tokens | None]:
    """An event of the engine's as the client gets it, None for not at all, and the tokens that it tells."""
    if data == DONE:
        return data, None
    event = json.loads(data)
    if "error" in event:
        status = event["error"].get("code")
        refusal = of_engine(status if isinstance(status, int) else 500, data)
        return json.dumps(refusal.body()).encode(), None
    tokens = tokens_of(event.get("usage"))
    is_last = not event.get("choices")
    if is_last and tokens is not None and not asked.wants_usage:
        return None, tokens
    if not asked.wants_usage_throughout and not (is_last and asked.wants_usage):
        event.pop("usage", None)
        if asked.wants_usage:
            event["usage"] = None
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"), tokens
