"""A cascade that is broken off in the middle: the next run asks the large model nothing again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import relserve
from relserve.api import ENGINES
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine

NUM_ROWS = 600
SQL = "SELECT i FROM rows_ WHERE llm_filter('Is it good? {{}}', x, cascade := '{}', confidence := 0.9)"
Answered = list[str]


@pytest.fixture
def large() -> Iterator[ScriptedEngine]:
    large = ScriptedEngine(model="large", identity="large", chunk=1)
    ENGINES.put("large", large)
    ENGINES.put("small", ScriptedEngine(model="small", identity="small"))
    yield large
    for name in ("large", "small"):
        ENGINES.close(name)


@pytest.fixture
def con(large: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> relserve.Connection:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    con = relserve.connect(model="large")
    words = "['good', 'warm', 'kind', 'bad', 'cold', 'rude', 'slow']"
    con.execute(
        f"CREATE TABLE rows_ AS SELECT i, {words}[i % 7 + 1] || ' row ' || i AS x FROM range({NUM_ROWS}) t(i)"
    )
    return con


def script_of(answered: Answered, at: int, stop: Callable[[], None]) -> Callable[[str, Submission], str]:
    """Notes what is answered, and calls `stop` in the middle."""

    def answer(prompt: str, submission: Submission) -> str:
        if len(answered) == at:
            stop()
        answered.append(prompt)
        return "yes" if any(word in prompt for word in ("? good", "? warm", "? kind")) else "no"

    return answer


def break_off() -> None:
    raise RuntimeError("the engine broke off")


@pytest.mark.cells(1)
@pytest.mark.parametrize("cascade", ["small", "embedding"])
@pytest.mark.parametrize("at", [30, 130])
def test_after_ctrl_c_no_prompt_is_answered_twice(
    con: relserve.Connection, large: ScriptedEngine, cascade: str, at: int
) -> None:
    """30 is among the rows to learn from; at 130 they are learnt from."""
    answered: Answered = []

    def interrupt() -> None:
        large.pause_s = 3600  # until it is aborted
        con.interrupt()

    large.script = script_of(answered, at, interrupt)
    with pytest.raises(duckdb.InterruptException):
        con.sql(SQL.format(cascade)).fetchall()
    assert len(answered) == at + 1
    (state,) = con.sql("SELECT state FROM llm_queries() WHERE function = 'llm_filter'").fetchall()
    assert state == ("cancelled",)
    large.pause_s, large.script = 0.0, script_of(answered, -1, break_off)
    assert len(con.sql(SQL.format(cascade)).fetchall()) > 100
    assert len(answered) == len(set(answered)) > at + 1


def test_after_a_crash_what_was_learnt_is_learnt_again_from_kept_answers(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    answered: Answered = []
    large.script = script_of(answered, 130, break_off)
    with pytest.raises(Exception, match="broke off"):
        con.sql(SQL.format("embedding")).fetchall()
    large.script = script_of(answered, -1, break_off)
    rows = con.sql(SQL.format("embedding")).fetchall()
    assert len(answered) == len(set(answered))
    num_asked = len(answered)
    assert con.sql(SQL.format("embedding")).fetchall() == rows
    assert len(answered) == num_asked
