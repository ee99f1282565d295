"""The scheduler's settings: which guard is on."""

from __future__ import annotations

import pytest

from relserve.errors import UsageError
from relserve.vllm_plugin.settings import SchedulerSettings, read


def test_the_papers_guard_replaces_ours() -> None:
    assert read({}).patience == SchedulerSettings().patience > 0
    settings = read({"relserve": {"starvation_s": 10.0}})
    assert (settings.starvation_s, settings.patience) == (10.0, 0.0)


def test_both_guards_are_refused() -> None:
    with pytest.raises(UsageError, match="leave one of them out"):
        read({"relserve": {"starvation_s": 10.0, "patience": 2.0}})
