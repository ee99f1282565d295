"""A process that is killed in mid-query: the next one asks only for rows that have no answer yet."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from relserve.cache.store import FILE_NAME
from tests.ending import said_by
from tests.waiting import PATIENCE_S, wait_until

NUM_DISTINCT = 1600  # of 2,000 rows
AT_ONCE = 400  # prompts that an engine answers before it stalls
START_S = 3 * PATIENCE_S  # of a process that imports all anew, on a busy machine
# Notes in a file, which outlives it, each prompt that is asked and each that is answered; prints the result.
QUERY = """
import json, sys
import relserve
from relserve.engines.scripted import ScriptedEngine, by_hash

class Noting(ScriptedEngine):
    async def answer(self, submission):
        with open(sys.argv[1], "a", buffering=1) as notes:
            notes.write(json.dumps({"asked": list(submission.prompts)}) + chr(10))
            async for replies in super().answer(submission):
                yield replies
                prompts = [submission.prompts[reply.index] for reply in replies]
                notes.write(json.dumps({"answered": prompts}) + chr(10))

engine = Noting(by_hash, chunk=8, pause_s=0.005, identity="test", stalls_after=json.loads(sys.argv[2]))
con = relserve.connect(engine=engine, progress=False)
call = "llm_classify('Mood of {}?', i % 1600, choices := ['good', 'bad', 'mixed'])"
print(json.dumps(con.execute(f"SELECT i, {call} FROM range(2000) t(i) ORDER BY i").fetchall()))
con.close()
"""


class Query:
    """The query in a process of its own."""

    def __init__(self, folder: Path, notes: str, stalls_after: int | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.notes = folder / notes
        self.notes.touch()
        env = {**os.environ, "RELSERVE_CACHE_DIR": str(folder), "RELSERVE_ANSWER_CACHE_MB": "64"}
        command = [sys.executable, "-c", QUERY, str(self.notes), json.dumps(stalls_after)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        )

    def noted(self) -> list[dict[str, Any]]:
        lines = self.notes.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    @property
    def asked(self) -> list[str]:
        return [prompt for note in self.noted() for prompt in note.get("asked", [])]

    @property
    def answered(self) -> set[str]:
        return {prompt for note in self.noted() for prompt in note.get("answered", [])}

    def wait_for(self, num_answered: int) -> None:
        wait_until(lambda: len(self.answered) >= num_answered or self.process.poll() is not None, START_S)
        assert self.process.poll() is None, self.process.communicate()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        assert self.result() == "", "it had finished already"
        assert self.process.returncode == -signal.SIGKILL

    def result(self) -> str:
        """Its result, once it ends; it may not have complained."""
        out, said = self.process.communicate(timeout=PATIENCE_S)
        assert said_by(said) == ""
        return out


def num_kept(folder: Path) -> int:
    if not (folder / FILE_NAME).exists():
        return 0
    with sqlite3.connect(folder / FILE_NAME) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'answers'").fetchall():
            return 0  # killed before the first commit
        return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])


@pytest.mark.engine_of_its_own
def test_kill_9_loses_what_is_not_written_yet_and_all_is_written_soon(tmp_path: Path) -> None:
    """Killed twice while answers come, and once when those that came are written, though no others come."""
    rng, kept = random.Random(1), 0
    for number in range(3):
        query = Query(tmp_path, f"notes-{number}", AT_ONCE)
        try:
            query.wait_for(AT_ONCE if number == 2 else rng.randrange(1, AT_ONCE))
            if number == 2:
                wait_until(lambda kept=kept: num_kept(tmp_path) == kept + AT_ONCE)
        finally:
            query.kill()
        assert len(query.asked) == NUM_DISTINCT - kept, "what was kept is not asked, all else is"
        assert kept <= num_kept(tmp_path) <= kept + len(query.answered) + 8
        kept = num_kept(tmp_path)
    assert kept >= AT_ONCE
    in_time = query.answered
    last, undisturbed = Query(tmp_path, "last"), Query(tmp_path / "fresh", "notes")
    assert last.result() == undisturbed.result() != ""
    assert len(last.asked) == NUM_DISTINCT - kept
    assert not in_time.intersection(last.asked)
    assert len(undisturbed.asked) == NUM_DISTINCT
