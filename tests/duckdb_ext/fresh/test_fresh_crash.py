"""A process that is killed while it fills a column."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import relserve
from relserve.cache.store import FILE_NAME
from relserve.engines.scripted import ScriptedEngine, echo
from tests.waiting import wait_until

KIND = "llm('Kind of {}', message)"
# Its engine answers 300 prompts and no more.
PROGRAM = f"""
import asyncio, sys
import relserve
from relserve.engines.scripted import ScriptedEngine, echo

class Stops(ScriptedEngine):
    async def answer(self, submission):
        async for replies in super().answer(submission):
            yield replies
            if self.num_answered >= 300:
                await asyncio.Event().wait()

con = relserve.connect(sys.argv[1], engine=Stops(echo, identity="one", chunk=50), progress=False)
con.execute("CREATE TABLE tickets AS SELECT i AS id, 'message ' || i AS message FROM range(1000) r(i)")
relserve.materialize(con, "tickets", "kind", {KIND!r})
"""


def num_kept(folder: Path) -> int:
    if not (folder / FILE_NAME).exists():
        return 0
    with closing(sqlite3.connect(folder / FILE_NAME)) as kept:
        tables = {name for (name,) in kept.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return kept.execute("SELECT count(*) FROM answers").fetchone()[0] if "answers" in tables else 0


@pytest.mark.long
def test_a_killed_process_loses_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path / "t.db")], env=dict(os.environ))
    try:
        wait_until(lambda: num_kept(tmp_path) == 300)
    finally:
        process.kill()
        process.wait()
    engine = ScriptedEngine(echo, identity="one")
    with relserve.connect(tmp_path / "t.db", engine=engine, progress=False) as con:
        assert con.table("tickets").columns == ["id", "message"]
        done = relserve.materialize(con, "tickets", "kind", KIND)
        assert (done.cached_answers, done.asked, engine.num_prompts) == (300, 700, 700)
