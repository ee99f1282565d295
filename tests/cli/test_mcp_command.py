"""`relserve mcp`: what it refuses, and the command as an agent's program starts it."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.command_line import relserve
from tests.server.mcp.agents import shop, told


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "relserve mcp is about a database: --db FILE, or --examples"),
        (("--examples", "--users", "users.json"), "--users is for --http"),
        (("--examples", "--host", "0.0.0.0"), "--host does nothing without --http: give --http, too"),
    ],
)
def test_options_that_do_not_go_together(args: tuple[str, ...], said: str) -> None:
    done = relserve("mcp", *args)
    assert done.returncode == 1
    assert said in done.stderr.decode()


@pytest.mark.cells(4)
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--mcp-rows", "200"), "--mcp-rows does nothing without --mcp: give --mcp, too"),
        (("--mcp-max-cost", "1"), "--mcp-max-cost does nothing without --mcp"),
        (("--http-token", "x", "--mcp", "0"), "--http-token does nothing without --http"),
        (("--log-texts",), "--log-texts does nothing without --log-statements"),
        (("--only-granted",), "--only-granted does nothing without --users"),
        (("--share-cache",), "--share-cache does nothing without --users"),
        (("--reserved-connections", "5"), "--reserved-connections does nothing without --users"),
    ],
)
def test_options_of_serve_that_would_do_nothing(args: tuple[str, ...], said: str) -> None:
    done = relserve("serve", "--port", "0", *args)
    assert done.returncode == 1
    assert said in done.stderr.decode()


@pytest.mark.engine_of_its_own
def test_an_agents_program_starts_it(tmp_path: Path) -> None:
    args = ["-m", "relserve", "mcp", "--db", str(shop(tmp_path)), "--model", "scripted", "--rows", "2"]
    command = StdioServerParameters(command=sys.executable, args=args, cwd=Path(__file__).parents[2])

    async def scene() -> list[Any]:
        async with Client(command) as client:
            asks = "SELECT llm('Say {review}', review) AS said FROM reviews"
            return [
                await told(client, "query", sql=asks),
                await told(client, "query", sql="DROP TABLE reviews"),
            ]

    rows, refused = asyncio.run(scene())
    assert (len(rows["rows"]), rows["more_rows"], rows["asked"]["failed_rows"]) == (2, True, 0)
    assert "one SELECT, and this is DROP" in refused
