"""Tools and resources over both transports, by the SDK's own client."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from mcp import Client

from relserve.engines.scripted import ScriptedEngine
from tests.server.mcp.agents import answer, served, shop, stdio, told
from tests.server.mcp.thirty_calls import CALLS, Call

TOOLS = {"list_tables", "describe", "query", "ask", "explain", "classify_column"}


async def wrong_calls(client: Client, calls: Sequence[Call]) -> list[str]:
    """Make calls; those whose answers do not hold what they should."""
    wrong = []
    for tool, arguments, held in calls:
        found = json.dumps(await told(client, tool, **arguments))
        if held not in found and held not in json.loads(found):
            wrong.append(f"{tool}({arguments}) has no {held} in {found[:500]}")
    return wrong


async def looked(client: Client, calls: Sequence[Call] = CALLS) -> None:
    """What a client sees first, and calls."""
    tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    (listed,) = (await client.read_resource("relserve://tables")).contents
    assert [each["name"] for each in json.loads(listed.text)] == ["good", "reviews", 'side."odd name"']  # type: ignore[union-attr]
    (table,) = (await client.read_resource("relserve://tables/reviews")).contents
    assert [each["name"] for each in json.loads(table.text)["columns"]][:2] == ["id", "review"]  # type: ignore[union-attr]
    assert "review 0" not in table.text  # type: ignore[union-attr]
    assert await wrong_calls(client, calls) == []


@pytest.mark.parametrize("share", [7, pytest.param(1, marks=pytest.mark.long)])
def test_thirty_calls_over_http(tmp_path: Path, share: int) -> None:
    async def scene() -> None:
        async with here.client() as client:
            await looked(client, CALLS[::share])

    with served(ScriptedEngine(answer), database=shop(tmp_path), read_only=True) as here:
        asyncio.run(scene())
    assert len(CALLS) == 30


@pytest.mark.engine_of_its_own
def test_some_of_them_over_stdio(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Client(stdio(shop(tmp_path)), mode="legacy") as client:
            await looked(client, CALLS[::5])

    asyncio.run(scene())
