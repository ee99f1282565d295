"""Whether the model that calls without one mean can be found, without starting it."""

from __future__ import annotations

import asyncio
from typing import Literal

from relserve.call.hosts import is_url
from relserve.engines.fleet.name import is_fleet
from relserve.engines.keys import ServerKey, server_key
from relserve.engines.registry import path_of
from relserve.errors import EngineStartError, ModelError, RelserveError
from relserve.settings import Settings

EMBEDDED = "tiny"
ANSWER_S = 5.0  # a server that takes longer to list its models is told of
CANNOT_BE_FOUND = "name another with --model or RELSERVE_MODEL; `relserve models` says what can be named"


def look_at_model(settings: Settings) -> tuple[Literal["ok", "warning", "failed"], str, str]:
    """Whether a call that names no model would find one: the verdict, what was found, and what to do.

    A server is asked for the list of its models, a fleet's file is read, and a folder is looked into.
    """
    name = settings.model
    try:
        if is_url(name):
            return _look_at_server(name, server_key(name.partition("#")[0], settings, True))
        if is_fleet(name):
            return _look_at_fleet(path_of(name), settings)
        found = path_of(name)
    except RelserveError as error:
        return "failed", f"{name}: {error}", CANNOT_BE_FOUND
    if name == "scripted":
        return "warning", "scripted: answers are made up", "name a model: relserve models"
    if name == EMBEDDED:
        return "ok", f"{name}, for trying things out; docs/models.md names others", ""
    return "ok", name if found == name else f"{name}: {found}", ""


def _look_at_fleet(path: str, settings: Settings) -> tuple[Literal["ok", "failed"], str, str]:
    from relserve.engines.fleet.file import read_fleet
    from relserve.engines.fleet.name import file_of

    fleet = read_fleet(file_of(path))
    return "ok", f"fleet:{file_of(path)}: {len(fleet.members)} members", ""


def _look_at_server(url: str, key: ServerKey) -> tuple[Literal["ok", "failed"], str, str]:
    from relserve.engines.http.client import JsonClient
    from relserve.engines.http.server import base_url_of, find_served

    host, _, wanted = url.partition("#")

    async def asked() -> str:
        client = JsonClient(base_url_of(host), key.text, ANSWER_S)
        try:
            async with asyncio.timeout(ANSWER_S):
                served = await find_served(client, host, wanted or None, key)
        finally:
            await client.close()
        return served.model

    try:
        return "ok", f"{host} serves {asyncio.run(asked())}", ""
    except TimeoutError:
        return "failed", f"{host} does not list its models within {ANSWER_S:.0f} s", "see whether it is up"
    except (EngineStartError, ModelError) as error:
        return "failed", str(error), "see whether it is up, and RELSERVE_API_KEY or OPENAI_API_KEY"
