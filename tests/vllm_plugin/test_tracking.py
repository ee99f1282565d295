"""The tracker against a plain recount, for any order of events."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from relserve.vllm_plugin.identity import Identity
from relserve.vllm_plugin.tracking import Tracker

EVENTS = ("arrive", "schedule", "preempt", "token", "finish", "abort")
steps = st.lists(
    st.tuples(st.sampled_from(EVENTS), st.integers(0, 11), st.integers(0, 3)), max_size=80
)  # what, which request; a request's relQuery is its number modulo 4


@given(steps, st.integers(1, 3))
def test_counts_agree_with_a_recount(events, rows):
    tracker = Tracker()
    state: dict[str, str] = {}
    for now, (event, request, _) in enumerate(events):
        rid = str(request)
        if event == "arrive":
            tracker.arrive(rid, Identity(f"rel{request % 4}", rows, 5), float(now))
            state.setdefault(rid, "waiting")
        elif event == "schedule":
            tracker.schedule([rid], float(now))
            state.update({rid: "running"} if rid in state else {})
        elif event == "preempt":
            tracker.preempt([rid])
            state.update({rid: "waiting"} if rid in state else {})
        elif event == "token":
            tracker.token(rid, float(now))
        else:
            tracker.end(rid, float(now), aborted=event == "abort")
            state.pop(rid, None)
        check(tracker, state)


def check(tracker: Tracker, state: dict[str, str]) -> None:
    assert len(tracker) == len(state)
    assert {f"rel{int(rid) % 4}" for rid in state} <= set(tracker.active)
    for rel in tracker.active.values():
        mine = [s for rid, s in state.items() if f"rel{int(rid) % 4}" == rel.rel_id]
        assert (rel.waiting, rel.running) == (mine.count("waiting"), mine.count("running"))
        assert rel.arrived == rel.resident + rel.finished + rel.aborted
        assert rel.rows_expected >= rel.arrived
        if rel.phases is not None:
            assert min(rel.phases) >= 0
    for rel in tracker.done:
        assert rel.resident == 0


def test_phases_of_two_rows():
    tracker = Tracker()
    for rid, now in (("a", 1.0), ("b", 1.5)):
        tracker.arrive(rid, Identity("r", 2, 4), now)
    assert tracker.active["r"].phases is None
    tracker.schedule(["a"], 2.0)
    tracker.token("a", 3.0)
    tracker.preempt(["a"])
    tracker.schedule(["b", "a"], 4.0)
    tracker.token("b", 5.0)
    tracker.token("a", 6.5)
    tracker.end("a", 6.5)
    tracker.token("b", 8.0)
    tracker.end("b", 8.0)
    (rel,) = tracker.done
    assert rel.phases == (1.0, 3.0, 3.0)
    assert (rel.finished, rel.aborted, rel.output_cap) == (2, 0, 4)


def test_nothing_leaks_over_many_relqueries():
    tracker = Tracker(kept=10)
    for i in range(100_000):
        rid = str(i)
        tracker.arrive(rid, Identity(f"rel{i}", 1, 4), float(i))
        if i % 3:
            tracker.schedule([rid], float(i))
            tracker.token(rid, float(i))
        tracker.end(rid, float(i), aborted=i % 5 == 0)
    assert len(tracker) == 0
    assert not tracker.active
    assert len(tracker.done) == 10


def test_announced_rows_that_never_come_are_waited_for_and_then_forgotten():
    tracker = Tracker(linger_s=60)
    tracker.arrive("a", Identity("slow", 5, 4), 0.0)
    tracker.end("a", 1.0)
    assert "slow" in tracker.active
    tracker.arrive("b", Identity("slow", 5, 4), 30.0)  # a straggler keeps it
    tracker.end("b", 31.0)
    tracker.arrive("c", Identity("other", 2, 4), 80.0)
    tracker.end("c", 80.0)
    assert set(tracker.active) == {"slow", "other"}
    tracker.arrive("d", Identity("third", 2, 4), 95.0)
    tracker.end("d", 95.0)
    assert set(tracker.active) == {"other", "third"}
    assert [rel.rel_id for rel in tracker.done] == ["slow"]
    tracker.arrive("e", Identity("long", 2, 4), 300.0)
    assert set(tracker.active) == {"long"}  # also while nothing ends


def test_an_aborted_relquery_is_forgotten_at_once():
    tracker = Tracker()
    for rid in "abc":
        tracker.arrive(rid, Identity("r", 10, 4), 0.0)
    for rid in "abc":
        tracker.end(rid, 1.0, aborted=True)
    assert not tracker.active
    assert tracker.done[0].aborted == 3
