"""500 rows of SQL as batches, whose clients are killed: the direct statement's rows, none paid for twice."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from batch_server import HOLDS, BatchServer, by_prompt, prompt_of, refused, serving

import relserve
from relserve.server.openai.upstream import UpstreamResponse
from tests.server.openai.gateways import running
from tests.server.openai.scripted_upstream import ScriptedUpstream
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.long]
SQL = """
SELECT i, llm_classify('Mood of row {i}?', i, choices := ['good', 'bad', 'mixed'])
FROM range(500) t(i) ORDER BY i
"""
PROGRAM = """
import json, sys, relserve
con = relserve.connect(model=sys.argv[1], progress=False)
print(json.dumps(con.execute(sys.argv[2]).fetchall()))
"""


class Client:
    """The statement in a process of its own."""

    def __init__(self, url: str, folder: Path) -> None:
        env = {**os.environ, "RELSERVE_CACHE_DIR": str(folder), "RELSERVE_ANSWER_CACHE_MB": "64"}
        command = [sys.executable, "-W", "ignore", "-c", PROGRAM, url, SQL]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)

    def rows(self) -> list[list[Any]]:
        """What it gives."""
        out, _ = self.process.communicate(timeout=2 * PATIENCE_S)
        assert self.process.returncode == 0
        found: list[list[Any]] = json.loads(out)
        return found

    def kill_once(self, condition: Callable[[], object]) -> None:
        """End it as soon as this holds, in whatever it does."""
        wait_until(condition, 2 * PATIENCE_S)
        self.process.kill()
        self.process.communicate()


def fails_first(num: int) -> Callable[[str], bool]:
    """Whether a request of this prompt fails: the first one of one row in seven."""
    seen = set[str]()

    def fails(prompt: str) -> bool:
        is_first = prompt not in seen
        seen.add(prompt)
        return is_first and int.from_bytes(prompt[-3:].encode()) % num == 0

    return fails


def direct(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The rows of the same statement, asked at once."""
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(folder / "direct"))
    with relserve.connect(model=url, progress=False) as con:
        return [list(row) for row in con.execute(SQL).fetchall()]


def num_null(rows: list[list[Any]]) -> int:
    return sum(answer is None for _, answer in rows)


def test_through_a_made_up_server(tmp_path, monkeypatch):
    fails = fails_first(7)
    with serving(BatchServer()) as server:
        server.answer = lambda body: refused(500, "busy") if fails(prompt_of(body)) else by_prompt(body)
        url = f"batch:{server.url}"
        for hold in HOLDS:  # uploaded; begun; while the answers of an expired batch are taken
            if hold == HOLDS[-1]:
                assert num_null(Client(url, tmp_path).rows()) == 499
                server.end_batches("expired", most=200)
            server.holds = {hold}
            server.held.clear()
            Client(url, tmp_path).kill_once(server.held.is_set)
            server.holds = set()
        while num_null(rows := Client(url, tmp_path).rows()):
            server.end_batches()
        assert server.answered == dict.fromkeys(server.answered, 1)
        assert len(server.answered) == 500
        assert [batch["status"] for batch in server.batches.values()] == ["expired", "completed", "completed"]
        server.answer = by_prompt
        assert rows == direct(server.url, tmp_path, monkeypatch)


class AnsweringUpstream(ScriptedUpstream):
    """Answers as the made-up server does.

    Attributes:
        answered: how often each prompt was.
    """

    def __init__(self, fails: Callable[[str], bool]) -> None:
        super().__init__()
        self.answered, self._fails = Counter[str](), fails

    @asynccontextmanager
    async def send(
        self, path: str, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[UpstreamResponse]:
        asked = json.loads(body)
        status, content = by_prompt(asked)
        if self._fails(prompt_of(asked)):
            status, content = refused(500, "busy")
        await asyncio.sleep(self.pause_s)
        while len(self.answered) >= self.stalls_after:
            await asyncio.sleep(0.01)
        self.answered[prompt_of(asked)] += status == 200
        yield UpstreamResponse(status, {}, whole(content))


async def whole(content: dict[str, Any]) -> AsyncIterator[bytes]:
    yield json.dumps(content).encode()


def test_through_our_own_server(tmp_path, monkeypatch):
    upstream = AnsweringUpstream(fails_first(7))
    with running(lambda: upstream, batches=tmp_path / "server") as gateway:
        url, api = f"batch:{gateway.url}", gateway.client()
        upstream.pause_s, upstream.stalls_after = 0.02, 300
        Client(url, tmp_path).kill_once(lambda: list(api.files.list()))
        Client(url, tmp_path).kill_once(lambda: list(api.batches.list()))
        Client(url, tmp_path).kill_once(lambda: len(upstream.answered) > 200)
        api.batches.cancel(next(iter(api.batches.list())).id)
        upstream.stalls_after = 10**9
        while num_null(rows := Client(url, tmp_path).rows()):
            wait_until(lambda: all(batch.status != "in_progress" for batch in api.batches.list()))
        assert upstream.answered == dict.fromkeys(upstream.answered, 1)
        assert len(upstream.answered) == 500
        assert rows == direct(gateway.url, tmp_path, monkeypatch)
