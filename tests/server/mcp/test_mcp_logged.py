"""Calls of tools are logged and counted as statements are, and end at the server's limits of time."""

import asyncio
import json
from pathlib import Path
from typing import Any

from mcp import Client

from relserve.engines.scripted import ScriptedEngine
from relserve.server.mcp.tools import mcp_server
from relserve.server.options import ServerOptions
from relserve.server.server import Server
from relserve.server.users.users import User
from tests.server.mcp.agents import PATIENT, shop, told

ASKS = "SELECT llm('Say {review}', review) FROM reviews LIMIT 2"
ENDLESS = "WITH RECURSIVE r AS (SELECT 1 UNION ALL FROM r) SELECT count(*) FROM r"


def called(folder: Path, calls: list[dict[str, Any]], **options: Any) -> tuple[list[Any], list[Any], Server]:
    """What a server tells and logs of these calls, each with its tool."""
    log = folder / "log.jsonl"
    made = ServerOptions(
        database=shop(folder), read_only=True, log_statements=str(log), log_texts=True, **options
    )
    server = Server(made, ScriptedEngine())

    async def scene() -> list[Any]:
        async with Client(mcp_server(server, PATIENT, lambda _: User("ann")), mode="legacy") as client:
            return [await told(client, **call) for call in calls]

    found = asyncio.run(scene())
    server.close()
    return found, [json.loads(line) for line in log.read_text("utf-8").splitlines()], server


def test_each_call_is_a_line_of_the_log(tmp_path: Path) -> None:
    queries = [dict(tool="query", sql=sql) for sql in (ASKS, "DROP TABLE reviews")]
    calls = [*queries, dict(tool="list_tables")]
    _, lines, server = called(tmp_path, calls)
    assert [(line["user"], line["rows"], line["sqlstate"], line["text"]) for line in lines] == [
        ("ann", 2, None, f"query {ASKS}"),
        ("ann", 0, "42501", "query DROP TABLE reviews"),
        ("ann", 0, None, "list_tables"),
    ]
    assert lines[0]["tokens"] > 0 == lines[1]["tokens"]
    counted = server.counters.read()
    assert (counted.statements, counted.rows, counted.errors) == (3, 2, {"42501": 1})


def test_the_time_out_of_statements_ends_calls(tmp_path: Path) -> None:
    calls = [dict(tool="query", sql=ENDLESS)]
    (said,), (line,), _ = called(tmp_path, calls, statement_timeout_s=0.2, longest_statement_s=600.0)
    assert "ended after 0.2 seconds" in said
    assert line["sqlstate"] == "57014"
