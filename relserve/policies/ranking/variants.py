"""Every ranking by name, and which one takes the fewest comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relserve.policies.ranking.matches import Course
from relserve.policies.ranking.quicksort import quicksort
from relserve.policies.ranking.tournament import num_finalists, tournament

VARIANTS: Mapping[str, Callable[[int, int], Course]] = {"tournament": tournament, "quicksort": quicksort}


def ranking(num_items: int, k: int) -> Course:
    """The first k items: by a tournament where its final is small beside it, else by quicksort."""
    final = num_finalists(num_items, k)
    is_small = final * (final - 1) <= num_items
    return VARIANTS["tournament" if is_small else "quicksort"](num_items, k)
