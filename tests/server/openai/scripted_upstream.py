"""An upstream that says what a test told it to, as vLLM's server words it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from relserve.call.relquery import Reply, Submission, Usage
from relserve.call.standing import Standing
from relserve.errors import EngineError
from relserve.server.openai.upstream import UpstreamResponse

MODEL = "scripted"


class ScriptedUpstream:
    """Answers as many words as `max_tokens` says; each is a token, and so is each of the prompt's.

    Attributes:
        asked: bodies and headers, as they came.
        aborted: answers that were left before their end.
        open, num_sent: answers under way, and events of all answers.
        pause_s: before each word; a test may end the pause.
        stalls_after: requests that are answered; later ones wait until there may be more.
        refuses: told instead of an answer: a status, its body and its headers.
        reads: probabilities of the choices of each prompt of a submission, or replies, or an error; default:
            all choices are as probable.
        submissions: as they came; `stands`: told of each before it is answered.
        down: whether nothing answers; `ends_after`: words after which the engine ends, `breaks`: or tells
            an error.
    """

    model = MODEL
    context: int | None = 4096

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Any], Mapping[str, str]]] = []
        self.aborted = self.open = self.num_sent = 0
        self.pause_s, self.stalls_after = 0.0, 10**9
        self.refuses: tuple[int, dict[str, Any], dict[str, str]] | None = None
        self.down, self.ends_after = False, 10**9
        self.breaks = False
        self.reads: list[Any] | Exception = []
        self.submissions: list[Submission] = []
        self.stands: Standing | None = None

    @asynccontextmanager
    async def send(
        self, path: str, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[UpstreamResponse]:
        asked = json.loads(body)
        self.asked.append((asked, headers))
        if self.down:
            raise EngineError("the engine is down; ask again")
        self.open += 1
        done = False
        try:
            if self.refuses is not None:
                status, content, told = self.refuses
                yield UpstreamResponse(status, told, _whole(content))
            elif asked.get("stream"):
                kind = {"content-type": "text/event-stream; charset=utf-8"}
                yield UpstreamResponse(200, kind, self._events(asked))
            else:
                number = len(self.asked)
                while number > self.stalls_after:
                    await asyncio.sleep(0.01)
                for _ in range(asked.get("max_tokens") or 3):
                    await self._pause()
                yield UpstreamResponse(200, {}, _whole(self._answer(asked)))
            done = True
        finally:
            self.open -= 1
            self.aborted += not done

    async def answer(self, submission: Submission) -> list[Reply]:
        self.submissions.append(submission)
        if self.down:
            raise EngineError("the engine is down; ask again")
        if self.stands is not None and submission.told is not None:
            submission.told(self.stands)
        try:
            await asyncio.sleep(self.pause_s)
        except asyncio.CancelledError:
            self.aborted += 1
            raise
        if isinstance(self.reads, Exception):
            raise self.reads
        replies = [self._reply(submission, index) for index in range(len(submission.prompts))]
        return replies[::-1]  # in any order

    def _reply(self, submission: Submission, index: int) -> Reply:
        grammar = submission.grammar_of(index)
        assert grammar is not None
        num = len(grammar.choices)
        read = self.reads[index] if isinstance(self.reads, list) and self.reads else (1 / num,) * num
        if isinstance(read, Reply):
            return read
        usage = Usage(len(submission.prompts[index].split()), 0, 1)
        return Reply(index, "", usage=usage, probabilities=read)

    async def _pause(self) -> None:
        began_s = time.monotonic()
        await asyncio.sleep(min(self.pause_s, 0.01))
        while time.monotonic() - began_s < self.pause_s:
            await asyncio.sleep(min(self.pause_s, 0.01))

    async def close(self) -> None:
        pass

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        num = asked.get("max_tokens") or 3
        choice = {
            "index": 0,
            "finish_reason": "length",
            "message": {"role": "assistant", "content": "word " * num},
        }
        return {**_FRAME, "object": "chat.completion", "choices": [choice], "usage": _usage(asked, num)}

    async def _events(self, asked: dict[str, Any]) -> AsyncIterator[bytes]:
        num = asked.get("max_tokens") or 3
        chunks = []
        for said in range(num):
            choice = {"index": 0, "delta": {"content": "wörd "}, "finish_reason": None}
            chunks.append({**_FRAME, "object": "chat.completion.chunk", "choices": [choice]})
            chunks[-1]["usage"] = _usage(asked, said + 1)
        chunks.append(
            {**_FRAME, "object": "chat.completion.chunk", "choices": [], "usage": _usage(asked, num)}
        )
        for number, chunk in enumerate(chunks):
            await self._pause()
            if number >= self.ends_after and self.breaks:
                yield b'data: {"error": {"message": "it broke", "code": 400}}\n\n'
                return
            if number >= self.ends_after:
                raise EngineError("the engine ended while it worked on the request; ask again")
            data = b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"
            self.num_sent += 1
            yield data[:7]  # as networks cut them
            yield data[7:]
        yield b"data: [DONE]\n\n"


async def _whole(content: dict[str, Any]) -> AsyncIterator[bytes]:
    yield json.dumps(content).encode()


_FRAME = {"id": "chatcmpl-1", "created": 1, "model": MODEL}


def _usage(asked: dict[str, Any], output: int) -> dict[str, int]:
    prompt = len(str(asked.get("messages") or asked.get("prompt")).split())
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
