"""The clients of `chat_beside`, each in a process of its own: one chats with a server, one asks it in SQL.

Commands on stdin are lines of JSON, each answered by a line on stdout. `chats URL`: {"at_s": [..]} sends a
chat at each of these times, and answers with the clock's times of sending and of first tokens. `sql URL`:
{"rows": 100} classifies so many beer reviews, and answers with the seconds that it took.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx

from benchmarks.beer import classify_call, create_beer_table
from benchmarks.served import NAME
from relserve.api import connect

NICE = (
    10  # the SQL client, which would run on another machine, yields to the server that it shares cores with
)
MAX_TOKENS = 24
SUBJECTS = ("beer", "film", "hotel", "novel", "record", "bicycle", "teapot", "garden")


def question(number: int) -> str:
    """What a chat asks."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    told = (
        f"I had a {subject} last week that was number {number} on my list, and I was of two minds about it. "
        * 3
    )
    return f"{told}What would you ask the maker of the {subject}?"


async def chat(client: httpx.AsyncClient, number: int) -> tuple[float, float]:
    """When a chat was sent and the first piece of its answer's text came; the answer is read to its end."""
    body = {
        "model": NAME, "messages": [{"role": "user", "content": question(number)}], "stream": True,
        "max_tokens": MAX_TOKENS, "temperature": 0.0, "ignore_eos": True,
    }  # fmt: skip
    sent_s, first_s = time.perf_counter(), 0.0
    async with client.stream("POST", "/chat/completions", json=body) as response:
        response.raise_for_status()
        async for text in pieces(response):
            if text and not first_s:
                first_s = time.perf_counter()
    if not first_s:
        raise RuntimeError(f"chat {number} was given no text")
    return sent_s, first_s


async def pieces(response: httpx.Response) -> AsyncIterator[str]:
    """The pieces of text of a streamed chat."""
    async for line in response.aiter_lines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                yield choice["delta"].get("content") or ""


async def chats(client: httpx.AsyncClient, at_s: list[float]) -> dict[str, Any]:
    """Send a chat at each of some times, in seconds from now."""
    began_s = time.perf_counter()

    async def one(number: int, when_s: float) -> tuple[float, float]:
        await asyncio.sleep(began_s + when_s - time.perf_counter())
        return await chat(client, number)

    sent_s, first_s = zip(
        *await asyncio.gather(*(one(i, when_s) for i, when_s in enumerate(at_s))), strict=True
    )
    return {"sent_s": sent_s, "first_s": first_s}


async def serve_chats(url: str) -> None:
    """Take commands for as long as there are any."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
    async with httpx.AsyncClient(base_url=url, timeout=300, trust_env=False, limits=limits) as client:
        for line in sys.stdin:
            print(json.dumps(await chats(client, **json.loads(line))), flush=True)


def serve_sql(url: str) -> None:
    """Take commands for as long as there are any."""
    os.nice(NICE)
    with connect(model=url, progress=False) as con:
        create_beer_table(con)
        for line in sys.stdin:
            rows, began_s = json.loads(line)["rows"], time.perf_counter()
            answers = con.execute(f"SELECT {classify_call()} FROM beer WHERE id <= {rows}").fetchall()
            took_s = time.perf_counter() - began_s
            print(json.dumps({"took_s": took_s, "answers": len(answers)}), flush=True)


def main() -> None:
    """Be the client that the command line names."""
    kind, url = sys.argv[1:]
    if kind == "sql":
        serve_sql(url)
    else:
        asyncio.run(serve_chats(url))


if __name__ == "__main__":
    main()
