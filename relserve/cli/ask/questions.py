"""Questions that somebody types, or that a script writes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TypeAlias

from relserve.settings import load

PROMPT = "ask> "
HINT = "Ask in plain words; a question may go on from those before. Ctrl-D leaves."
LEAVE = ("exit", "quit")

Questions: TypeAlias = Iterator[str]


def typed_questions() -> Questions:
    """What is typed at a prompt on a terminal; else the lines of stdin. Blank ones are left out."""
    lines = _from_prompt() if sys.stdin.isatty() and sys.stdout.isatty() else sys.stdin
    for line in lines:
        if question := line.strip():
            if question.lower() in LEAVE:
                return
            yield question


def _from_prompt() -> Questions:
    """Lines typed at a prompt that keeps them; Ctrl-C clears one, Ctrl-D leaves."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.patch_stdout import patch_stdout

    from relserve.cli.shell.history import open_history

    history = open_history(load().cache_dir, "ask_history")
    session: PromptSession[str] = PromptSession(
        PROMPT, history=history, auto_suggest=AutoSuggestFromHistory()
    )
    sys.stderr.write(HINT + "\n")
    while True:
        try:
            with patch_stdout(raw=True):
                yield session.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
