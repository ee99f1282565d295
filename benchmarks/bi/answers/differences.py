"""Where relserve may differ from PostgreSQL: each difference by name, narrow, and listed in docs/bi.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple


class Difference(NamedTuple):
    """One that is meant to be.

    Attributes:
        name: under which docs/bi.md explains it.
        checks: patterns "client/check" of those that it may touch.
        ours: what must stand in our answer, for the difference to be this one.
        rewritten: pairs of a pattern and a text, which make both answers equal where nothing else differs.
    """

    name: str
    checks: tuple[str, ...]
    ours: re.Pattern[str]
    rewritten: tuple[tuple[str, str], ...]

    def in_common(self, told: str) -> str:
        """An answer without this difference."""
        for pattern, text in self.rewritten:
            told = re.sub(pattern, text, told)
        return told


DIFFERENCES: tuple[Difference, ...] = ()


def differences_of(client: str, check: str) -> Iterator[Difference]:
    """Those that may touch this check."""
    for difference in DIFFERENCES:
        if any(fnmatchcase(f"{client}/{check}", pattern) for pattern in difference.checks):
            yield difference
