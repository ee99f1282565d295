"""Lengths of time as users write them; what DuckDB reads of the same texts."""

from datetime import timedelta
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.call.durations import LONGEST_S, SHORTEST_S, seconds_of
from relserve.errors import OptionError

TEXTS = [
    "30", "30 s", "30s", "1.5 s", "2 minutes", "2 m", "1 hour 30 minutes", "1h30m", "00:00:30", "01:30:00.25",
    "1 day 02:00:00", "2 days", "500 ms", "200:00:00".replace("200", "100"), "0.001", " 7 days ",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_means_what_it_means_to_duckdb(text: str) -> None:
    found = duckdb.connect().execute("SELECT epoch(?::INTERVAL)", [text.strip()]).fetchone()
    assert found is not None
    assert seconds_of("deadline", text) == pytest.approx(found[0])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(30, 30), (0.5, 0.5), (timedelta(minutes=2), 120), (LONGEST_S, LONGEST_S), (SHORTEST_S, SHORTEST_S)],
)
def test_numbers_are_seconds_and_timedeltas_are_taken(value: Any, seconds: float) -> None:
    assert seconds_of("deadline", value) == seconds


@pytest.mark.parametrize(
    "value", [0, -1, "-3 s", "0 s", 1e300, float("inf"), "8 days", "1 month", "-00:00:03"]
)
def test_what_is_too_short_or_too_long_says_the_range(value: Any) -> None:
    with pytest.raises(
        OptionError, match=r"deadline must be from 0\.001 seconds to 7 days, as in 30, '30 s' or"
    ):
        seconds_of("deadline", value)


@pytest.mark.parametrize(
    "value", [True, None, float("nan"), [3], "", " ", "soon", "30 parsecs", "1:2", "99:99:99", "NaN", "1 s !"]
)
def test_what_is_no_length_of_time_says_what_is_one(value: Any) -> None:
    with pytest.raises(OptionError, match="deadline must be a length of time, in seconds or as in"):
        seconds_of("deadline", value)


@given(st.text(max_size=20))
def test_any_text_is_a_length_of_time_or_refused(text: str) -> None:
    try:
        assert SHORTEST_S <= seconds_of("deadline", text) <= LONGEST_S
    except OptionError:
        return
