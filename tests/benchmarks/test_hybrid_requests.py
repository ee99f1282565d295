"""Single requests for a real engine, and what became of them."""

from __future__ import annotations

import pytest

from benchmarks.effective.attainment import RequestRecord
from benchmarks.effective.lengths import RequestLengths
from benchmarks.effective.workload import TimedRequest
from benchmarks.hybrid.requests import CAP, latency_ms, records, requests, scaled, stretched

ARRIVALS = [TimedRequest(0.0, 5, 3), TimedRequest(2.0, 7, 2)]


def test_requests_are_of_their_lengths_and_name_no_relquery() -> None:
    made = requests(ARRIVALS, 1)
    assert [(len(each.rows[0].prompt), each.rows[0].output_tokens) for each in made] == [(5, 3), (7, 2)]
    assert {(each.output_cap, each.is_named) for each in made} == {(CAP, False)}
    assert len({each.rows[0].prompt for each in made + requests(ARRIVALS, 2)}) == 4
    assert made == requests(ARRIVALS, 1)


def test_an_output_over_the_cap_is_an_error() -> None:
    with pytest.raises(ValueError, match=f"{CAP + 1} tokens"):
        requests([TimedRequest(0.0, 5, CAP + 1)], 1)


def test_lengths_are_never_nothing() -> None:
    assert scaled([RequestLengths(100, 1)], 0.5) == [RequestLengths(50, 1)]
    assert scaled([RequestLengths(100, 1)], 0.1) == [RequestLengths(10, 1)]


def test_records_have_the_times_of_the_wanted_speed() -> None:
    trace = stretched(requests(ARRIVALS, 1), 1.5)
    found = records(trace, {"r0-0": [1.0, 2.0, 4.0], "r1-0": [5.0]}, 2.0)
    assert found == [RequestRecord(0.0, [2.0, 4.0, 8.0], True), RequestRecord(6.0, [10.0], False)]


def test_a_request_without_a_token_is_unfinished() -> None:
    assert records(requests(ARRIVALS, 1), {}, 1.0)[1] == RequestRecord(2.0, [], False)


def test_means_over_requests() -> None:
    found = latency_ms([RequestRecord(0.0, [1.0, 2.0, 4.0]), RequestRecord(6.0, [8.0])])
    assert found == {"ttft": 1500.0, "tbt": 1500.0, "end": 3000.0}
