"""The line that moves while nothing can be counted."""

import io
import sys

import pytest

from relserve.session import progress
from relserve.session.history import QueryRecord
from relserve.session.waiting_line import loading_line, waiting_line
from tests.waiting import wait_until


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_it_moves_on_a_terminal_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with waiting_line("loading", 0.0):
        wait_until(lambda: "⠙ loading, " in terminal.getvalue())
    assert terminal.getvalue().split("\r")[-2].isspace()  # the last line was blanked


def test_a_command_says_at_once_that_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with loading_line("loading"):
        assert terminal.getvalue() == "loading ..."
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_without_a_terminal_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := io.StringIO())
    with loading_line("loading"), waiting_line("loading", 0.0) as end:
        end()
    assert screen.getvalue() == ""


def test_a_relquery_tells_that_it_waits_until_its_first_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress.bar(None) as update:
        wait_until(lambda: "waiting for the first answer" in terminal.getvalue())
        assert update is not None
        update(QueryRecord("r", "llm", "{}", "scripted", 2, num_distinct=2, num_done=1))
        told = len(terminal.getvalue())
    assert "waiting" not in terminal.getvalue()[told:]
