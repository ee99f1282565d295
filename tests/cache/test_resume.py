"""A process that is killed in mid-query: the next one asks only for rows that have no answer yet."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from relserve.cache.cache import COMMIT_EVERY_S
from relserve.cache.store import FILE_NAME
from tests.ending import said_by

NUM_DISTINCT = 1600  # of 2,000 rows
SLACK_S = 1.0  # for a commit on a busy machine, above the time between two
# Notes in a file, which outlives it, each prompt that is asked and each that is answered; prints the result.
QUERY = """
import json, sys, time
import relserve
from relserve.engines.scripted import ScriptedEngine, by_hash

class Noting(ScriptedEngine):
    async def answer(self, submission):
        with open(sys.argv[1], "a", buffering=1) as notes:
            notes.write(json.dumps({"asked": list(submission.prompts)}) + chr(10))
            async for replies in super().answer(submission):
                yield replies
                prompts = [submission.prompts[reply.index] for reply in replies]
                notes.write(json.dumps({"answered": prompts, "at": time.time()}) + chr(10))

engine = Noting(by_hash, chunk=8, pause_s=0.02, identity="test")
con = relserve.connect(engine=engine, progress=False)
call = "llm_classify('Mood of {}?', i % 1600, choices := ['good', 'bad', 'mixed'])"
print(json.dumps(con.execute(f"SELECT i, {call} FROM range(2000) t(i) ORDER BY i").fetchall()))
con.close()
"""


class Query:
    """The query in a process of its own."""

    def __init__(self, folder: Path, notes: str) -> None:
        folder.mkdir(exist_ok=True)
        self.notes = folder / notes
        self.notes.touch()
        env = {**os.environ, "RELSERVE_CACHE_DIR": str(folder), "RELSERVE_ANSWER_CACHE_MB": "64"}
        command = [sys.executable, "-c", QUERY, str(self.notes)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        )

    def noted(self) -> list[dict[str, Any]]:
        lines = self.notes.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    @property
    def asked(self) -> list[str]:
        return [prompt for note in self.noted() for prompt in note.get("asked", [])]

    def answered_before(self, at: float) -> set[str]:
        return {prompt for note in self.noted() if note.get("at", at) < at for prompt in note["answered"]}

    def kill(self, after_s: float) -> float:
        """Kill it so long after it has asked its prompts; gives the time of death."""
        deadline = time.monotonic() + 60
        while not self.asked:
            assert time.monotonic() < deadline
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)
        time.sleep(after_s)
        self.process.send_signal(signal.SIGKILL)
        died = time.time()
        assert self.result() == "", "it had finished already"
        assert self.process.returncode == -signal.SIGKILL
        return died

    def result(self) -> str:
        """Its result, once it ends; it may not have complained."""
        out, said = self.process.communicate(timeout=60)
        assert said_by(said) == ""
        return out


def num_kept(folder: Path) -> int:
    with sqlite3.connect(folder / FILE_NAME) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'answers'").fetchall():
            return 0  # killed before the first commit
        return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])


@pytest.mark.engine_of_its_own
def test_kill_9_loses_a_fraction_of_a_second_at_most(tmp_path: Path) -> None:
    rng = random.Random(1)
    in_time: set[str] = set()
    kept = 0
    for number in range(3):
        query = Query(tmp_path, f"notes-{number}")
        died = query.kill(rng.uniform(0.1, 1.6))
        assert len(query.asked) == NUM_DISTINCT - kept, "what was kept is not asked, all else is"
        assert not in_time.intersection(query.asked), "asked again although it was answered in good time"
        in_time |= query.answered_before(died - COMMIT_EVERY_S - SLACK_S)
        assert kept <= num_kept(tmp_path) <= kept + len(query.answered_before(died + 1)) + 8
        kept = num_kept(tmp_path)
    assert kept > 0
    last, undisturbed = Query(tmp_path, "last"), Query(tmp_path / "fresh", "notes")
    assert last.result() == undisturbed.result() != ""
    assert len(last.asked) == NUM_DISTINCT - kept
    assert not in_time.intersection(last.asked)
    assert len(undisturbed.asked) == NUM_DISTINCT
