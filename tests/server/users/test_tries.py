"""Budgets of wrong passwords, on a clock that a test sets."""

from __future__ import annotations

import pytest

from relserve.server.users import tries
from relserve.server.users.tries import OF_ADDRESS, OF_KNOWN, OF_USER, Tries, network_of

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def made(clock: Clock) -> Tries:
    return Tries(clock)


def guess(made: Tries, count: int, address: str = HERE, user: str = "ann") -> None:
    for number in range(count):
        made.wrong(address.format(number), user.format(number))


def test_an_address_has_so_many_tries_over_all_users(made: Tries, clock: Clock) -> None:
    guess(made, OF_ADDRESS.most - 1, user="user {}")
    assert made.wait_s(HERE, "bob") == 0
    guess(made, 1)
    assert made.wait_s(HERE, "bob") == OF_ADDRESS.every_s
    assert made.wait_s(THERE, "bob") == 0
    clock.now_s += OF_ADDRESS.every_s
    assert made.wait_s(HERE, "bob") == 0
    guess(made, 1)
    assert made.wait_s(HERE, "bob") == OF_ADDRESS.every_s


def test_a_user_has_so_many_tries_over_all_addresses(made: Tries, clock: Clock) -> None:
    guess(made, OF_USER.most, address="198.51.100.{}")
    assert made.wait_s(HERE, "ann") == OF_USER.every_s
    assert made.wait_s(HERE, "bob") == 0
    clock.now_s += OF_USER.every_s * OF_USER.most
    guess(made, OF_USER.most - 1, address="203.0.113.{}")
    assert made.wait_s(HERE, "ann") == 0


def test_who_is_known_at_an_address_is_shut_out_by_nobody_else(made: Tries, clock: Clock) -> None:
    made.right(HERE, "ann")
    guess(made, OF_USER.most, address="198.51.100.{}")
    guess(made, OF_ADDRESS.most, user="user {}")
    assert made.wait_s(HERE, "ann") == 0
    assert made.wait_s(HERE, "bob") > 0
    assert made.wait_s(THERE, "ann") > 0
    guess(made, OF_KNOWN.most)
    assert made.wait_s(HERE, "ann") == OF_KNOWN.every_s
    clock.now_s += OF_KNOWN.every_s
    assert made.wait_s(HERE, "ann") == 0


def test_many_names_wipe_out_no_budget(made: Tries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "MOST_REMEMBERED", 10)
    guess(made, OF_USER.most, address="198.51.100.{}")
    guess(made, 200, address="203.0.113.{}", user="x{}")
    assert made.wait_s(HERE, "ann") > 0


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [
        ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
        ("2001:db8::1", "2001:db8:0:0:ffff::2", "2001:db8:0:1::1"),
        ("::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2"),
        ("fe80::1%eth0", "fe80::2%eth1", "fe81::1"),
        ("local", "local", "elsewhere"),
    ],
)
def test_whose_an_address_is(address: str, same: str, other: str) -> None:
    assert network_of(address) == network_of(same) != network_of(other)
