"""Totals that only grow, paces from real differences, and predicted ends."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

import pytest

from relserve.call.relquery import Usage
from relserve.errors import Failure, FailureKind
from relserve.machine.engine_status import RelStatus
from relserve.server.page.view import outlooks, status
from relserve.server.page.watch import NUM_STEPS, ServerWatch
from relserve.session.history import ErrorRecord, QueryRecord
from relserve.tiny import MODEL_DIR
from tests.server.page.page_facts import WrittenFacts, engine

NOW = datetime(2027, 1, 15, 8, 0, tzinfo=timezone.utc)


class Time:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def record(rel_id: str, **changes: object) -> QueryRecord:
    return QueryRecord(rel_id, "llm", "{}", str(MODEL_DIR), 100, **changes)


def watching(*queries: QueryRecord) -> tuple[ServerWatch, WrittenFacts, Time]:
    clock = Time()
    facts = WrittenFacts(queries_now=[("ann", each) for each in queries])
    return ServerWatch(facts, clock), facts, clock


def test_a_pace_is_what_grew_between_two_looks() -> None:
    rel = record("a")
    watch, _, clock = watching(rel)
    watch.look()
    assert watch.tokens_per_s("a") is None
    assert watch.pace(lambda look: look.usage.output_tokens) is None
    clock.now_s, rel.usage = 2.0, Usage(300, 100, 50)
    watch.look()
    assert watch.tokens_per_s("a") == 175.0
    assert watch.pace(lambda look: look.usage.output_tokens) == 25.0
    clock.now_s = 4.0
    watch.look()
    assert watch.tokens_per_s("a") == 87.5


def test_a_pace_forgets_what_is_long_past() -> None:
    rel = record("a")
    watch, _, clock = watching(rel)
    for second in range(40):
        clock.now_s = float(second)
        rel.usage = Usage(min(second, 20) * 10, 0, 0)
        watch.look()
    assert watch.tokens_per_s("a") == 0.0
    assert watch.pace(lambda look: look.usage.prompt_tokens) == 0.0


def test_totals_outlive_their_records() -> None:
    first, second = record("a"), record("b", state="done", num_rows_done=7, usage=Usage(5, 0, 1))
    watch, facts, clock = watching(first)
    for usage in (Usage(10, 0, 1), Usage(30, 8, 2)):
        first.usage = usage
        watch.look()
        clock.now_s += 1
    first.state, first.num_rows_done, first.num_failed = "done", 60, 40
    facts.queries_now.append(("ann", second))  # it came and ended between two looks
    watch.look()
    facts.queries_now.clear()
    clock.now_s += 1
    assert watch.look().usage == Usage(35, 8, 3)
    [(by, totals)] = watch.totals.items()
    assert by == ("ann", "tiny")
    assert (totals.relqueries, totals.rows, totals.failed) == (2, 67, 40)
    assert watch.tokens_per_s("a") is None


def test_a_look_just_after_another_is_the_same() -> None:
    watch, facts, clock = watching(record("a"))
    first = watch.look()
    facts.queries_now.clear()
    clock.now_s = 0.1
    assert watch.look() is first


def test_looking_for_a_day_keeps_ten_minutes() -> None:
    watch, facts, clock = watching()
    for second in range(5000):
        clock.now_s = float(second)
        facts.counters.statement_ended(0.004)
        watch.look()
    assert len(watch.steps) == NUM_STEPS + 1
    assert len(watch.looks) <= 12
    shown = status(watch, NOW, NOW)
    assert {step["statements_per_s"] for step in shown["series"]} == {1.0}
    assert max(step["ago_s"] for step in shown["series"]) <= 605
    assert shown["now"]["statements_per_s"] == 1.0
    assert (shown["now"]["half_within_s"], shown["now"]["nearly_all_within_s"]) == (0.005, 0.005)


def test_old_statements_say_nothing_of_latencies_now() -> None:
    watch, facts, clock = watching()
    for second in range(200):
        clock.now_s = float(second)
        facts.counters.statement_ended(20.0 if second < 100 else 0.02)
        watch.look()
    assert status(watch, NOW, NOW)["now"]["nearly_all_within_s"] == 0.025
    facts.counters.statement_ended(1e5)  # beyond the last bound
    for second in range(200, 300):
        clock.now_s = float(second)
        watch.look()
    assert status(watch, NOW, NOW)["now"]["half_within_s"] is None


def rel_status(rel_id: str, left_s: float | None, priority: float | None = 1.0) -> RelStatus:
    return RelStatus(rel_id, 10, 2, 0, "core running", priority, left_s, 3.0)


def test_a_relquery_ends_after_those_before_it() -> None:
    known = outlooks([engine(rel_status("a", 2.0), rel_status("b", 3.0), written_s=100.0)])
    assert [(each.place, each.left_s, each.end_s) for each in known.values()] == [
        (1, 2.0, 102.0),
        (2, 3.0, 105.0),
    ]


def test_what_has_ended_keeps_nobody_waiting() -> None:
    engines = [engine(rel_status("a", 2.0), rel_status("b", 3.0), written_s=100.0)]
    [(rel_id, outlook)] = outlooks(engines, {"a"}).items()
    assert (rel_id, outlook.place, outlook.end_s) == ("b", 1, 103.0)
    watch, facts, _ = watching(record("a", state="done"), record("b"))
    facts.engines_now = engines
    shown = status(watch, NOW, NOW)["relqueries"]
    assert [(each["rel_id"], each["place"]) for each in shown] == [("b", 1), ("a", None)]


def test_what_stock_tells_holds_for_all_together() -> None:
    found = outlooks([engine(rel_status("a", 2.0), rel_status("b", 3.0), written_s=100.0, variant="stock")])
    assert found["b"].end_s == 103.0


@pytest.mark.parametrize("left_s", [None, math.inf, math.nan, 1e300])
def test_no_end_is_made_up(left_s: float | None) -> None:
    watch, facts, _ = watching(record("a"), record("b"), record("c"))
    facts.engines_now = [engine(rel_status("a", left_s, math.inf), rel_status("b", 3.0))]
    shown = status(watch, NOW, NOW)["relqueries"]
    assert [each["rel_id"] for each in shown] == ["a", "b", "c"]
    assert [each["end"] for each in shown] == [None] * 3
    assert [each["phase"] for each in shown] == ["core running", "core running", None]


def test_relqueries_that_run_come_first_and_null_rows_are_done() -> None:
    ended = [record(f"e{i}", state="done", started=NOW + timedelta(seconds=i)) for i in range(30)]
    runs = record("r", num_null=5, num_rows_done=20, started=NOW - timedelta(days=1))
    watch, _, _ = watching(*ended, runs)
    shown = status(watch, NOW, NOW)["relqueries"]
    assert [each["rel_id"] for each in shown] == ["r", *(f"e{i}" for i in range(29, 21, -1))]
    assert shown[0]["done"] == 25


def test_failed_rows_stand_together_by_reason_without_their_prompts() -> None:
    def error(rel_id: str, second: int, message: str) -> ErrorRecord:
        failure = Failure(FailureKind.UNPARSABLE, message)
        return ErrorRecord(rel_id, "llm", failure, "a secret", 2, 1, NOW + timedelta(seconds=second))

    watch, facts, _ = watching()
    facts.errors_now = [
        ("ann", error("a", 1, "no")),
        ("bob", error("b", 3, "no")),
        ("ann", error("a", 2, "no")),
    ]
    shown = status(watch, NOW, NOW)["errors"]
    assert [(each["user"], each["rel_id"], each["rows"]) for each in shown] == [
        ("bob", "b", 2),
        ("ann", "a", 4),
    ]
    assert "secret" not in str(shown)
    facts.errors_now = [("ann", error(f"r{i}", i, f"message {i}")) for i in range(80)]
    assert [each["message"] for each in status(watch, NOW, NOW)["errors"]] == [
        f"message {i}" for i in range(79, 29, -1)
    ]
