"""The options of text2sql(): checked, with what is allowed in the message."""

import math
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from relserve_duckdb.text.question_options import options_of

from relserve.errors import OptionError
from relserve.text2sql.guard.limits import DEFAULT, NONE, StatementLimits
from relserve.text2sql.options import EFFORTS, Text2SqlOptions


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"effort": "high"}, "effort must be one of 'quick', 'standard', 'thorough', not 'high'"),
        ({"candidates": 0}, "candidates must be from 1 to 5, not 0"),
        ({"candidates": 2.5}, "candidates must be a whole number"),
        ({"max_revisions": 21}, "max_revisions must be from 0 to 20"),
        (
            {"deadline": -1},
            "deadline must be from 0.001 seconds to 7 days, as in 30, '30 s' or INTERVAL 30 SECOND, not -1",
        ),
        ({"deadline": "soon"}, "deadline must be a length of time, in seconds or as in .*, not 'soon'"),
        ({"tables": []}, "tables must be a list of texts"),
        ({"tables": ["a", "a"]}, "tables holds 'a' more than once"),
        ({"grammar": "yes"}, "grammar must be true or false, not 'yes'"),
        ({"evidence": " "}, "evidence must be a text that is not empty"),
        ({"limits": "no"}, r"limits is 'none' or like \{'seconds': 10.0, .*, not 'no'"),
        ({"limits": {"hours": 1}}, r"limits is 'none' or like .*, not \{'hours': 1\}"),
        ({"limits": {"rows": 0}}, "limits: rows is a number above 0, or NULL for no limit, not 0"),
        ({"limits": {"seconds": True}}, "limits: seconds is a number above 0, .*, not True"),
        ({"candidate": 2}, "no option 'candidate'. Did you mean candidates?"),
    ],
)
def test_a_bad_value_says_what_is_allowed(given: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        options_of("text2sql", given)


def test_what_is_not_given_is_decided_by_the_effort() -> None:
    assert options_of("text2sql", {"effort": "thorough", "model": None}).work == EFFORTS["thorough"]
    given = Text2SqlOptions(effort="quick", candidates=4, max_revisions=0).work
    assert (given.num_candidates, given.max_revisions) == (4, 0)
    assert given.runs  # for only results can vote


def test_a_deadline_may_be_an_interval() -> None:
    assert Text2SqlOptions(deadline_s=timedelta(minutes=2)).deadline_s == 120  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, DEFAULT), ("none", NONE), ({}, DEFAULT), ({"rows": None}, DEFAULT._replace(rows=math.inf)),
        ({"seconds": Decimal("0.5"), "disk_mb": 7}, DEFAULT._replace(seconds=0.5, disk_mb=7)),
    ],
)  # fmt: skip
def test_limits_that_are_not_named_stay(given: Any, expected: StatementLimits) -> None:
    assert options_of("text2sql", {"limits": given}).held_to == expected
