"""An OpenAI-compatible server with files and batches, made up, on a real socket: it does what a test says."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from aiohttp import web

from tests.ending import ends_soon
from tests.waiting import PATIENCE_S

MODEL = "made-up"
HOLDS = ("/files", "/batches", "/files/content")
Answer = tuple[int, dict[str, Any]]


def chat(text: str) -> Answer:
    """A chat completion."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return 200, {"object": "chat.completion", "choices": [choice], "usage": usage}


def refused(status: int, message: str) -> Answer:
    """An error in OpenAI's shape."""
    return status, {"error": {"message": message}}


def by_prompt(body: dict[str, Any]) -> Answer:
    """One of the schema's values by a hash of the prompt, wrapped as it is asked for; else the hash."""
    digest = blake2b(prompt_of(body).encode(), digest_size=4).hexdigest()
    if "response_format" not in body:
        return chat(digest)
    values = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"]
    return chat(json.dumps({"answer": values[int(digest, 16) % len(values)]}))


def prompt_of(body: dict[str, Any]) -> str:
    """What a request asks."""
    return str(body["messages"][-1]["content"])


@dataclass
class BatchServer:
    """The server; `end_batches` has all that wait answered.

    Attributes:
        answer: to a request, at once or in a batch.
        holds: those of `HOLDS` whose response is held back after the work is done, until the client has gone.
        lists, takes_chats, takes_files: whether it lists batches, answers at once, and takes batches.
        answered: how often each prompt was answered, and so paid for.
        batches, files: by id.
        held: set while a response is held back.
    """

    answer: Callable[[dict[str, Any]], Answer] = by_prompt
    holds: set[str] = field(default_factory=set)
    lists: bool = True
    takes_chats: bool = True
    takes_files: bool = True
    answered: Counter[str] = field(default_factory=Counter)
    at_once: list[dict[str, Any]] = field(default_factory=list)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    held: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def end_batches(self, status: str = "completed", most: int | None = None) -> None:
        """End what is under way, after so many lines of each."""
        for batch in list(self.batches.values()):
            if batch["status"] == "in_progress":
                self._end(batch, status, most)

    def _end(self, batch: dict[str, Any], status: str, most: int | None) -> None:
        good, bad = [], []
        for line in map(json.loads, self.files[batch["input_file_id"]].splitlines()[:most]):
            assert (line["method"], line["url"]) == ("POST", batch["endpoint"])
            code, body = self._answered(line["body"])
            response = {"status_code": code, "request_id": "r", "body": body}
            out = {"id": "l", "custom_id": line["custom_id"], "response": response, "error": None}
            (good if code == 200 else bad).append(json.dumps(out))
        for name, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                batch[name] = f"file-{len(self.files)}"
                self.files[batch[name]] = "\n".join(lines).encode()
        batch["status"] = status
        batch["request_counts"] |= {"completed": len(good), "failed": len(bad)}

    def _answered(self, body: dict[str, Any]) -> Answer:
        assert body["model"] == MODEL
        code, answer = self.answer(body)
        if code == 200:
            self.answered[prompt_of(body)] += 1
        return code, answer

    async def _hold(self, path: str) -> None:
        if path in self.holds:
            self.held.set()
            await asyncio.sleep(2 * PATIENCE_S)  # until the client has gone

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": MODEL, "owned_by": "somebody"}]})

    async def _chat(self, request: web.Request) -> web.Response:
        if not self.takes_chats:
            raise web.HTTPNotFound
        body = await request.json()
        self.at_once.append(body)
        code, answer = self._answered(body)
        return web.json_response(answer, status=code)

    async def _upload(self, request: web.Request) -> web.Response:
        if not self.takes_files:
            raise web.HTTPNotFound
        form = await request.post()
        assert form["purpose"] == "batch"
        file_id = f"file-{len(self.files)}"
        self.files[file_id] = form["file"].file.read()  # type: ignore[union-attr]
        await self._hold("/files")
        return web.json_response({"id": file_id, "object": "file"})

    async def _create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        assert asked["completion_window"] == "24h"
        lines = len(self.files[asked["input_file_id"]].splitlines())
        batch = {
            "id": f"batch_{len(self.batches)}", "object": "batch", "status": "in_progress", **asked,
            "created_at": int(time.time()), "expires_at": int(time.time()) + 86_400,
            "request_counts": {"total": lines, "completed": 0, "failed": 0},
        }  # fmt: skip
        self.batches[batch["id"]] = batch
        await self._hold("/batches")
        return web.json_response(batch)

    async def _list(self, request: web.Request) -> web.Response:
        if not self.lists:
            raise web.HTTPNotFound
        every = [*self.batches.values()][::-1]  # the newest first, as OpenAI lists them
        ids = [each["id"] for each in every]
        after = ids.index(request.query["after"]) + 1 if "after" in request.query else 0
        page = every[after : after + 2]
        return web.json_response({"data": page, "has_more": after + 2 < len(every)})

    async def _batch(self, request: web.Request) -> web.Response:
        return web.json_response(self._found(request))

    async def _cancel(self, request: web.Request) -> web.Response:
        batch = self._found(request)
        self._end(batch, "cancelled", 1)
        return web.json_response(batch)

    def _found(self, request: web.Request) -> dict[str, Any]:
        if (batch := self.batches.get(request.match_info["id"])) is None:
            raise web.HTTPNotFound
        return batch

    async def _content(self, request: web.Request) -> web.Response:
        await self._hold("/files/content")
        return web.Response(body=self.files[request.match_info["id"]], content_type="text/plain")

    @property
    def app(self) -> web.Application:
        """Its paths."""
        app = web.Application(client_max_size=2**28)
        app.add_routes([
            web.get("/v1/models", self._models), web.post("/v1/chat/completions", self._chat),
            web.post("/v1/files", self._upload), web.get("/v1/files/{id}/content", self._content),
            web.post("/v1/batches", self._create), web.get("/v1/batches", self._list),
            web.get("/v1/batches/{id}", self._batch), web.post("/v1/batches/{id}/cancel", self._cancel),
        ])  # fmt: skip
        return app


@contextmanager
def serving(server: BatchServer) -> Iterator[BatchServer]:
    """The server on a port of its own, in a thread's event loop."""
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        runner = web.AppRunner(server.app, handler_cancellation=True, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        ready.set()
        await asyncio.to_thread(done.wait)
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(PATIENCE_S)
        yield server
    finally:
        done.set()
        ends_soon(thread)
