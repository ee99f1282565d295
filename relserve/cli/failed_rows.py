"""What a command tells of the rows that failed, and what it leaves for the command that follows."""

from __future__ import annotations

import re
import sqlite3
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from relserve.cache.kept_errors import KeptError, keep_errors, read_errors
from relserve.cli.console import console
from relserve.errors import Failure, RowsFailedWarning
from relserve.session.failures_text import WORDS
from relserve.session.history import ErrorRecord, History
from relserve.settings import Settings, load

if TYPE_CHECKING:
    import pyarrow as pa

FIRST = 3  # failures that a command tells of itself, where somebody looks
SHOWN = 60  # characters of a prompt in such a line
HOW = "`relserve sql --errors` says why"
ANEW = "--errors says why"
_NUMBER = re.compile(r"see llm_errors\(\), statement \d++$")


def followable(message: str) -> str:
    """A warning's line with the command that shows the failures: llm_errors() ends with this process."""
    return _NUMBER.sub(lambda _: HOW if _keeps(load()) else ANEW, message)


@contextmanager
def kept_for_the_next(history: History) -> Iterator[None]:
    """A command runs inside; what failed in it is told on a terminal, and kept."""
    before, show = len(history.errors()), warnings.showwarning

    def show_followable(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        is_ours = issubclass(category, RowsFailedWarning)
        show(followable(str(message)) if is_ours else message, category, *where, **more)

    warnings.showwarning = show_followable
    try:
        yield
    finally:
        warnings.showwarning = show
        errors = history.errors()[before:]
        if errors and sys.stderr is not None and sys.stderr.isatty():
            _tell_first(errors)
        if errors and _keeps(settings := load()):
            try:
                keep_errors(settings.cache_dir, [_kept(e) for e in errors], settings.keep_error_texts)
            except (sqlite3.Error, OSError) as error:
                sys.stderr.write(f"relserve: failed rows are not kept for --errors: {error}\n")


def recall(history: History) -> bool:
    """Put the failures of earlier commands on record, whose statements are 0 (the latest), -1 and so on.

    Returns:
        Whether there are any.
    """
    kept = read_errors(load().cache_dir)
    for e in sorted(kept, key=lambda each: each.command):
        at = datetime.fromtimestamp(e.at, timezone.utc)
        failure = Failure(e.kind, e.message)
        history.fail(ErrorRecord(e.rel_id, e.function, failure, e.prompt or "", e.rows, e.command, at))
    return bool(kept)


def table(history: History, statement: int | None = None) -> pa.Table:
    """The main columns of llm_errors(), of one statement or of all; without prompts where none were kept."""
    import pyarrow as pa

    rows = [row for row in history.error_rows() if statement in (None, row["statement"])]
    names = ["function", "kind", "message", "prompt", "rows", "failed_at"]
    if not any(row["prompt"] for row in rows):
        names.remove("prompt")
    return pa.Table.from_pylist([{name: row[name] for name in names} for row in rows])


def _keeps(settings: Settings) -> bool:
    return settings.answer_cache_mb > 0


def _tell_first(errors: Sequence[ErrorRecord]) -> None:
    screen = console(stderr=True)
    for e in errors[:FIRST]:
        prompt = " ".join(e.prompt.split())
        shown = prompt if len(prompt) <= SHOWN else prompt[: SHOWN - 2] + ".."
        kind = WORDS.get(e.failure.kind, e.failure.kind.replace("_", " "))
        line = f"  {e.function}() {kind}: {e.failure.message} [prompt: {shown!r}]"
        screen.print(line, style="dim", soft_wrap=True)
    if len(errors) > FIRST:
        screen.print(f"  and {len(errors) - FIRST:,} more", style="dim")


def _kept(e: ErrorRecord) -> KeptError:
    failure = e.failure
    return KeptError(
        e.rel_id, e.function, failure.kind, failure.message, e.prompt, e.num_rows, e.at.timestamp()
    )
