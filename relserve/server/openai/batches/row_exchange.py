"""A row of a batch in the place of a client's request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from typing import Any

from starlette.types import Message

from relserve.server.openai.exchange import MAX_BODY, Exchange
from relserve.server.openai.refusal import Refusal


class RowExchange(Exchange):
    """See `Exchange`; nobody leaves, and the answer is kept.

    Attributes:
        content: of the answer.
    """

    def __init__(self, path: str, asked: Mapping[str, Any]) -> None:
        scope = {"type": "http", "method": "POST", "path": path, "headers": []}
        super().__init__(scope, _never, _nothing)
        self._asked = asked
        self.content: Any = None

    async def body(self, *_: Any, **__: Any) -> bytes:
        raw = json.dumps(self._asked).encode()
        if len(raw) > MAX_BODY:
            raise Refusal(413, f"the body has more than {MAX_BODY:,} bytes")
        return raw

    async def while_there(self, work: Coroutine[Any, Any, None]) -> None:
        await work

    async def whole(self, status: int, content: Any, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.content = json.loads(content) if isinstance(content, bytes) else content


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def _nothing(message: Message) -> None:
    pass
