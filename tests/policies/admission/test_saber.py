"""SABER's Algorithm 1, line by line."""

from __future__ import annotations

from relserve.policies.admission.saber import WINDOW, Saber
from tests.policies.admission.views import request, running, view

SABER = Saber("saber")


def test_who_would_be_too_slow_is_not_admitted() -> None:
    """Lines 8 to 11: 20 run already, the speed at 21 is 69 tokens a second."""
    inside = [running(f"r{i}") for i in range(20)]
    assert SABER.choose(view([request("able", 690, 10)], inside)).request is not None
    assert SABER.choose(view([request("unable", 700, 10)], inside)).request is None


def test_who_runs_is_not_slowed_below_the_speed_of_its_admission() -> None:
    inside = [running("held", needed_speed=99.0)]
    assert SABER.choose(view([request("new", 10, 10)], inside)).request is None
    assert SABER.choose(view([request("new", 10, 10)], [running("free", needed_speed=90.0)])).request


def test_waiting_makes_it_need_more_and_then_hopeless() -> None:
    """Section IV-C's example: 500 tokens in 10 s need 50 a second, after 5 s 100."""
    its = request("a", 500, 10)
    assert its.needed_speed(0) == 50
    assert its.needed_speed(5) == 100
    chosen = SABER.choose(view([its], now_s=6))
    assert chosen.request is its
    assert chosen.late


def test_the_low_queue_waits_for_the_high_one_to_be_empty() -> None:
    inside = [running(f"r{i}") for i in range(34)]
    hopeless, able = request("hopeless", 5000, 10), request("able", 900, 10)
    assert SABER.choose(view([hopeless, able], inside)).request is None
    assert SABER.choose(view([hopeless], inside)).request is hopeless


def test_only_the_first_of_the_queue_are_looked_at() -> None:
    inside = [running(f"r{i}") for i in range(34)]
    slow = [request(f"slow{i}", 900, 10) for i in range(WINDOW)]
    quick = request("quick", 10, 10)
    assert SABER.choose(view([*slow, quick], inside)).request is None
    assert SABER.choose(view([*slow[1:], quick], inside)).request is quick


def test_a_seed_repeats_its_choices() -> None:
    waiting = [request(f"w{i}", 10, 10) for i in range(5)]
    names = [[Saber("s", seed=seed).choose(view(waiting)).request for _ in range(3)] for seed in (1, 1)]
    assert names[0] == names[1]
