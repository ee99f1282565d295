"""Where results go, and how: the mode, a file or the screen, a pager for what is longer than the screen."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import pyarrow as pa
from rich.console import Console, RenderableType
from rich.pager import SystemPager

from relserve.cli.console import console
from relserve.cli.formats import Format
from relserve.cli.output import EXPLAINED, MAX_ROWS, print_table, write
from relserve.errors import UsageError

PAGED_ROWS = 1000  # of a table that a pager shows
HINT = ".mode line shows all, .maxrows N more rows"


class Display:
    """What the dot commands set about results, and the one place that writes them.

    Attributes:
        mode: the format of results.
        timer: tell how long each statement took.
        pager: show what is longer than the screen in a pager.
        max_rows: rows of a table that are shown; None: MAX_ROWS, PAGED_ROWS in a pager.
    """

    def __init__(self, mode: Format = Format.table, pager: bool = False) -> None:
        self.mode, self.pager = mode, pager
        self.timer = False
        self.max_rows: int | None = None
        self._file: TextIO | None = None

    def redirect(self, path: Path | None) -> None:
        """Write results to a new file from now on, or to the screen again.

        Raises:
            UsageError: the file cannot be written.
        """
        self.close()
        if path is not None:
            try:
                self._file = path.open("w", encoding="utf-8", newline="")
            except OSError as error:
                raise UsageError(f"cannot write {path}: {error.strerror}") from error

    def close(self) -> None:
        """End a redirection."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def show(self, table: pa.Table) -> None:
        """A result.

        Raises:
            UsageError: the file that results go to cannot be written any more; they go to the screen then.
        """
        is_table = self.mode is Format.table or table.column_names == EXPLAINED
        if not self._pages:
            with self._writing() as out:
                if is_table:
                    self._print(console(file=out), table, MAX_ROWS)
                else:
                    write(table, self.mode, out)
        elif is_table:
            screen = console()
            with screen.capture() as shown:
                self._print(screen, table, PAGED_ROWS)
            self._page(shown.get())
        else:
            kept = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
            write(table, self.mode, kept)
            kept.seek(0)
            self._page(kept.read())

    def say(self, what: RenderableType) -> None:
        """Something other than a result: help, a setting, the text of a view; raises as `show`."""
        screen = console(file=self._file)
        with screen.capture() as shown:
            screen.print(what, soft_wrap=True)
        if self._pages:
            self._page(shown.get())
        else:
            with self._writing() as out:
                out.write(shown.get())

    @contextmanager
    def _writing(self) -> Iterator[TextIO]:
        file = self._file
        try:
            yield file or sys.stdout
            (file or sys.stdout).flush()
        except OSError as error:
            if file is None:
                raise
            self._file = None
            with suppress(OSError):
                file.close()
            reason = f"cannot write {file.name}: {error.strerror}"
            raise UsageError(f"{reason}; results go to the screen again") from error

    @property
    def _pages(self) -> bool:
        return self.pager and self._file is None and sys.stdout.isatty()

    def _print(self, screen: Console, table: pa.Table, num_rows: int) -> None:
        num_rows = num_rows if self.max_rows is None else self.max_rows
        print_table(screen, table, num_rows, HINT)

    def _page(self, text: str) -> None:
        if text.count("\n") < console().height:
            sys.stdout.write(text)
        else:
            os.environ.setdefault("LESS", "RSX")  # colours; long lines scroll; what was seen stays
            SystemPager().show(text)
