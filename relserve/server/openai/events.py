"""The events of a streamed answer, and the tokens that they tell of."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from relserve.call.token_counts import count_of
from relserve.server.openai.asked import OpenAIRequest
from relserve.server.openai.refusal import of_engine

_END = b"\n\n"
DONE = b"[DONE]"


class Tokens(NamedTuple):
    """Of a request so far."""

    prompt: int = 0
    output: int = 0


def tokens_of(usage: Any) -> Tokens | None:
    """What a `usage` tells; None where there is none, or none of its numbers is one of tokens."""
    if not isinstance(usage, dict):
        return None
    prompt, output = count_of(usage.get("prompt_tokens")), count_of(usage.get("completion_tokens"))
    return None if prompt is None and output is None else Tokens(prompt or 0, output or 0)


def json_object(data: bytes) -> dict[str, Any]:
    """The JSON object that an engine sent; an empty one where it is none, as from a fleet's member."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


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


class EventStream:
    """The events of one answer, or of several at once.

    Attributes:
        tokens: that they told of, of all answers together.
    """

    def __init__(self, asked: OpenAIRequest) -> None:
        self._asked = asked
        self._outputs: dict[int, int] = {}  # by answer: each event tells its own tokens alone
        self.tokens = Tokens()

    def for_client(self, data: bytes) -> bytes | None:
        """An event of the engine's as the client gets it; None for not at all.

        Raises:
            Refusal: it tells of an error, or is no JSON object, and is the last.
        """
        if data == DONE:
            return data
        event, asked = json_object(data), self._asked
        if (error := event.get("error")) or not event:
            status = error.get("code") if isinstance(error, dict) else None
            raise of_engine(status if isinstance(status, int) else 500, data)
        choices, tokens = event.get("choices"), tokens_of(event.get("usage"))
        if tokens is not None:
            self._count(choices, tokens)
        if not choices and event.get("usage") is not None and not asked.wants_usage:
            return None
        if not asked.wants_usage_throughout and (choices or not asked.wants_usage):
            event.pop("usage", None)
            if asked.wants_usage:
                event["usage"] = None
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")

    def _count(self, choices: Any, tokens: Tokens) -> None:
        if choices:
            self._outputs[_index_of(choices)] = tokens.output
            tokens = Tokens(tokens.prompt, sum(self._outputs.values()))
        self.tokens = tokens


def _index_of(choices: Any) -> int:
    """Of which of a request's answers an event tells."""
    first = choices[0] if isinstance(choices, list) else None
    return (count_of(first.get("index")) or 0) if isinstance(first, dict) else 0
