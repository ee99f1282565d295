"""The one table of names."""

from __future__ import annotations

import re

import pytest

from relserve.policies.admission import variants as admission
from relserve.policies.budget import variants as budget
from relserve.policies.caching import variants as caching
from relserve.policies.registry import Registry
from relserve.policies.scheduling import variants as scheduling

SIZES: Registry[str] = Registry(
    "size", {"small": lambda name: name, "large": str.upper}, {"just": lambda name, number: f"{number} m"}
)


def test_a_name_makes_what_was_declared_under_it() -> None:
    assert [SIZES.make(name) for name in (*SIZES.names, "just-40")] == ["small", "LARGE", "40 m"]


@pytest.mark.parametrize(
    "name", ["", "medium", "Small", "just", "just-0", "just-x", "small-3", None, 4, ["small"]]
)
def test_an_unknown_name_raises_and_the_message_lists_those_that_there_are(name: object) -> None:
    assert name not in SIZES
    with pytest.raises(ValueError, match=re.escape(f"no size {name!r}; there are: small, large, any just-N")):
        SIZES.make(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("room", [admission, budget, caching, scheduling], ids=lambda room: room.__name__)
def test_every_kind_of_policy_lists_its_names_in_the_same_words(room: object) -> None:
    """Whoever mistypes a name sees all of them, and each of them makes a policy that has it."""
    assert [room.make(name).name for name in room.NAMES] == list(room.NAMES)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=re.escape(f"'fifo'; there are: {', '.join(room.NAMES)}")):  # type: ignore[attr-defined]
        room.make("fifo")  # type: ignore[attr-defined]
