"""Means by key: what is forgotten, and what is taken of a key that is new."""

from __future__ import annotations

import pytest

from relserve.policies.model.means import MOST_KEYS, KeyedMeans, RecentMean


def test_a_mean_is_that_of_all_values_and_later_of_the_latest() -> None:
    means = KeyedMeans(memory=10)
    for value in (1.0, 2.0, 6.0):
        means.add("a", value)
    assert means.of("a") == pytest.approx(3.0)
    for _ in range(40):
        means.add("a", 100.0)
    assert 95 < (means.of("a") or 0) < 100


def test_keys_do_not_mix_and_a_new_one_is_taken_for_all_of_them() -> None:
    means = KeyedMeans(memory=10)
    assert means.of("a") is None
    means.add("a", 10.0)
    means.add("b", 0.1 + 0.2)
    assert (means.of("a"), means.of("b")) == (10.0, 0.1 + 0.2)  # nothing of a is in b
    assert means.of("c") == pytest.approx(5.15)


def test_the_first_values_of_a_key_are_averaged_with_what_is_known_of_all() -> None:
    means = KeyedMeans(memory=20, like_all=4)
    for _ in range(100):
        means.add("usual", 100.0)
    means.add("new", 10.0)
    assert means.of("new") == 82.0
    for _ in range(15):
        means.add("new", 10.0)
    assert (means.of("new") or 0) < 30


def test_a_prior_is_what_is_known_before_the_first_value() -> None:
    means = KeyedMeans(memory=50, like_all=1, prior=RecentMean(128.0, 1))
    assert means.of("a") == 128.0
    means.add("a", 2.0)
    assert means.of("a") == 65.0
    for _ in range(300):
        means.add("a", 2.0)
    assert means.of("a") == pytest.approx(2.0, rel=0.01)  # it fades like any value


def test_of_many_keys_the_one_that_had_no_value_for_longest_is_forgotten() -> None:
    means = KeyedMeans(memory=256, most=2)
    for key in ("a", "b", "a", "c"):
        means.add(key, ord(key))
    assert len(means) == 2
    assert means.of("a") == ord("a")
    assert means.of("b") == means.of("never seen") == 97.75  # the mean of all four
    for number in range(2 * MOST_KEYS):
        means.add(str(number), 3.0)
    assert len(means) == 2
