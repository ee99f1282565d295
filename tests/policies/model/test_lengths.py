from __future__ import annotations

import json
import random
from typing import Any

import pytest

from relserve.policies.model.lengths import (
    MOST_TABLES,
    SHARED,
    CapLengths,
    LearntLengths,
    LengthLearner,
)


def nobody() -> list[tuple[int, int]]:
    return []


def saw(lengths: LearntLengths, outputs: list[int], cap: int = 1024) -> LearntLengths:
    for tokens in outputs:
        lengths.ended(tokens, tokens < cap)
    lengths.renew(-1, nobody)
    return lengths


def between(low: int, high: int, count: int, seed: int = 1) -> list[int]:
    rng = random.Random(seed)
    return [rng.randint(low, high) for _ in range(count)]


def test_what_a_kind_said_is_what_its_next_relquery_is_taken_to_say() -> None:
    learner = LengthLearner()
    saw(learner.of("a", 1024), between(25, 100, 200))
    later = learner.of("a", 1024)
    assert later.row == pytest.approx(62.5, rel=0.1)
    assert later.longest_left(0, 100) == pytest.approx(100, rel=0.15)
    assert later.expected_left[50] == pytest.approx(25, rel=0.25)


def test_an_unknown_kind_is_taken_to_be_like_the_others_and_no_other_drowns_them() -> None:
    learner = LengthLearner()
    saw(learner.of("long", 1024), [200] * 10_000)
    for kind in "abcdefg":
        saw(learner.of(kind, 1024), [5] * 64)
    assert learner.of("new", 1024).row < 60


def test_a_loose_cap_changes_nothing_once_rows_ended() -> None:
    rows = [saw(LengthLearner().of("a", cap), between(5, 30, 100)).row for cap in (64, 256, 1024, 10**6)]
    assert max(rows) / min(rows) < 1.1


def test_rows_that_go_on_say_that_they_are_long() -> None:
    """The first to end are the short ones; the others are not forgotten."""
    lengths = LengthLearner().of("a", 1024)
    lengths.ended(20, True)
    lengths.renew(20, lambda: [(20, 60)])
    assert lengths.row > 40
    lengths.renew(99, lambda: [(99, 55)])
    assert lengths.row > 120


def test_answers_that_become_ten_times_as_long_are_believed_after_a_few_dozen_rows() -> None:
    learner = LengthLearner()
    saw(learner.of("a", 4096), between(10, 30, 500))
    shifted = saw(learner.of("a", 4096), between(100, 300, 60))
    assert shifted.row == pytest.approx(200, rel=0.35)
    for _ in range(8):
        saw(learner.of("a", 4096), between(100, 300, 100))
    assert learner.of("a", 4096).row == pytest.approx(200, rel=0.2)


def test_rows_that_their_cap_cut_short_are_at_least_so_long() -> None:
    learner = LengthLearner()
    saw(learner.of("a", 50), [50] * 100, cap=50)
    assert learner.of("a", 50).row == pytest.approx(50, rel=0.05)
    assert learner.of("a", 500).row > 100


def test_nothing_is_longer_than_cap_and_type_allow_unless_rows_are() -> None:
    lengths = LengthLearner().of(None, 1000, likely=3)
    assert lengths.row <= 3
    assert lengths.longest_left(0, 1000) <= 3
    lengths.renew(3, lambda: [(3, 1)])
    assert lengths.row > 3
    assert lengths.longest_left(0, 1000) > 100
    lied = LengthLearner().of(None, 2)
    for tokens in (2, 6, 14, 400):
        lied.renew(tokens, lambda tokens=tokens: [(tokens, 1)])  # type: ignore[misc]
        assert lied.longest_left(tokens, 1) >= 1
    assert lied.row > 20


def test_the_published_policies_take_the_cap_until_a_row_exceeds_it() -> None:
    lengths = CapLengths(5)
    assert (lengths.row, lengths.expected_left[0], lengths.expected_left[4], lengths.longest_left(2, 9)) == (
        5.0,
        5,
        1,
        3.0,
    )
    lengths.renew(4, nobody)
    assert lengths.row == 5.0
    lengths.renew(5, nobody)
    assert (lengths.row, lengths.expected_left[5]) == (12.0, 7)


def test_what_is_left_is_never_below_a_token_nor_above_the_cap() -> None:
    rng = random.Random(3)
    learner = LengthLearner()
    for _ in range(200):
        cap = rng.choice([1, 2, 17, 300, 5000])
        lengths = learner.of(rng.choice(["a", "b", None]), cap, rng.choice([None, 1, 40]))
        for _ in range(rng.randrange(30)):
            lengths.ended(rng.randint(1, cap), rng.random() < 0.9)
        tokens = rng.randrange(cap)
        lengths.renew(tokens, lambda tokens=tokens: [(tokens, 2)])  # type: ignore[misc]
        assert 1 <= lengths.row <= cap
        assert all(1 <= left <= cap for left in lengths.expected_left)
        assert 1 <= lengths.longest_left(tokens, rng.randint(1, 10**6)) <= cap


def test_it_survives_the_disk() -> None:
    learner = LengthLearner()
    saw(learner.of("a", 1024), between(25, 100, 200))
    saw(learner.of("b", 1024), [7] * 20)
    learner.of("nothing ended", 10)
    text = json.dumps(learner.as_dict())
    read = LengthLearner.from_dict(json.loads(text))
    assert list(read.kinds) == ["a", "b"]
    for kind in ("a", "b", "new"):
        assert read.of(kind, 1024).row == pytest.approx(learner.of(kind, 1024).row, rel=0.05)


STRANGE = [{}, {"general": {}, "kinds": {}}, {"general": {"ends": {"1": -1}, "cuts": {}}, "kinds": {}}]


@pytest.mark.parametrize("bad", STRANGE)
def test_a_strange_file_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        LengthLearner.from_dict(bad)


def test_kinds_are_bounded() -> None:
    learner = LengthLearner()
    for number in range(3000):
        learner.of(str(number), 10).ended(3, True)
    assert len(learner.kinds) == 1024


@pytest.mark.parametrize("kind", [None, "a"])
def test_relqueries_that_come_at_once_begin_with_one_table(kind: str | None) -> None:
    learner = LengthLearner()
    saw(learner.of(kind, 4096), between(25, 100, 200))
    many = [learner.of(kind, 4096) for _ in range(SHARED)]
    assert {id(each.expected_left) for each in many} == {id(many[0].expected_left)}
    before = many[0].row
    saw(many[1], [900] * 50)
    assert many[1].row > 2 * before  # its own rows tell it, and whoever comes after it
    assert learner.of(kind, 4096).row > 1.2 * before
    assert many[0].row == before


def test_what_runs_is_told_to_those_that_come_soon() -> None:
    learner = LengthLearner()
    saw(learner.of("a", 4096), [20] * 50)
    before = learner.of("a", 4096).row
    learner.of("a", 4096).renew(900, lambda: [(900, 40)])
    assert [learner.of("a", 4096) for _ in range(SHARED + 1)][-1].row > 2 * before


def test_tables_of_many_caps_are_bounded() -> None:
    learner = LengthLearner()
    for cap in range(1, 3 * MOST_TABLES):
        lengths = learner.of(None, cap)
        lengths.renew(0, lambda: [(0, 1)])
        assert lengths.row <= cap
    assert len(learner._shared) == MOST_TABLES >= len(learner._of_one_row)


def test_relqueries_of_no_kind_share_what_their_only_row_shows() -> None:
    learner = LengthLearner()
    saw(learner.of("a", 1024), between(5, 30, 50))
    several = [learner.of(None, 100) for _ in range(3)]
    for lengths in several:
        lengths.renew(3, lambda: [(3, 1)])
    assert len({id(lengths.expected_left) for lengths in several}) == 1
    counted = learner.of(None, 100)
    counted.renew(3, lambda: [(3, 1), (3, 0)])  # in the way of several rows
    assert told(counted) == told(several[0])
    learner.general.add(20, True)
    late = learner.of(None, 100)
    late.renew(3, lambda: [(3, 1)])
    assert told(late) != told(several[0])


def told(lengths: LearntLengths) -> tuple[float, ...]:
    longest = [lengths.longest_left(tokens, 1) for tokens in (0, 3, 50)]
    return (lengths.row, lengths.seen, *longest, *lengths.expected_left)


def test_an_only_row_counts_for_its_kind_as_long_as_it_goes_on() -> None:
    learner = LengthLearner()
    saw(learner.of("a", 4096), [20] * 10)
    before = learner.of("a", 4096).row
    several = [learner.of("a", 4096) for _ in range(SHARED)]
    for lengths in several:
        lengths.renew(600, lambda: [(600, 1)])
        lengths.renew(900, lambda: [(900, 1)])
    assert learner.kinds["a"].alive.sum() == SHARED
    assert len({id(lengths.expected_left) for lengths in several}) == 1
    for _ in range(SHARED):
        learner.of("a", 4096)
    assert learner.of("a", 4096).row > 1.5 * before
    several[0].renew(2500, lambda: [(2500, 2)])  # another row of it runs, too
    assert learner.kinds["a"].alive.sum() == SHARED + 1
    for lengths in several:
        lengths.ended(900, True)
        lengths.rest()
    assert not learner.kinds["a"].alive.any()


@pytest.mark.parametrize("kind", [None, "a"])
def test_rows_of_a_relquery_that_run_one_by_one_teach_it(kind: str | None) -> None:
    learner = LengthLearner()
    lengths = learner.of(kind, 4096)
    for _ in range(12):
        lengths.renew(0, lambda: [(0, 1)])
        lengths.ended(400, True)
    lengths.renew(0, lambda: [(0, 1)])
    assert lengths.row == pytest.approx(400, rel=0.3)
    assert lengths.longest_left(0, 1) > 250


def test_rows_that_ended_are_counted_at_once_where_rows_run_side_by_side() -> None:
    lengths = LengthLearner().of("a", 1024)
    lengths.renew(70, lambda: [(70, 4)])
    for _ in range(1000):
        lengths.ended(100, True)
    assert lengths._ended == []
    assert lengths._own is not None
    assert lengths._own.num_ended == 1000


def test_the_longest_seen_is_no_shorter_than_what_its_own_row_gave() -> None:
    learner = LengthLearner()
    first, second = learner.of("a", 4096), learner.of("a", 4096)
    first.renew(515, lambda: [(515, 1)])
    second.renew(1000, lambda: [(1000, 1)])
    assert second.seen >= 1000


def test_a_shared_table_is_made_anew_when_as_many_rows_ended_as_a_kind_remembers() -> None:
    learner = LengthLearner()
    saw(learner.of("a", 4096), [20] * 20_000)
    early = learner.of("a", 4096)
    early.renew(1500, lambda: [(1500, 1)])
    saw(learner.of("a", 4096), between(1600, 3000, 1900))
    late = learner.of("a", 4096)
    late.renew(1500, lambda: [(1500, 1)])
    assert late.expected_left[1500] > 1.2 * early.expected_left[1500]
