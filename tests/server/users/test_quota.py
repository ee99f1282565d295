"""Tokens of the last minute, hour and day."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.server.users.quota import DAY, HOUR, MINUTE, Quota


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_tokens_leave_after_an_hour():
    clock = Clock()
    quota = Quota(clock)
    quota.add("ann", 5)
    clock.now = 1800.0
    quota.add("ann", 7)
    assert quota.used("ann") == 12
    clock.now = HOUR.seconds + HOUR.slice_s
    assert quota.used("ann") == 7
    clock.now = 2 * HOUR.seconds
    assert quota.used("ann") == 0


@pytest.mark.parametrize(("limit", "wait_s"), [(20, 0), (12, 0), (11, 3610 - 1800), (5, 3610), (0, math.inf)])
def test_how_long_to_wait(limit, wait_s):
    clock = Clock()
    quota = Quota(clock)
    quota.add("ann", 6)
    clock.now = 1800.0
    quota.add("ann", 5)
    assert quota.wait_s("ann", limit) == wait_s


def test_nobody_else_pays():
    quota = Quota(Clock())
    quota.add("ann", 6)
    assert (quota.used("bob"), quota.wait_s("bob", 1)) == (0, 0)


events = st.lists(st.tuples(st.floats(0, 3000), st.integers(0, 1000)), max_size=30)


@given(events, st.integers(1, 3000), st.sampled_from([MINUTE, HOUR, DAY]))
def test_after_the_wait_there_is_room_and_never_before(events, limit, window):
    clock = Clock()
    quota = Quota(clock)
    log = []
    for pause, tokens in events:
        clock.now += pause
        quota.add("ann", tokens)
        log.append((clock.now, tokens))
    exact = sum(tokens for at, tokens in log if at > clock.now - window.seconds)
    assert exact <= quota.used("ann", window)  # never too few
    wait_s = quota.wait_s("ann", limit, window)
    clock.now += wait_s
    assert quota.wait_s("ann", limit, window) == 0 or wait_s == pytest.approx(0, abs=1e-6)


def test_few_numbers_are_kept_however_often_tokens_are_used():
    clock = Clock()
    quota = Quota(clock)
    for _ in range(100_000):
        clock.now += 0.1
        quota.add("ann", 1)
    assert sum(map(len, quota._slices.values())) <= 3 * (HOUR.seconds / HOUR.slice_s + 2)
    assert quota.used("ann") == pytest.approx(36_000, abs=200)
