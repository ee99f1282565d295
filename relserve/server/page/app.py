"""The page's web app."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from pathlib import Path

from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from relserve.server.page.facts import ServerFacts
from relserve.server.page.guard import TokenGuard
from relserve.server.page.metrics import registry
from relserve.server.page.view import status
from relserve.server.page.watch import EVERY_S, ServerWatch

logger = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"


def app(facts: ServerFacts, token: str | None = None) -> Starlette:
    """The page at /, what it shows at /api/status, /metrics for Prometheus, and /health.

    It looks at the server once a second from its start (the ASGI lifespan) to its end.

    Args:
        token: without it only requests to this machine's own names are answered.
    """
    return app_of(ServerWatch(facts, time.monotonic), token)


def app_of(watch: ServerWatch, token: str | None = None) -> Starlette:
    """The same of a server that is watched already."""
    started, metrics_of = datetime.now(timezone.utc), registry(watch)

    def show_status(request: Request) -> Response:
        shown = status(watch, datetime.now(timezone.utc), started)
        return Response(json.dumps(shown, allow_nan=False), media_type="application/json")

    def show_metrics(request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(metrics_of), headers={"Content-Type": media_type})

    def show_health(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    return Starlette(
        routes=[
            Route("/api/status", show_status),
            Route("/metrics", show_metrics),
            Route("/health", show_health),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        middleware=[Middleware(TokenGuard, token=token)],
        lifespan=lambda _: _looking(watch),
    )


@contextlib.asynccontextmanager
async def _looking(watch: ServerWatch) -> AsyncIterator[None]:
    task = asyncio.create_task(_look_on(watch))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _look_on(watch: ServerWatch) -> None:
    """Look again and again; a look that fails is logged, and the next one tried."""
    while True:
        try:
            await asyncio.to_thread(watch.look)  # which may have thousands of records to go through
        except Exception:
            logger.exception("the page could not look at the server")
        await asyncio.sleep(EVERY_S)
