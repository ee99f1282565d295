"""deadline := .. on every llm function and on text2sql, and a connection's own."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import duckdb
import pytest
from relserve_duckdb import Connection
from sql_fixtures import Made

from relserve.api import connect
from relserve.call.options import FUNCTIONS
from relserve.call.questions import EXAMPLE
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import OptionError, RowError, RowsFailedWarning

NEEDED = {
    "choices": ", choices := ['a', 'b']", "schema": ', schema := \'{"a": "INT"}\'',
    "questions": f", questions := '{EXAMPLE}'",
}  # fmt: skip
LATE = "SELECT llm('{{}}', i::VARCHAR, deadline := {}) FROM range(10, 40) t(i)"


def connected(engine: ScriptedEngine | None = None, **options: Any) -> Connection:
    return connect(engine=engine or ScriptedEngine(echo), progress=False, **options)


def seconds_told(engine: ScriptedEngine) -> list[float | None]:
    """What the scheduler was told of each submission, in seconds from now."""
    told = [submission.tag().deadline_s for submission in engine.submissions]
    return [None if deadline_s is None else deadline_s - time.time() for deadline_s in told]


@pytest.mark.cells(4)
@pytest.mark.parametrize(
    ("function", "given", "seconds"),
    [
        *((name, "30", 30) for name, spec in FUNCTIONS.items() if not spec.model),
        ("llm", "'30 s'", 30), ("llm_int", "INTERVAL 2 MINUTE", 120),
        ("llm_filter", "1.5::DECIMAL(3,1) * 60", 90), ("llm_agg", "'30 s'", 30), ("llm", "NULL", None),
    ],
)  # fmt: skip
def test_every_function_takes_one(function: str, given: str, seconds: float | None) -> None:
    engine = ScriptedEngine()
    with connected(engine) as con:
        needed = "".join(NEEDED[name] for name in FUNCTIONS[function].required)
        asked = "t" if FUNCTIONS[function].template else "'Say {}', t"
        call = f"{function}({asked}{needed}, deadline := {given})"
        values = "('a'), ('b')" if function == "llm_rank" else "('a')"  # one value is in order unasked
        assert len(con.execute(f"SELECT {call} FROM (VALUES {values}) v(t)").fetchall()) == 1
    assert seconds_told(engine) == [seconds if seconds is None else pytest.approx(seconds, abs=10)]


@pytest.mark.long
def test_rows_that_are_late_are_null_and_on_record() -> None:
    with connected(ScriptedEngine(echo, chunk=1, pause_s=0.15)) as con:  # 4.5 s in all
        with pytest.warns(RowsFailedWarning, match="rows failed and are NULL: [0-9]+ past the deadline"):
            rows = [row[0] for row in con.execute(LATE.format("'3 s'")).fetchall()]
        late = [row for row in rows if row is None]
        assert 0 < len(late) < 30
        assert [row for row in rows if row is not None] == [str(i) for i in range(10, 40 - len(late))]
        found = con.execute("SELECT kind, message, count(*) FROM llm_errors() GROUP BY ALL").fetchall()
        assert found == [("deadline", "the deadline passed before the answer came", len(late))]


def test_late_rows_can_be_an_error() -> None:
    with connected(ScriptedEngine(echo, chunk=1, pause_s=0.05)) as con:
        with pytest.raises(RowError, match="the deadline passed before the answer came"):
            con.execute(LATE.format("0.2, on_error := 'raise'")).fetchall()


@pytest.mark.parametrize(
    "given",
    [
        "0",
        "-1",
        "'-3 s'",
        "'soon'",
        "true",
        "'nan'::DOUBLE",
        "'inf'::DOUBLE",
        "1e300",
        "INTERVAL 8 DAY",
        "[1]",
    ],
)
@pytest.mark.parametrize(
    "call", ["llm('{}', i, deadline := {})", "text2sql_query('How many?', deadline := {})"]
)
def test_bad_values_fail_before_anything_is_asked(refusing: Made, call: str, given: str) -> None:
    call = call.replace("deadline := {}", f"deadline := {given}")
    with pytest.raises(OptionError, match=r"deadline must be .* as in 30, '30 s' or INTERVAL 30 SECOND, not"):
        refusing.rows(f"SELECT {call} FROM range(3) t(i)")
    assert refusing.asked == (0, 0)


@pytest.mark.cells(1)
@pytest.mark.parametrize("deadline", [30, "30 s", timedelta(seconds=30)])
def test_a_connection_has_a_default_that_a_call_can_change(deadline: Any) -> None:
    engine = ScriptedEngine(echo)
    with connected(engine, deadline=deadline) as con:
        con.execute("SELECT llm('{}', 'a')").fetchall()
        con.cursor().execute("SELECT llm('{}', 'b')").fetchall()
        con.execute("SELECT llm('{}', 'c', deadline := 600)").fetchall()
    assert seconds_told(engine) == [pytest.approx(each, abs=10) for each in (30, 30, 600)]


def test_the_setting_is_the_default_of_every_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_DEADLINE_S", "45")
    engine = ScriptedEngine(echo)
    with connected(engine) as con:
        con.execute("SELECT llm('{}', 'a')").fetchall()
    assert seconds_told(engine) == [pytest.approx(45, abs=10)]


@pytest.mark.parametrize("deadline", [0, -1, "soon", float("nan"), True])
def test_a_connection_with_a_bad_default_is_refused(deadline: Any) -> None:
    with pytest.raises(OptionError, match="deadline must be"):
        connected(deadline=deadline)


def test_a_deadline_may_not_change_from_row_to_row() -> None:
    with connected() as con, pytest.raises((OptionError, duckdb.Error), match=r"deadline|option"):
        con.execute("SELECT llm('{}', i, deadline := i + 1) FROM range(3) t(i)").fetchall()
