"""A wall clock that somebody sets while things are under way."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import pytest

DAY_S = 86_400.0


def jump(monkeypatch: pytest.MonkeyPatch, offsets_s: Sequence[float]) -> None:
    """From now on the wall clock is wrong by the next of these offsets each time that it is looked at."""
    right, wrong_by = time.time, itertools.cycle(offsets_s)
    monkeypatch.setattr(time, "time", lambda: right() + next(wrong_by))
