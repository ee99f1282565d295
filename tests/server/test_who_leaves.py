"""Who has to go for one more client that has not logged in."""

from __future__ import annotations

from typing import NamedTuple

from relserve.server.places import who_leaves


class Waits(NamedTuple):
    number: int
    network: str


def test_who_opens_sockets_at_speed_shuts_out_their_own() -> None:
    here = [Waits(0, "a"), *(Waits(number, "b") for number in (1, 2, 3)), Waits(4, "a")]
    left = []
    while here:
        left.append(who_leaves(here))
        here.remove(left[-1])
    assert [each.number for each in left] == [1, 0, 2, 3, 4]


def test_who_comes_with_many_at_one_go_is_not_the_first_to_go() -> None:
    old = [Waits(0, "a"), Waits(1, "b"), Waits(2, "b")]
    unknown = [Waits(number, "") for number in range(3, 9)]
    assert who_leaves([*old, *unknown]).number == 1
    assert who_leaves(unknown).number == 3
