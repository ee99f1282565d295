"""What clients send stands in the server's log as a part of one line."""

from __future__ import annotations

import logging
import sys

import pytest

from relserve.server.log_lines import MOST, WINDOW_S, FewOfEach, OneLine, plain


def formatted(message: str, *args: object, error: Exception | None = None) -> str:
    info = None
    if error is not None:
        try:
            raise error
        except Exception:
            info = sys.exc_info()
    return OneLine().format(logging.LogRecord("relserve", logging.WARNING, "f.py", 1, message, args, info))


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("a\n2027-01-01 00:00:00 relserve: all is well", r"a\n2027-01-01 00:00:00 relserve: all is well"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"), ("\r\v\f\x00\x7f", r"\r\x0b\x0c\x00\x7f"),
        ("\x85\x9b31m", r"\x85\x9b31m"), ("\u2028\u2029", r"\u2028\u2029"),
        ("\u202ecod.exe\u2066", r"\u202ecod.exe\u2066"), ("\ud800", r"\ud800"),
        ("grüße, 你好 🙂 \\n", "grüße, 你好 🙂 \\n"),
    ],
)  # fmt: skip
def test_no_character_ends_the_line_or_moves_the_cursor(sent: str, shown: str) -> None:
    assert formatted("refused at %s: %s", "::1", sent).endswith(f" relserve: refused at ::1: {shown}")
    assert plain(sent) == shown


def test_a_traceback_begins_no_line_of_the_log() -> None:
    error = ValueError("x\n2027-01-01 relserve: all is well\x1b[2J")
    first, *below = formatted("failed", error=error).split("\n")
    assert first.endswith(" relserve: failed")
    assert below
    assert all(line.startswith("    ") for line in below)
    assert r"\x1b[2J" in below[-1]


def test_what_is_said_on_and_on_is_left_out_for_a_while() -> None:
    now = 0.0
    few, lines = FewOfEach(lambda: now), list[str]()

    def say(place: int, message: str = "refused: %s") -> None:
        record = logging.LogRecord("relserve", logging.WARNING, "f.py", place, message, ("x",), None)
        if few.filter(record):
            lines.append(record.getMessage())

    for _ in range(MOST + 50):
        say(1)
    say(2, "something else: %s")
    assert len(lines) == MOST + 1
    assert lines[-2:] == [
        "refused: x (more lines like this are left out for 60 s)", "something else: x",
    ]  # fmt: skip
    now = WINDOW_S
    say(1)
    say(1)
    assert lines[-2:] == ["refused: x (50 more lines like this were left out)", "refused: x"]
