"""A made-up server of OpenAI's API that sends what it is told to, byte by byte if need be."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

YES = 0.75  # the probability of yes, and of the first choice
ROWS = ("first", "odd", "last")  # of the table; the second is the one on which the server misbehaves
RIGHT: dict[str, Any] = {  # by function, as JSON
    "llm": "fine", "llm_filter": "yes", "llm_classify": "good", "llm_score": "4", "llm_extract": {"n": 4},
    "llm_int": 4, "llm_double": "2.5", "llm_bool": True, "llm_prob": YES, "llm_probs": YES,
}  # fmt: skip
# By function, the decision path that the server has in place of a chat, and what a request to it has alone.
DECIDED = {"llm_prob": "state", "llm_probs": "input"}
MODELS = {"object": "list", "data": [{"id": "odd", "object": "model", "owned_by": "somebody"}]}


class OddRequest(NamedTuple):
    """A request: its row, the function that asks, and whether {"answer": ..} is wanted.

    `number`: how often the row has been asked by now.
    """

    row: str
    function: str
    is_wrapped: bool
    number: int

    @property
    def content(self) -> str:
        """The right answer, in the form that was asked for."""
        right = RIGHT[self.function]
        if self.is_wrapped:
            return json.dumps({"answer": right})
        return right if isinstance(right, str) else json.dumps(right)


class OddReply(NamedTuple):
    """What goes out: bytes, seconds in which nothing does, and whether the connection ends then."""

    parts: tuple[bytes | float, ...]
    closes: bool = False


Behaviour = Callable[[OddRequest], OddReply]


def http(status: int, body: Any, *headers: str, kind: str = "application/json") -> OddReply:
    """A response with a body as bytes, or as JSON, and further headers."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    typed = [f"content-type: {kind}"] if kind else []
    lines = [f"HTTP/1.1 {status} Status", *typed, f"content-length: {len(data)}", *headers]
    return OddReply(("\r\n".join(lines).encode() + b"\r\n\r\n" + data,))


def completion(content: Any, ending: Any = "stop", usage: Any = None, **message: Any) -> dict[str, Any]:
    """The body of a chat completion."""
    choice = {
        "index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": ending,
    }  # fmt: skip
    return {"id": "1", "object": "chat.completion", "created": 1, "choices": [choice], "usage": usage}


def right_body(asked: OddRequest, usage: Any = None) -> dict[str, Any]:
    """The body of the right answer: of a completion, of System One, or of OpenAI's Decisions."""
    answers: Any = {"q0": {"type": "noul", "noul": YES}}
    if asked.function not in DECIDED:
        return completion(asked.content, usage=usage)
    if asked.function == "llm_probs":
        shares = [{"value": "bad", "probability": 1 - YES}, {"value": "good", "probability": YES}]
        answers = [{"type": "choice", "name": "q0", "choice": "good", "probabilities": shares}]
    return {"model": "odd", "answers": answers, "usage": usage}


def good(asked: OddRequest) -> OddReply:
    """What a server that behaves says."""
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    return http(200, right_body(asked, usage))


@dataclass
class OddServer:
    """Misbehaves on the odd row, or on every row; lives on the engines' event loop.

    Attributes:
        behaviour: for the odd row; `good` for all others.
        num_requests: for answers, so far.
    """

    function: str
    behaviour: Behaviour
    on_every_row: bool = False
    num_requests: int = 0
    url: str = ""
    _numbers: Counter[str] = field(default_factory=Counter)
    _server: asyncio.Server | None = None
    _connections: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def stop(self) -> None:
        """Cut all connections."""
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether another may come on the same connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        lengths = [line.split(":")[1] for line in head.split("\r\n") if line.startswith("content-length:")]
        body = await reader.readexactly(int(lengths[0]) if lengths else 0)
        sent = http(200, MODELS) if head.startswith("get") else self._said(json.loads(body))
        for part in sent.parts:
            if isinstance(part, float):
                await asyncio.sleep(part)
            else:
                writer.write(part)
                await writer.drain()
        return not sent.closes

    def _said(self, body: dict[str, Any]) -> OddReply:
        decided = DECIDED.get(self.function)
        if decided is not None and decided not in body:
            return http(404, {"detail": "Not Found"})  # it has this path alone
        self.num_requests += 1
        prompt = body[decided] if decided is not None else body["messages"][-1]["content"]
        row = next(row for row in ROWS if f"Row {row}." in prompt)
        self._numbers[row] += 1
        asked = OddRequest(row, self.function, "response_format" in body, self._numbers[row])
        return self.behaviour(asked) if self.on_every_row or row == "odd" else good(asked)
