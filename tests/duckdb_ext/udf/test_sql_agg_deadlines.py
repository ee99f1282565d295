"""llm_agg with a deadline: groups that have no answer by then are NULL and on record, and nobody hangs."""

from __future__ import annotations

import time
from typing import Any

import pytest
from relserve_duckdb import Connection

from relserve.api import connect
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import RowError, RowsFailedWarning
from tests.waiting import PATIENCE_S, with_time_enough

NEVER_S = 10 * PATIENCE_S  # what an engine takes that answers nobody in time
LATE = ("deadline", "the deadline passed before the answer came")
PARTS = "max_chars := 100"  # ten of the values below in each prompt


def ok(prompt: str, submission: Submission) -> str:
    return "ok"


class CombinesNever(ScriptedEngine):
    """Answers about values, and never about answers."""

    async def answer(self, submission: Submission) -> Any:
        self.pause_s = NEVER_S if "ok" in submission.prompts[0] else 0.0
        async for batch in super().answer(submission):
            yield batch


def silent() -> ScriptedEngine:
    return ScriptedEngine(ok, pause_s=NEVER_S)


def connected(engine: ScriptedEngine, **options: Any) -> Connection:
    con = connect(engine=engine, progress=False, **options)
    con.execute("CREATE TABLE t AS SELECT i::VARCHAR AS v, i % 2 AS g FROM range(40) r(i)")
    return con


def asked(con: Connection, sql: str) -> list[Any]:
    """The rows, which come long before the engine would have answered, with the warning that some failed."""
    began_s = time.monotonic()
    with pytest.warns(RowsFailedWarning, match="past the deadline"):
        rows: list[Any] = con.execute(sql).fetchall()
    assert time.monotonic() - began_s < PATIENCE_S
    return rows


def late(con: Connection) -> int:
    """How many failures are on record, all for the deadline."""
    found = con.execute("SELECT kind, message, count(*) FROM llm_errors() GROUP BY ALL").fetchall()
    assert [tuple(row[:2]) for row in found] == [LATE]
    return int(found[0][2])


FORMS: list[tuple[str, list[Any], int]] = [
    ("SELECT llm_agg('{}', v, deadline := 0.2) FROM t", [(None,)], 1),
    ("SELECT g, llm_agg('{}', v, deadline := 0.2) FROM t GROUP BY g ORDER BY g", [(0, None), (1, None)], 2),
    ("SELECT llm_agg('{}', v, deadline := 0.2) FILTER (g = 0), count(*) FROM t", [(None, 40)], 1),
    (
        "SELECT DISTINCT g, llm_agg('{}', v, deadline := 0.2) OVER (PARTITION BY g) FROM t ORDER BY g",
        [(0, None), (1, None)], 2,
    ),
    ("SELECT g FROM t GROUP BY g HAVING llm_agg('{}', v, deadline := 0.2) = 'ok'", [], 2),
    ("SELECT llm('{}', llm_agg('{}', v, deadline := 0.2)) FROM t", [(None,)], 1),
]  # fmt: skip
OPTIONS: list[dict[str, bool]] = [{"prefetch": False}, {"memo": False}]


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    ("sql", "rows", "num_failed", "options"),
    [*((*form, dict[str, bool]()) for form in FORMS), *((*FORMS[1], options) for options in OPTIONS)],
)
def test_groups_that_are_late_are_null_and_on_record(
    sql: str, rows: list[Any], num_failed: int, options: dict[str, bool]
) -> None:
    with connected(silent(), **options) as con:
        assert asked(con, sql) == rows
        assert late(con) == num_failed
        assert con.execute("SELECT state FROM llm_queries()").fetchall() == [("done",)]


@pytest.mark.long
def test_groups_that_were_in_time_stand() -> None:
    def ask(seconds: float) -> tuple[list[Any], int]:
        with connected(ScriptedEngine(ok, chunk=1, stalls_after=15)) as con:
            rows = asked(con, f"SELECT llm_agg('{{}}', v, deadline := {seconds}) FROM t GROUP BY v")
            return rows, late(con)

    rows, num_late = with_time_enough(ask, lambda told: told[1] == 25)
    assert {answer for (answer,) in rows} == {"ok", None}
    assert num_late == rows.count((None,)) == 25


@pytest.mark.long
def test_a_group_whose_answers_are_not_combined_in_time_is_null_and_on_record_once() -> None:
    engine = CombinesNever(ok)
    with connected(engine) as con:
        assert asked(con, f"SELECT llm_agg('{{}}', v, {PARTS}, deadline := 2) FROM t") == [(None,)]
        assert late(con) == 1
        assert len(engine.submissions) == 2


def test_no_round_follows_one_that_was_late() -> None:
    engine = silent()
    with connected(engine) as con:
        assert asked(con, f"SELECT llm_agg('{{}}', v, {PARTS}, deadline := 0.2) FROM t") == [(None,)]
        assert late(con) >= 4  # a failure a part
        assert len(engine.submissions) == 1


@pytest.mark.cells(1)
@pytest.mark.parametrize("parts", ["", f", {PARTS}"])
def test_a_late_group_can_be_an_error(parts: str) -> None:
    with connected(silent()) as con, pytest.raises(RowError, match="the deadline passed"):
        con.execute(
            f"SELECT llm_agg('{{}}', v{parts}, on_error := 'raise', deadline := 0.2) FROM t"
        ).fetchall()


def test_a_connections_deadline_is_that_of_its_groups() -> None:
    with connected(silent(), deadline=0.2) as con:
        assert asked(con, "SELECT llm_agg('{}', v) FROM t") == [(None,)]
        assert late(con) == 1
