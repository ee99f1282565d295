"""The clock that runs while a process computes."""

from __future__ import annotations

import time

from benchmarks.clocks import BusyClock, WallClock


def test_sleep_is_no_busy_time_and_waiting_costs_none() -> None:
    clock = BusyClock()
    began_s = clock.now()
    time.sleep(0.05)
    assert clock.now() - began_s < 0.04
    wall_s = time.perf_counter()
    clock.wait(began_s + 1000)
    assert time.perf_counter() - wall_s < 100
    assert 0 <= clock.now() - (began_s + 1000) < 0.04
    clock.wait(began_s)
    assert clock.now() >= began_s + 1000


def test_computing_is_busy_time() -> None:
    clock = BusyClock()
    began_s = clock.now()
    while clock.now() - began_s < 0.01:
        pass
    assert time.process_time() >= 0.01


def test_the_wall_clock_never_waits_past_its_time() -> None:
    clock = WallClock()
    began_s = clock.now()
    clock.wait(began_s - 1)
    assert clock.now() - began_s < 1
