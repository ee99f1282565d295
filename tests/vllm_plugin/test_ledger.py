"""The ledger against a plain recount, for any order of events."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from relserve.call.rel_tag import RelTag
from relserve.policies.model.lengths import LengthLearner
from relserve.vllm_plugin.ledger import AT_FIRST, FOR_EACH, MOST_IDLE, RowLedger
from tests.vllm_plugin.fake_request import request as row_of

EVENTS = ("arrive", "schedule", "preempt", "token", "finish", "abort", "look")
SAID = (1, 2, 3, 40, 10**7)  # of rows and caps: too few, too many, and absurd
steps = st.lists(
    st.tuples(st.sampled_from(EVENTS), st.integers(0, 11), st.sampled_from(SAID), st.sampled_from(SAID)),
    max_size=80,
)  # what, which request, rows and cap that it tells; a request's relQuery is its number modulo 4


@given(steps, st.sampled_from([2.0, 60.0]), st.booleans())
def test_counts_agree_with_a_recount(events, linger_s, learns):
    ledger = RowLedger(linger_s=linger_s)
    if learns:
        ledger.lengths_of = LengthLearner().of
    state: dict[str, str] = {}
    requests: dict[str, Any] = {}
    for now, (event, request, rows, cap) in enumerate(events):
        rid = str(request)
        if event == "arrive":
            tag = RelTag(f"rel{request % 4}", rows, cap, kind=f"kind {request % 2}")
            requests.setdefault(rid, row_of(rid, max_tokens=10**7))
            ledger.arrive(requests[rid], tag, float(now))
            state.setdefault(rid, "waiting")
        elif event == "schedule":
            ledger.run([rid], float(now))
            state.update({rid: "running"} if rid in state else {})
        elif event == "preempt":
            ledger.wait(requests.get(rid, row_of(rid)))
            state.update({rid: "waiting"} if rid in state else {})
        elif event == "token":
            ledger.token(rid, float(now))
            if state.get(rid) == "running":
                requests[rid].is_prefill_chunk = False
                requests[rid].num_output_tokens += 3
        elif event == "look":
            ledger.news()
            check_outputs(ledger)
        else:
            ledger.end(rid, float(now), aborted=event == "abort")
            state.pop(rid, None)
            requests.pop(rid, None)
        check(ledger, state)


def of(rid: str) -> str:
    return f"rel{int(rid) % 4}"


def check(ledger: RowLedger, state: dict[str, str]) -> None:
    assert len(ledger) == len(state)
    assert {of(rid) for rid in state} <= set(ledger.active)
    for rel in ledger.active.values():
        mine = [s for rid, s in state.items() if of(rid) == rel.rel_id]
        assert (rel.num_waiting, rel.num_running) == (mine.count("waiting"), mine.count("running"))
        assert rel.num_arrived == rel.num_resident + rel.num_finished + rel.num_aborted
        most = AT_FIRST + FOR_EACH * rel.num_arrived if mine else 0  # believed to be on the way
        assert rel.num_rows == min(rel.num_announced, rel.num_arrived + most)
        assert rel.num_announced >= rel.num_arrived
        assert rel.waiting_tokens == 10 * rel.num_waiting
        assert set(rel.running) == {rid for rid in state if state[rid] == "running" and of(rid) == rel.rel_id}


def check_outputs(ledger: RowLedger) -> None:
    """What rows have still to give is a number of tokens, and no cap stands that a row has exceeded."""
    for rel in ledger.active.values():
        given = [r.num_output_tokens for r in rel.running.values() if not r.is_prefill_chunk]
        assert rel.num_decoding == len(given)
        assert rel.output_cap > max(given, default=0)
        assert len(given) <= rel.sum_decode_left < 1e12
        assert (rel.max_decode_left >= 1) == bool(given)
        assert 1 <= min(rel.row_output, rel.longest_output)
        assert max(rel.row_output, rel.longest_output) < 1e12


def test_rows_that_come_run_wait_again_and_end_are_counted():
    ledger = RowLedger()
    for rid, now in (("a", 1.0), ("b", 1.5)):
        ledger.arrive(row_of(rid), RelTag("r", 2, 4), now)
    rel = ledger.active["r"]
    ledger.run(["a"], 2.0)
    ledger.token("a", 3.0)
    ledger.wait(row_of("a"))
    assert (rel.first_scheduled_s, rel.num_running, rel.num_waiting, rel.num_past_core) == (2.0, 0, 2, 1)
    ledger.run(["b", "a"], 4.0)
    ledger.token("b", 5.0)
    ledger.token("a", 6.5)
    assert (rel.first_scheduled_s, rel.num_running, rel.num_waiting, rel.num_past_core) == (2.0, 2, 0, 2)
    ledger.end("a", 6.5)
    ledger.end("b", 8.0)
    assert (rel.num_finished, rel.num_aborted, rel.num_resident, rel.output_cap) == (2, 0, 0, 4)
    assert not ledger.active


@pytest.mark.long
def test_nothing_leaks_over_many_relqueries():
    ledger = RowLedger()
    for i in range(100_000):
        rid = str(i)
        ledger.arrive(row_of(rid), RelTag(f"rel{i}", 1, 4), float(i))
        if i % 3:
            ledger.run([rid], float(i))
            ledger.token(rid, float(i))
        ledger.end(rid, float(i), aborted=i % 5 == 0)
    assert len(ledger) == 0
    assert not ledger.active
    assert told(ledger) == ([], [])  # nobody asked before: with the variant "stock" nobody ever does


def test_announced_rows_that_never_come_are_waited_for_and_then_forgotten():
    ledger = RowLedger(linger_s=60)
    ledger.arrive(row_of("a"), RelTag("slow", 5, 4), 0.0)
    ledger.end("a", 1.0)
    assert "slow" in ledger.active
    ledger.arrive(row_of("b"), RelTag("slow", 5, 4), 30.0)  # a straggler keeps it
    ledger.end("b", 31.0)
    ledger.arrive(row_of("c"), RelTag("other", 2, 4), 80.0)
    ledger.end("c", 80.0)
    assert set(ledger.active) == {"slow", "other"}
    ledger.arrive(row_of("d"), RelTag("third", 2, 4), 95.0)
    ledger.end("d", 95.0)
    assert set(ledger.active) == {"other", "third"}
    ledger.arrive(row_of("e"), RelTag("long", 2, 4), 300.0)
    assert set(ledger.active) == {"long"}  # also while nothing ends


def test_an_aborted_relquery_is_forgotten_at_once():
    ledger = RowLedger()
    for rid in "abc":
        ledger.arrive(row_of(rid), RelTag("r", 10, 4), 0.0)
    rel = ledger.active["r"]
    for rid in "abc":
        ledger.end(rid, 1.0, aborted=True)
    assert not ledger.active
    assert rel.num_aborted == 3


def told(ledger: RowLedger) -> tuple[list[str], list[str]]:
    news = ledger.news()
    return [rel.rel_id for rel in news.changed], list(news.gone)


def test_news_tell_of_each_event_once_and_always_of_what_runs():
    ledger, a, b = RowLedger(), row_of("a"), row_of("b")
    ledger.arrive(a, RelTag("x", 1, 4), 0.0)
    ledger.arrive(b, RelTag("y", 1, 4), 0.0)
    assert told(ledger) == (["x", "y"], [])
    assert told(ledger) == ([], [])
    ledger.run(["a"], 1.0)
    assert told(ledger) == told(ledger) == (["x"], [])
    ledger.wait(a)
    assert told(ledger) == (["x"], [])
    assert told(ledger) == ([], [])
    ledger.end("b", 2.0)
    assert told(ledger) == ([], ["y"])


def test_a_relquery_that_came_and_went_between_two_news_is_not_told_of():
    ledger = RowLedger()
    ledger.arrive(row_of("a"), RelTag("x", 1, 4), 0.0)
    ledger.end("a", 1.0)
    assert told(ledger) == ([], [])
    ledger.arrive(row_of("b"), RelTag("x", 1, 4), 2.0)
    assert told(ledger) == (["x"], [])


def test_what_running_rows_have_left_is_read_from_the_requests():
    ledger, rows = RowLedger(), [row_of(name, 100, max_tokens=9) for name in "abc"]
    for row in rows:
        ledger.arrive(row, RelTag("r", 3, 5), 0.0)
    ledger.run("abc", 1.0)
    rows[0].num_computed_tokens = 30
    for row, said in zip(rows[1:], (2, 4), strict=True):
        row.is_prefill_chunk, row.num_output_tokens = False, said
    ledger.news()
    rel = ledger.active["r"]
    assert (rel.num_running, rel.num_decoding, rel.prefill_left) == (3, 2, 70)
    assert (rel.max_decode_left, rel.sum_decode_left) == (3, 4)  # by the relQuery's cap, and at least one
    for row in rows[1:]:
        ledger.wait(row)
    ledger.end("a", 2.0)
    ledger.news()
    assert (rel.num_running, rel.num_decoding, rel.prefill_left) == (0, 0, 0)
    assert (rel.max_decode_left, rel.sum_decode_left) == (0, 0)


def test_rows_beyond_those_announced_are_counted():
    """A list of prompts over HTTP announces one row, and its rows may come over several steps."""
    ledger = RowLedger()
    for identity in (RelTag("announced", 3, 5), RelTag("listed", 1, 5)):
        for i in range(2):
            ledger.arrive(row_of(f"{identity.rel_id}-{i}"), identity, 0.1 * i)
    counts = {name: (rel.num_unannounced, rel.num_rows) for name, rel in ledger.active.items()}
    assert counts == {"announced": (0, 3), "listed": (1, 2)}


def arrive(ledger: RowLedger, rel_id: str, announced: int, count: int, now_s: float = 0.0) -> list[str]:
    first = len(ledger)
    names = [f"{rel_id}-{first + i}" for i in range(count)]
    for name in names:
        ledger.arrive(row_of(name), RelTag(rel_id, announced, 4), now_s)
    return names


def test_rows_that_are_announced_are_believed_as_far_as_others_came():
    ledger = RowLedger()
    arrive(ledger, "honest", 100, 1)
    rel = ledger.active["honest"]
    assert rel.num_rows == 1 + AT_FIRST + FOR_EACH
    arrive(ledger, "honest", 100, 19)
    assert (rel.num_rows, rel.num_unseen) == (100, 80)
    seen = rel.num_unannounced
    arrive(ledger, "honest", 100, 80)
    assert (rel.num_rows, rel.num_unannounced) == (100, seen)
    arrive(ledger, "liar", 10**7, 50)
    assert ledger.active["liar"].num_unseen == AT_FIRST + 50 * FOR_EACH


def test_rows_of_which_nothing_is_to_be_seen_are_not_reckoned_with():
    """Between two rounds: whoever comes meanwhile is not told to wait for them."""
    ledger = RowLedger()
    for name in arrive(ledger, "r", 30, 10):
        ledger.end(name, 1.0)
    rel = ledger.active["r"]
    assert (rel.num_unseen, rel.num_announced) == (0, 30)
    assert told(ledger)[0] == ["r"]
    seen = rel.num_unannounced
    arrive(ledger, "r", 30, 10, now_s=2.0)
    assert (rel.num_unseen, rel.num_unannounced) == (10, seen + 1)


def test_what_idle_relqueries_take_is_bounded():
    ledger = RowLedger()
    for number in range(3 * MOST_IDLE):
        (name,) = arrive(ledger, f"liar {number}", 10**7, 1)
        ledger.end(name, 0.0)
    assert len(ledger.active) == MOST_IDLE
    assert f"liar {3 * MOST_IDLE - 1}" in ledger.active


def test_a_cap_that_a_row_exceeds_is_given_up():
    ledger, row = RowLedger(), row_of("a", max_tokens=1000)
    ledger.arrive(row, RelTag("r", 1, 3), 0.0)
    ledger.run(["a"], 1.0)
    rel, row.is_prefill_chunk = ledger.active["r"], False
    left = []
    for row.num_output_tokens in (1, 2, 3, 50, 700):
        ledger.news()
        left.append(rel.max_decode_left)
    assert left[:2] == [2, 1]
    assert min(left[2:]) > 1
    assert 700 < rel.output_cap <= 2 * 701


def test_rows_that_left_or_wait_again_show_nothing_more_of_their_kind_and_who_left_has_no_new_table():
    ledger, learner = RowLedger(), LengthLearner()
    ledger.lengths_of = learner.of
    answered, aborted, preempted = rows = [row_of(rid, max_tokens=100) for rid in "abc"]
    for row in rows:
        ledger.arrive(row, RelTag(f"rel {row.request_id}", 1, 100, kind="k"), 0.0)
        row.is_prefill_chunk, row.num_output_tokens = False, 5
    ledger.run("abc", 0.0)
    ledger.news()
    assert learner.kinds["k"].alive.sum() == 3
    left = [ledger.active["rel a"].lengths, ledger.active["rel b"].lengths]
    tables = [lengths.expected_left for lengths in left]
    ledger.end(answered.request_id, 1.0)
    ledger.end(aborted.request_id, 1.0, aborted=True)
    assert learner.kinds["k"].alive.sum() == 1
    assert all(lengths.expected_left is table for lengths, table in zip(left, tables, strict=True))
    ledger.wait(preempted)
    assert learner.kinds["k"].alive.sum() == 0
    assert ledger.active["rel c"].max_decode_left == 0
