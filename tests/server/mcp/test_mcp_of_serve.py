"""`relserve serve --mcp` as users start it: agents beside SQL, with the same users, caps and rows."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from relserve.server.wire.scram import make_verifier
from tests.server.mcp.agents import client_of, told
from tests.server.openai.conftest import Book, book  # noqa: F401 (a fixture)
from tests.waiting import PATIENCE_S

ASKS = "SELECT llm('{} {{}}', i) FROM range({}) t(i)"
ENDLESS = "WITH RECURSIVE r AS (SELECT 1 UNION ALL FROM r) SELECT count(*) FROM r"


@pytest.mark.engine_of_its_own
def test_agents_and_clients_of_sql_have_one_database_and_one_days_caps(
    tmp_path: Path,
    book: Book,  # noqa: F811
) -> None:
    key = book.add("ann", rows_per_day=10, verifier=make_verifier("secret"))
    command = [sys.executable, "-m", "relserve", "serve", "--model", "scripted", "--port", "0", "--mcp", "0"]
    environ = {**os.environ, "RELSERVE_CACHE_DIR": str(tmp_path)}
    command += ["--users", str(book.path), "--mcp-rows", "2"]
    process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said, watchdog = "", threading.Timer(2 * PATIENCE_S, process.kill)
    watchdog.start()
    pattern = r"MCP clients connect to (\S+)\n.* is served on [^ ]+:(\d+)"
    while not (found := re.search(pattern, said, re.DOTALL)):
        line = process.stderr.readline()
        assert line, said
        said += line
    rest: list[str] = []
    reader = threading.Thread(target=rest.extend, args=(process.stderr,), daemon=True)
    reader.start()

    async def scene(sql: psycopg.Connection[Any]) -> None:
        async with client_of(found[1], key) as agent:
            sql.execute("CREATE TABLE mine AS FROM range(3) t(i)")
            assert (await told(agent, "query", sql="SELECT sum(i) FROM mine"))["rows"] == [[3]]
            assert (await told(agent, "query", sql="FROM mine"))["more_rows"]
            assert "SELECT" in await told(agent, "query", sql="DROP TABLE mine")
            sql.execute(ASKS.format("Say", 6))
            assert (await told(agent, "query", sql=ASKS.format("Sing", 3)))["asked"]["rows"] == 3
            assert "user ann today is max_rows := 10" in await told(agent, "query", sql=ASKS.format("Hum", 2))
            hog = asyncio.create_task(told(agent, "query", sql=ENDLESS))
            assert (await told(agent, "query", sql="SELECT 1"))["rows"] == [[1]]
            process.send_signal(signal.SIGTERM)
            status = await asyncio.to_thread(process.wait, PATIENCE_S)
            reader.join(PATIENCE_S)
            assert status == 0, rest
            hog.cancel()
            await asyncio.gather(hog, return_exceptions=True)

    with psycopg.connect(
        host="127.0.0.1", port=int(found[2]), user="ann", password="secret", dbname="memory", autocommit=True
    ) as sql:
        asyncio.run(scene(sql))
    watchdog.cancel()
