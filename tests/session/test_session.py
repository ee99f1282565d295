"""The session: folding, order, NULLs, failures, cancel; on the scripted engine."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.call.options import Options
from relserve.call.phases import Phases, phases_of
from relserve.call.relquery import RelQuery, RowTimes
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import Cancelled, EngineDeadError, Failure, FailureKind, RowError
from relserve.session.session import Session
from tests.waiting import PATIENCE_S, Limit, act_when, wait_until


def session_of(engine: ScriptedEngine) -> Session:
    return Session(lambda model: engine)


def relquery(values: list[str | None], function: str = "llm", **options: object) -> RelQuery:
    binding = Template.parse("say {}").bind(1)
    return RelQuery(function, binding, [(v,) for v in values], Options(**options))  # type: ignore[arg-type]


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=30))
def test_answers_keep_input_order_and_each_distinct_prompt_is_asked_once(values: list[str | None]) -> None:
    engine = ScriptedEngine(echo, chunk=4)
    result = session_of(engine).run(relquery(values))
    assert result.values == [None if v is None else f"say {v}".strip() for v in values]
    assert engine.num_prompts == len({v for v in values if v is not None})


def test_the_whole_relquery_is_one_submission() -> None:
    engine = ScriptedEngine(chunk=10)
    session_of(engine).run(relquery([str(i) for i in range(1000)]))
    assert [len(s.prompts) for s in engine.submissions] == [1000]


def test_multiplicity_counts_table_rows() -> None:
    session = session_of(ScriptedEngine(lambda p, s: Failure(FailureKind.REFUSED, "no") if "b" in p else "x"))
    query = RelQuery("llm", Template.parse("{}").bind(1), [("a",), ("b",), (None,)], multiplicity=[5, 3, 2])
    session.run(query)
    (record,) = session.history.queries()
    assert (record.num_rows, record.num_distinct, record.num_null, record.num_failed) == (10, 2, 2, 3)


def test_a_failed_row_is_null_and_recorded_and_the_others_stand() -> None:
    session = session_of(ScriptedEngine(max_prompt_chars=10))
    result = session.run(relquery(["short", "x" * 50]))
    assert result.values[0] is not None
    assert result.values[1] is None
    (error,) = session.history.errors()
    assert error.failure.kind is FailureKind.OVER_CONTEXT
    assert session.history.errors_table().to_pylist()[0]["rows"] == 1


def test_a_reply_outside_the_choices_is_null_not_a_guess() -> None:
    session = session_of(ScriptedEngine(lambda p, s: "perhaps"))
    assert session.run(relquery(["a"], "llm_filter")).values == [None]
    assert session.history.errors()[0].failure.kind is FailureKind.UNPARSABLE


def test_on_error_raise_fails_the_query_and_aborts_the_rest() -> None:
    engine = ScriptedEngine(max_prompt_chars=10, chunk=1, stalls_after=1)
    session = session_of(engine)
    with pytest.raises(RowError, match="context holds 10"):
        session.run(relquery(["!" * 50, *map(str, range(100))], on_error="raise"))
    assert session.history.queries()[0].state == "failed"
    wait_until(lambda: engine.aborted == 100)


@pytest.mark.performance
def test_cancel_raises_and_aborts_in_the_engine_within_a_second(limit_s: Limit) -> None:
    engine = ScriptedEngine(chunk=1, stalls_after=3)
    session, cancel = session_of(engine), threading.Event()
    act_when(lambda: engine.num_answered == 3, cancel.set)
    started = time.monotonic()
    with pytest.raises(Cancelled):
        session.run(relquery([str(i) for i in range(1000)]), cancel)
    assert time.monotonic() - started < limit_s(1)
    wait_until(lambda: engine.aborted == 997)
    engine.stalls_after = None
    assert session.history.queries()[0].state == "cancelled"
    assert session.run(relquery(["again"])).values


def test_a_dead_engine_is_an_error_and_the_next_query_works() -> None:
    engine = ScriptedEngine(chunk=1, dies_after=3)
    session = session_of(engine)
    with pytest.raises(EngineDeadError):
        session.run(relquery([str(i) for i in range(10)]))
    engine.dies_after = None
    assert len(session.run(relquery(["a", "b"])).values) == 2


def test_threads_share_a_session() -> None:
    engine = ScriptedEngine(echo, chunk=7)
    session = session_of(engine)
    results: dict[int, list[object]] = {}

    def ask(k: int) -> None:
        results[k] = session.run(relquery([f"{k}-{i}" for i in range(50)])).values

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE_S)
    assert results == {k: [f"say {k}-{i}" for i in range(50)] for k in range(8)}


def test_progress_sees_the_record_grow() -> None:
    seen: list[int] = []
    session_of(ScriptedEngine(chunk=10)).run(
        relquery([str(i) for i in range(35)]), progress=lambda record: seen.append(record.num_done)
    )
    assert seen == [10, 20, 30, 35]


times = st.tuples(*[st.floats(0, 100)] * 4).map(lambda t: RowTimes(*sorted(t)))


@given(st.lists(times, min_size=1, max_size=20))
def test_phases_add_up_to_the_latency(rows: list[RowTimes]) -> None:
    phases = phases_of(rows)
    assert phases is not None
    assert min(phases) >= 0
    latency = max(t.last_token_s for t in rows) - min(t.queued_s for t in rows)
    assert sum(phases) == pytest.approx(latency)


def test_phases_of_two_rows() -> None:
    rows = [RowTimes(0, 1, 2, 9), RowTimes(0, 3, 5, 7)]
    assert phases_of(rows) == Phases(waiting_s=1, core_s=4, tail_s=4)
    assert phases_of([]) is None
