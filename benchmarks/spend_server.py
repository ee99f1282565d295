"""A server that counts: it answers what is asked, tells tokens as hosts do, and knows the bill by itself."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiohttp import web

BYTES_A_TOKEN = 3.7
AROUND = 7  # tokens of a chat template
PAUSE_S = 0.001
CACHED_FROM, CACHED_SHARE = 24, 0.25  # of prompts with so many tokens this share is found in the cache
WORDS = "the beer is fine and its taste of malt stays for long".split()


class PriceList(NamedTuple):
    """Dollars for a million tokens."""

    input: float
    cached_input: float
    output: float


@dataclass
class CountingServer:
    """An OpenAI-compatible server in a thread of this process; close it.

    Attributes:
        factor: times the tokens that it charges of a prompt.
        prompts: how often each was answered.
    """

    prices: PriceList
    factor: float = 1.0
    prompts: Counter[str] = field(default_factory=Counter)
    bill: float = 0.0
    num_requests: int = 0
    num_inside: int = 0
    most_inside: int = 0
    port: int = 0

    def __post_init__(self) -> None:
        self._loop, up = asyncio.new_event_loop(), threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(up,), daemon=True)
        self._thread.start()
        up.wait()

    @property
    def model(self) -> str:
        """As calls name it."""
        return f"http://127.0.0.1:{self.port}/v1#counted"

    def close(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self, up: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=2**26)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(app)
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", 0)
        self._loop.run_until_complete(site.start())
        self.port = runner.addresses[0][1]
        up.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "counted", "owned_by": "a host"}]})

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.num_inside += 1
        self.most_inside = max(self.most_inside, self.num_inside)
        await asyncio.sleep(PAUSE_S)
        text = "\n".join(message["content"] for message in body["messages"])
        said = answer_to(text, body)
        used = self._usage(text, said, body)
        self.num_inside -= 1
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return web.json_response({"object": "chat.completion", "choices": [choice], "usage": used})

    def _usage(self, text: str, said: str, body: dict[str, Any]) -> dict[str, Any]:
        schema = len(json.dumps(body.get("response_format", ""))) / 8 if "response_format" in body else 0
        read = round(self.factor * (len(text.encode()) / BYTES_A_TOKEN + AROUND + schema))
        cached = round(read * CACHED_SHARE) if read >= CACHED_FROM else 0
        written = max(1, round(len(said) / BYTES_A_TOKEN))
        self.num_requests += 1
        self.prompts[text] += 1
        prices = self.prices
        self.bill += ((read - cached) * prices.input + cached * prices.cached_input) / 1e6
        self.bill += written * prices.output / 1e6
        details = {"cached_tokens": cached}
        return {"prompt_tokens": read, "completion_tokens": written, "prompt_tokens_details": details}


def answer_to(text: str, body: dict[str, Any]) -> str:
    """A made-up answer of the type that is asked for; the same each time."""
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if schema is None:
        if "SQL" in text:
            return "```sql\nSELECT count(*) AS n FROM reviews\n```"
        return " ".join(WORDS[(number + i) % len(WORDS)] for i in range(8 + number % 20))
    answer = schema["properties"]["answer"]
    return json.dumps({"answer": _value(answer, number)})


def _value(schema: dict[str, Any], number: int) -> Any:
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    if "anyOf" in schema:
        return _value(schema["anyOf"][0], number)
    if schema.get("type") == "object":
        return {name: _value(each, number) for name, each in schema["properties"].items()}
    if schema.get("type") in ("integer", "number"):
        return number % 9
    return str(number % 9) if "pattern" in schema else " ".join(WORDS[: 1 + number % 4])
