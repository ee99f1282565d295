"""How much of a relQuery goes to whom, and what is asked twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.dispatch.instalments import (
    LEAST_ROWS,
    UNKNOWN_S,
    Pace,
    groups,
    num_again,
    num_shared,
    size,
)
from relserve.policies.dispatch.router import Asked, Router
from relserve.policies.dispatch.variants import NAMES, make
from tests.policies.dispatch.fleets import FAST, SLOW, fleet


def paced(rows: int, every_s: float, until_s: float, out: int = 0) -> Pace:
    """A member that answers so many rows at a time, and has `out` left."""
    pace, now_s = Pace(), 0.0
    while now_s < until_s:
        pace.sent(rows, now_s)
        now_s += every_s
        pace.came(rows, every_s, now_s)
    pace.sent(out, now_s)
    return pace


def test_a_speed_is_that_of_late_and_fades_with_silence_over_rows() -> None:
    pace = paced(10, 0.1, 4.0)
    assert pace.rate(4.0) == pytest.approx(100, rel=0.01)
    assert pace.rate(9.0) == pytest.approx(100, rel=0.01)  # it has nothing to answer
    pace.sent(5, 4.0)
    assert pace.rate(5.0) < 70
    assert pace.rate(8.0) < 15
    assert Pace().rate(1.0) == 0.0


def test_room_follows_the_speed_that_was_shown() -> None:
    assert Pace().room(64, 0.0) == 64
    quick, slow = paced(10, 0.1, 4.0), paced(10, 1.0, 8.0)
    assert quick.room(64, 4.0) == pytest.approx(100 * (0.1 + 0.5), rel=0.05)
    assert slow.room(64, 8.0) == LEAST_ROWS
    quick.sent(60, 4.0)
    assert quick.room(64, 4.0) <= 1


def test_instalments_shrink_as_the_rest_does() -> None:
    rest, sizes = 1000, []
    while rest:
        sizes.append(size(rest, 10_000, 0.5))
        rest -= sizes[-1]
    assert sizes[0] == 250
    assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
    assert min(sizes[:-1]) >= LEAST_ROWS
    assert size(1000, 3, 0.5) == 0
    assert size(2, 3, 0.5) == 2
    assert size(10, 64, 0.01) == 10


@given(st.integers(1, 10**6), st.integers(-50, 10**5), st.floats(0, 1))
def test_an_instalment_is_never_more_than_there_is_or_fits(rest: int, room: int, share: float) -> None:
    assert 0 <= size(rest, room, share) <= max(min(rest, room), 0)


def test_rows_are_asked_twice_where_that_is_much_quicker() -> None:
    quick = paced(10, 0.1, 4.0)
    assert num_again(paced(10, 0.1, 4.0, out=5), quick, 5, 4.0, 0.1) == 0  # as quick
    assert num_again(paced(10, 1.0, 4.0, out=30), quick, 30, 4.0, 0.1) == pytest.approx(28, abs=1)
    frozen = paced(10, 0.1, 4.0, out=20)
    assert num_again(frozen, quick, 20, 4.1, 0.1) == 0
    assert num_again(frozen, quick, 20, 6.0, 0.1) > 10
    mute = Pace()
    mute.sent(1, 0.0)
    assert num_again(mute, Pace(), 1, 1.5, UNKNOWN_S) == 0
    assert num_again(mute, Pace(), 1, 1.7, UNKNOWN_S) == 1


def test_rows_with_a_long_common_beginning_are_groups() -> None:
    a, b = "x" * 100, "y" * 100
    prompts = ["T: " + text for text in (a + "1", b + "1", a + "2", "z", b + "2")]
    assert groups(prompts, range(5)) == [[0, 2], [1, 4], [3]]
    assert groups(prompts, [4, 1]) == [[1], [4]]  # what all share makes no group
    assert groups(prompts, [3]) == [[3]]
    assert groups([], []) == []
    assert (num_shared("abc", "abd"), num_shared("ab", "abc"), num_shared("", "a")) == (2, 2, 0)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_chooses_among_those_that_are_named(name: str) -> None:
    router = Router(make(name), fleet(FAST, SLOW, FAST))
    found = {router.choose(Asked(str(i), 100, session=str(i)), 0.1, ["m1", "m2"]) for i in range(20)}
    assert found <= {"m1", "m2"}
    number = router.put([Asked("x", 100)], "m1", 0.2)
    assert router.open["x"].member == "m1"
    assert router.members["unanswered"].tolist() == [0, 1, 0]
    assert router.put([Asked("y", 100), Asked("w", 9)], "m0", 0.3) > number
    with pytest.raises(ValueError, match="no member"):
        router.choose(Asked("z", 100), 0.1, ["m9"])
