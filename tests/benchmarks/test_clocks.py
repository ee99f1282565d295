"""The clock that runs while a process computes."""

from __future__ import annotations

import sys
import time
import types

import pytest

from benchmarks.clocks import BusyClock, WallClock, lead


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


def test_modules_of_a_package_read_the_clock_that_leads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    led = types.ModuleType("led.steps")
    led.time = time  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, led.__name__, led)
    clock = BusyClock()
    lead("led", WallClock())
    assert led.time is time
    lead("led", clock)
    clock.wait(clock.now() + 1000)
    assert led.time.monotonic() == pytest.approx(clock.now(), abs=1)
    assert led.time.monotonic is not time.monotonic
    assert led.time.sleep is time.sleep
