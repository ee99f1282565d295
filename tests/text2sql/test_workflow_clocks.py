"""A wall clock that is set while a workflow is under way changes nothing of what was met or missed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import replaced, run
from tests.clocks import DAY_S, jump
from tests.text2sql.databases import MemoryDatabase
from tests.text2sql.replies import engine_of, fenced, session_of

COUNT = "SELECT count(*) FROM beers WHERE style = 'IPA'"
REPLIES = {"keywords": "[]", "candidates": fenced(COUNT)}
each_jump = pytest.mark.parametrize(
    "offsets_s",
    [
        [0.0, DAY_S],
        [0.0, -DAY_S],
        [number * DAY_S for number in range(1000)],
        [-number * DAY_S for number in range(1000)],
    ],
    ids=["forth and back", "back and forth", "ever forwards", "ever back"],
)


@each_jump
@pytest.mark.parametrize("effort", ["quick", "thorough"])
def test_what_is_in_time_is_met(
    offsets_s: Sequence[float], effort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    jump(monkeypatch, offsets_s)
    session = session_of(engine_of(REPLIES))
    options = Text2SqlOptions(effort=effort, deadline_s=60)
    (outcome,) = run(["How many IPAs?"], MemoryDatabase(), session, options)
    assert (outcome.sql, outcome.failure) == (COUNT, None)
    (row,) = session.history.workflows.workflows_table().to_pylist()
    assert row["met"] is True
    assert 0 < row["slack"] <= 60


@pytest.mark.cells(2)
@each_jump
def test_what_is_late_is_missed(offsets_s: Sequence[float], monkeypatch: pytest.MonkeyPatch) -> None:
    jump(monkeypatch, offsets_s)
    engine = engine_of({"keywords": "[]"}, pause_s=600.0)
    session = session_of(engine)
    (outcome,) = run(["How many IPAs?"], MemoryDatabase(), session, Text2SqlOptions(deadline_s=0.3))
    assert outcome.failure is not None
    assert "the deadline of 0.3 seconds passed" in outcome.failure.problem
    (record,) = session.history.workflows.workflows()
    assert record.met is False
    assert record.seconds is not None
    assert 0.3 <= record.seconds < 300


@each_jump
def test_one_under_way_is_neither_met_nor_missed(
    offsets_s: Sequence[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool | None] = []
    session = session_of(engine_of(REPLIES))

    def look(cases: Sequence[QuestionCase], tools: Tools) -> None:
        jump(monkeypatch, offsets_s)
        tables = [session.history.workflows.workflows_table() for _ in range(2)]
        seen.extend(row["met"] for table in tables for row in table.to_pylist())

    run(
        ["How many IPAs?"],
        MemoryDatabase(),
        session,
        Text2SqlOptions(deadline_s=60),
        stages=replaced("retrieval", look),
    )
    assert seen == [None, None]
