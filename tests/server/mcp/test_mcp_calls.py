"""How far a call is, and its end when it is cancelled; and who may call over HTTP."""

import asyncio
import os
import re
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from relserve.engines.scripted import ScriptedEngine, by_hash
from relserve.errors import Cancelled
from relserve.server.mcp.limits import ToolLimits
from relserve.server.mcp.tools import EVERY_S, mcp_server
from relserve.server.mcp.work import ToolWork
from relserve.server.options import ServerOptions
from relserve.server.server import Server
from relserve.server.users.users import User
from relserve.session.caps import Limits
from tests.server.mcp.agents import served, shop, told
from tests.server.openai.conftest import Book, book  # noqa: F401 (a fixture)
from tests.waiting import PATIENCE_S, wait_until

SLOW = "SELECT count(llm('Say {review}', review)) FROM reviews"


def slow() -> ScriptedEngine:
    """Half a minute for 500 rows."""
    return ScriptedEngine(by_hash, chunk=5, pause_s=0.3)


@pytest.mark.cells(1)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_cancelled_call_ends_in_the_engine(tmp_path: Path, mode: str) -> None:
    """Over HTTP; and the same session goes on."""
    engine, told_progress = slow(), list[tuple[float, float | None, str | None]]()

    async def scene() -> Any:
        async with here.client(mode=mode) as client:
            async with anyio.create_task_group() as group:

                async def progress(done: float, total: float | None, message: str | None) -> None:
                    told_progress.append((done, total, message))
                    group.cancel_scope.cancel()

                await client.call_tool("query", {"sql": SLOW}, progress_callback=progress)
            await asyncio.to_thread(wait_until, lambda: engine.aborted)
            return await told(client, "query", sql="SELECT count(*) FROM reviews")

    with served(engine, database=shop(tmp_path), read_only=True) as here:
        assert asyncio.run(scene())["rows"] == [[500]]
    ((done, total, message),) = told_progress
    assert 0 < done < 500 == total
    assert message is not None
    assert "llm()" in message
    assert "/500 rows" in message
    assert engine.num_answered + engine.aborted == 500


@pytest.mark.long
def test_a_cancelled_call_of_duckdbs_own_ends(tmp_path: Path) -> None:
    """Over streams, as over stdio."""
    server = Server(ServerOptions(database=shop(tmp_path), read_only=True), ScriptedEngine())
    made = mcp_server(server, ToolLimits(seconds=600), lambda _: User("ann"))
    endless = "WITH RECURSIVE r AS (SELECT 1 UNION ALL FROM r) SELECT count(*) FROM r"

    async def scene() -> Any:
        async with Client(made, mode="legacy") as client:
            with anyio.move_on_after(2 * EVERY_S):
                await client.call_tool("query", {"sql": endless})
            return await told(client, "query", sql="SELECT 1")

    assert asyncio.run(scene())["rows"] == [[1]]
    server.close()


def test_caps_and_limits_hold(tmp_path: Path) -> None:
    engine = ScriptedEngine()
    limits = ToolLimits(rows=3, asked=Limits(rows=10))

    async def scene() -> list[Any]:
        async with here.client() as client:
            return [
                await told(client, "query", sql="SELECT count(llm('{i}', i)) FROM range(11) t(i)"),
                await told(
                    client,
                    "query",
                    sql="SELECT llm('{i}', i, max_rows := 99) FROM range(50) t(i) ORDER BY ALL",
                ),
                await told(client, "query", sql="SELECT llm('{i}', i) FROM range(10) t(i)"),
                await told(client, "query", sql="FROM range(9)", max_rows=100),
            ]

    with served(engine, limits, database=shop(tmp_path), read_only=True) as here:
        refused, refused_too, within, cut = asyncio.run(scene())
    assert "max_rows := 10" in refused
    assert "max_rows := 10" in refused_too
    assert (len(within["rows"]), within["more_rows"]) == (3, True)
    assert cut["rows"] == [[0], [1], [2]]
    assert engine.num_prompts <= 10


def test_keys_say_who_calls(tmp_path: Path, book: Book) -> None:  # noqa: F811
    """Each key its user's tokens; no key, no answer."""
    key, poor = book.add("ann"), book.add("bob", tokens_per_hour=1)
    asks = "SELECT llm('Say {review}', review) FROM reviews LIMIT 2"

    async def asked(key: str) -> Any:
        async with here.client(key) as client:
            return await told(client, "query", sql=asks)

    def status(headers: dict[str, str]) -> int:
        return httpx2.post(here.url, json={}, headers=headers).status_code

    with served(ScriptedEngine(), database=shop(tmp_path), read_only=True, users=book.path) as here:
        assert len(asyncio.run(asked(key))["rows"]) == 2
        assert "has used the 1 tokens of an hour" in asyncio.run(asked(poor))
        assert status({}) == status({"Authorization": "Bearer sk-relserve-wrong"}) == 401
        assert {user for user, _ in here.server.queries()} == {"ann", "bob"}


def test_a_user_opens_so_many_sessions(
    tmp_path: Path, book: Book, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    """Of which all users together may have so many."""
    monkeypatch.setattr("relserve.server.mcp.http.MOST_SESSIONS", 2)
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}

    def status(key: str, ends: bool = False) -> int:
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
        opened = httpx2.post(here.url, json=asked, headers=headers)
        if ends:
            headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
            assert httpx2.request("DELETE", here.url, headers=headers).status_code == 200
            assert httpx2.request("DELETE", here.url, headers=headers).status_code == 404
        return opened.status_code

    ann, bob = book.add("ann"), book.add("bob")
    with served(ScriptedEngine(), database=shop(tmp_path), read_only=True, users=book.path) as here:
        assert [status(ann, ends=True) for _ in range(4)] == [200] * 4
        assert [status(ann), status(ann), status(ann), status(bob)] == [200, 200, 429, 200]


@pytest.mark.cells(1)
@pytest.mark.parametrize("has_keys", [True, False])
def test_a_body_that_does_not_end_keeps_no_socket(
    tmp_path: Path, book: Book, monkeypatch: pytest.MonkeyPatch, has_keys: bool  # noqa: F811
) -> None:  # fmt: skip
    """Nor does one cost the calls of others anything."""
    key = book.add("ann") if has_keys else None
    options: dict[str, Any] = {"users": book.path} if has_keys else {}
    with served(ScriptedEngine(), database=shop(tmp_path), read_only=True, **options) as here:
        url = httpx2.URL(here.url)
        head = f"POST {url.path} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nContent-Length: 1000\r\n"
        head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        head += f"Authorization: Bearer {key}\r\n\r\n" + "{"

        async def scene() -> Any:
            async with here.client(key) as client:
                monkeypatch.setattr("relserve.server.mcp.http.BODY_S", 0.5)
                monkeypatch.setattr("relserve.server.page.sockets.HEAD_S", 0.5)
                reader, writer = await asyncio.open_connection(url.host, url.port)
                writer.write(head.encode())
                async with asyncio.timeout(PATIENCE_S):
                    said = (await reader.read()).decode()
                assert said.startswith("HTTP/1.1 408 ")
                assert "the body did not come within 0.5 s" in said
                writer.close()
                monkeypatch.undo()
                return await told(client, "query", sql="SELECT count(*) FROM reviews")

        assert asyncio.run(scene())["rows"] == [[500]]


@pytest.mark.long
def test_a_users_longest_statement_ends_in_the_engine(tmp_path: Path, book: Book) -> None:  # noqa: F811
    engine, key = slow(), book.add("ann", longest_statement_s=0.5)

    async def scene() -> Any:
        async with here.client(key) as client:
            return await told(client, "query", sql=SLOW)

    with served(engine, database=shop(tmp_path), read_only=True, users=book.path) as here:
        assert "ended after 0.5 seconds, the most that a call may take" in asyncio.run(scene())
        wait_until(lambda: engine.num_answered + engine.aborted in (0, 500))


def test_without_keys_only_this_machines_names_are_answered(tmp_path: Path) -> None:
    with served(ScriptedEngine(), database=shop(tmp_path), read_only=True) as here:
        assert httpx2.post(here.url, json={}, headers={"Host": "evil.example"}).status_code == 421
        assert httpx2.post(here.url, json={}, headers={"Origin": "http://evil.example"}).status_code == 403


@pytest.mark.long
def test_many_slow_calls_hold_up_no_other(tmp_path: Path) -> None:
    engine, num_calls = ScriptedEngine(by_hash, pause_s=1000), min(32, (os.cpu_count() or 1) + 4) + 1

    async def scene() -> Any:
        async with here.client() as client, anyio.create_task_group() as group:
            for number in range(num_calls):
                sql = f"SELECT count(llm('{number}: {{review}}', review)) FROM good"
                group.start_soon(partial(told, client, "query", sql=sql))
            await asyncio.to_thread(wait_until, lambda: len(engine.submissions) == num_calls)
            found = await told(client, "query", sql="SELECT TIMESTAMP 'infinity'")
            group.cancel_scope.cancel()
            return found

    with served(engine, database=shop(tmp_path), read_only=True) as here:
        assert "cast it to VARCHAR" in asyncio.run(scene())


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("limits", "own", "told_why"),
    [
        (ToolLimits(calls_at_once=2), None, "may have 2 calls at once"),
        (ToolLimits(), 2, "may have 2 calls at once"),
        (ToolLimits(calls_per_minute=2), None, r"has made 2 calls in a minute: wait \d+ seconds"),
    ],
)
def test_a_user_makes_so_many_calls(
    tmp_path: Path,
    book: Book,  # noqa: F811
    limits: ToolLimits,
    own: int | None,
    told_why: str,
) -> None:
    """Resources are calls, too; another user's are others."""
    keys = book.add("ann", requests_at_once=own), book.add("bob")
    engine = ScriptedEngine(by_hash, pause_s=1000)

    async def scene() -> list[Any]:
        async with here.client(keys[0]) as ann, here.client(keys[1]) as bob:
            async with anyio.create_task_group() as group:
                for number in range(2):
                    sql = f"SELECT llm('{number}: {{review}}', review) FROM reviews LIMIT 1"
                    group.start_soon(partial(told, ann, "query", sql=sql))
                await asyncio.to_thread(wait_until, lambda: len(engine.submissions) == 2)
                found = [await told(ann, "list_tables"), await told(bob, "query", sql="SELECT 1")]
                with pytest.raises(MCPError) as refused:
                    await ann.read_resource("relserve://tables")
                group.cancel_scope.cancel()
            return [*found, str(refused.value)]

    with served(engine, limits, database=shop(tmp_path), read_only=True, users=book.path) as here:
        refused, others, refused_too = asyncio.run(scene())
    assert re.search(told_why, refused)
    assert re.search(told_why, refused_too)
    assert others["rows"] == [[1]]


def test_a_call_that_is_cancelled_while_it_waits_for_a_thread_does_not_begin(tmp_path: Path) -> None:
    server = Server(ServerOptions(database=shop(tmp_path), read_only=True), ScriptedEngine())
    work = ToolWork(server, User("ann"), ToolLimits())
    work.cancel()
    with pytest.raises(Cancelled), work.connected():
        pass
    server.close()
