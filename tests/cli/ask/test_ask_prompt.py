"""`relserve ask` at a terminal's prompt: keys, what is kept, and leaving."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from relserve.cli.ask.ask import typed_questions

CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"


class Terminal(io.StringIO):
    """Stands for a terminal where one is only asked for."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    return tmp_path


def asked(keys: str) -> list[str]:
    with (
        create_pipe_input() as pipe,
        create_app_session(input=pipe, output=DummyOutput()),
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in ("stdin", "stdout"):  # here: pytest puts its own in place for each test
            patch.setattr(sys, name, Terminal())
        pipe.send_text(keys)
        return list(typed_questions())


def test_lines_are_questions_until_ctrl_d(folder: Path) -> None:
    assert asked(f"How many?\r\r  By year? \r{CTRL_D}") == ["How many?", "By year?"]


def test_ctrl_c_clears_a_line_and_quit_leaves(folder: Path) -> None:
    assert asked(f"Wrong{CTRL_C}Right?\rQUIT\rToo late?\r") == ["Right?"]


def test_what_was_asked_is_there_the_next_time(folder: Path) -> None:
    asked(f"How many?\r{CTRL_D}")
    assert (folder / "ask_history").stat().st_mode & 0o077 == 0
    assert asked(f"{UP}\r{CTRL_D}") == ["How many?"]
