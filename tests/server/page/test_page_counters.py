"""Counting connections and statements."""

from __future__ import annotations

import threading

from relserve.server.page.counters import BOUNDS_S, Counters


def test_a_statement_counts_in_the_bucket_of_its_seconds() -> None:
    counters = Counters()
    for seconds in (0.0, 0.001, 0.0011, 1800.0, 9999.0):
        counters.statement_ended(seconds, rows=2)
    counted = counters.read()
    assert counted.buckets[:2] == (2, 1)
    assert counted.buckets[-2:] == (1, 1)
    assert (counted.statements, counted.rows, counted.errors) == (5, 10, {})
    assert len(counted.buckets) == len(BOUNDS_S) + 1


def test_errors_count_by_sqlstate() -> None:
    counters = Counters()
    for sqlstate in ("42P01", "57014", "42P01", None):
        counters.statement_ended(0.1, sqlstate=sqlstate)
    assert counters.read().errors == {"42P01": 2, "57014": 1}


def test_threads_lose_nothing() -> None:
    counters = Counters()

    def work() -> None:
        for _ in range(1000):
            counters.connected()
            counters.refused()
            counters.statement_ended(0.5, rows=1, sqlstate="42601")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = counters.read()
    assert (counted.connections, counted.refused, counted.rows, counted.statements) == (8000,) * 4
    assert counted.errors == {"42601": 8000}
    assert counted.seconds == 4000.0
