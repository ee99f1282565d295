"""A request of vLLM's web app at its engine's gate."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from http import HTTPStatus
from math import ceil
from typing import Any, TypeVar

from relserve.call.token_counts import count_of
from relserve.errors import AdmissionError, OptionError
from relserve.gate.gate import Gate
from relserve.gate.request_group import Permit

ENTERS = "x-relserve-enters"  # a header, which only who reaches the socket can send
REQUEST_ID = "x-request-id"  # what vLLM's own ids are made of
_SAID = re.compile(rb'"completion_tokens": ?(\d{1,13})\b')  # in a text of the model's, quotes are escaped
Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]
T = TypeVar("T")


class CallerLeft(Exception):
    """The caller has hung up."""


@dataclass(frozen=True)
class Entering:
    """What the gate is told of a request; see `Gate.enter`.

    Attributes:
        max_tokens: of all of its answers together.
        ids: by which vLLM knows its prompts.
        began_s: when it came to the server, by the wall clock.
    """

    user: str
    prompt_tokens: int
    max_tokens: int
    slo: str | float | None
    waits: bool
    ids: Sequence[str]
    began_s: float

    @classmethod
    def read(cls, scope: Any) -> Entering | None:
        """What a request's header says; None where there is none."""
        text = next((value for name, value in scope["headers"] if name == ENTERS.encode()), None)
        return None if text is None else cls(**json.loads(text))

    def header(self) -> str:
        """As `read` reads it."""
        return json.dumps(asdict(self))

    @asynccontextmanager
    async def entered(
        self, gate: Gate, num_output_tokens: Callable[[Sequence[str]], float], caller: OpenAICaller
    ) -> AsyncIterator[Permit]:
        """While inside, it may run.

        Args:
            num_output_tokens: tokens that requests of these ids have said so far, as far as that is seen.

        Raises:
            AdmissionError, OptionError: as of `Gate.enter`.
            Left: the caller hung up while it waited.
        """
        age_s = max(time.time() - self.began_s, 0.0)
        deadline_s = self.slo if isinstance(self.slo, (int, float)) else None  # else the name of a class
        over = f"the deadline of {deadline_s:g} s has passed" if deadline_s is not None else ""
        if deadline_s is not None and age_s >= deadline_s:
            raise AdmissionError(over, is_over=True)
        entry = gate.enter(
            user=self.user, prompt_tokens=self.prompt_tokens, max_tokens=self.max_tokens, slo=self.slo,
            waits=self.waits, age_s=age_s,
        )  # fmt: skip
        async with AsyncExitStack() as stack:
            stack.callback(caller.close)
            try:
                permit = await caller.unless_left(entry.__aenter__())
            except AdmissionError as error:
                if error.is_over and deadline_s is not None:  # it has passed since it was looked at above
                    raise AdmissionError(over, is_over=True) from error
                raise
            stack.push_async_exit(entry)

            def measure() -> None:
                permit.progress(max(num_output_tokens(self.ids), permit.num_output_tokens))

            gate.meters.add(measure)
            stack.callback(gate.meters.discard, measure)
            yield permit
            if not caller.is_answered:
                raise CallerLeft  # what was said until then tells of no length

    def counting(self, send: Send, permit: Permit, caller: OpenAICaller) -> Send:
        """Sends, and tells the permit what an answer says of its tokens."""
        is_good = False

        async def sending(message: Any) -> None:
            nonlocal is_good
            if message["type"] == "http.response.start":
                is_good = message["status"] == HTTPStatus.OK
            elif is_good and not message.get("more_body"):
                caller.is_answered = not caller.has_left
            if counts := _SAID.findall(message.get("body", b"")):
                permit.progress(max(count_of(int(counts[-1])) or 0, permit.num_output_tokens))
            await send(message)

        return sending


class OpenAICaller:
    """Who sent a request, whose body has come, and may hang up while it waits at the gate.

    Attributes:
        body: of the request.
        is_answered: whether it has a whole answer.
    """

    def __init__(self, body: bytes, receive: Receive) -> None:
        self.body = body
        self._left: bytes | None = body
        self.is_answered = False
        self._leaving = asyncio.ensure_future(receive())  # nothing else is left to come

    @classmethod
    async def read(cls, receive: Receive) -> OpenAICaller:
        """Once the body has come."""
        parts, more = [], True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        return cls(b"".join(parts), receive)

    @property
    def has_left(self) -> bool:
        """Whether it has hung up."""
        return self._leaving.done()

    async def receive(self) -> Any:
        """What the app is to receive."""
        if self._left is None:
            return await asyncio.shield(self._leaving)
        body, self._left = self._left, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def unless_left(self, waiting: Coroutine[Any, Any, T]) -> T:
        """What is waited for, given up when the caller hangs up.

        Raises:
            Left: it did.
        """
        task = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait({task, self._leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise CallerLeft
            return task.result()
        finally:
            task.cancel()
            with suppress(BaseException):
                await task

    def close(self) -> None:
        """Look no more whether it hangs up."""
        self._leaving.cancel()


async def send_refusal(send: Any, error: AdmissionError | OptionError) -> None:
    """Tell why a request was not let in, and when to ask again."""
    if isinstance(error, OptionError):
        await send_error(send, 400, str(error), "slo")
        return
    if error.is_over:
        await send_error(send, HTTPStatus.GATEWAY_TIMEOUT, str(error))
        return
    retry_s = 1.0 if error.estimate_s is None else error.estimate_s
    await send_error(send, 429, str(error), headers={"retry-after": str(max(ceil(retry_s), 1))})


async def send_error(
    send: Any, status: int, why: str, param: str | None = None, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with an error in OpenAI's shape."""
    body = json.dumps({"error": {"message": why, "type": "error", "param": param, "code": None}})
    await send_whole(send, status, body.encode(), headers)


async def send_whole(send: Any, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
    """Answer with JSON."""
    told = {"content-type": "application/json", **(headers or {})}
    sent = [(name.encode(), value.encode()) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})
