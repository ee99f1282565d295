"""Vectors from a server's /v1/embeddings: many texts in a request, and replies that are none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from relserve.call.options import parse_options
from relserve.call.relquery import Reply, Submission, sampling_of
from relserve.call.vector_text import vector_of_text
from relserve.engines.http.engine import HttpEngine

Answer = Callable[[list[str]], Any]


def by_length(texts: list[str]) -> Any:
    """Vectors by the texts' lengths, out of order."""
    items = [{"index": i, "embedding": [len(text), 3]} for i, text in enumerate(texts)]
    return {"data": items[::-1], "usage": {"prompt_tokens": sum(map(len, texts))}}


async def embedded(answer: Answer, texts: list[str]) -> tuple[list[Reply], list[int]]:
    """The replies, and how many texts each request had."""
    sizes: list[int] = []

    async def embed(request: web.Request) -> web.Response:
        body = await request.json()
        sizes.append(len(body["input"]))
        return web.json_response(answer(body["input"]))

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "vectors"}]})

    app = web.Application()
    app.add_routes([web.post("/v1/embeddings", embed), web.get("/v1/models", models)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    engine = HttpEngine(f"http://127.0.0.1:{port}/v1", max_retries=0)
    sampling = sampling_of("llm_embed", parse_options("llm_embed", {}))
    replies: list[Reply] = []
    async for some in engine.answer(Submission("rel-1", texts, sampling)):
        replies += some
    await engine.close()
    await runner.cleanup()
    return sorted(replies, key=lambda reply: reply.index), sizes


def test_each_text_gets_its_vector_of_length_1() -> None:
    texts = [*("x" * 4 for _ in range(100)), "x"]
    replies, sizes = asyncio.run(embedded(by_length, texts))
    found = [vector_of_text(reply.text or "").round(5).tolist() for reply in replies]
    assert found == [*[pytest.approx([0.8, 0.6])] * 100, pytest.approx([0.31623, 0.94868])]
    assert sorted(sizes) == [37, 64]
    assert sum(reply.usage.prompt_tokens for reply in replies) == 401


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: {"data": []},
        lambda texts: {"data": [{"index": 0, "embedding": ["a"]}, {"index": 1, "embedding": [1]}]},
        lambda texts: {"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]},
        lambda texts: {"data": [{"index": i, "embedding": [0.0]} for i in range(2)]},
        lambda texts: ["?"],
    ],
)
def test_what_is_no_vector_is_a_failed_row(answer: Answer) -> None:
    replies, _ = asyncio.run(embedded(answer, ["a", "b"]))
    assert [reply.text for reply in replies] == [None, None]
    assert all(reply.failure is not None for reply in replies)
