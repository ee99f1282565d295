"""How wide the screen is."""

from __future__ import annotations

import shutil
import sys

DEFAULT_WIDTH = 120  # characters, where nobody looks at a terminal


def screen_width() -> int:
    """Characters of a line: the terminal's where standard output is one."""
    if sys.stdout is None or not sys.stdout.isatty():
        return DEFAULT_WIDTH
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
