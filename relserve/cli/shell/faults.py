"""Errors as the shell tells them: where DuckDB or relserve knows the place, with a caret under it."""

from __future__ import annotations

import re
import sys
import traceback

import duckdb
from rich.text import Text

from relserve.cli.console import console
from relserve.errors import RelserveError

_KIND = re.compile(r"\A[A-Z][\w ]* Error:")
_FIRST_LINE = re.compile(r"\A.*")
_CARETS = re.compile(r"(?m)^ *\^+ *$")


def text_of(error: BaseException) -> str:
    """The message, and where in which script it arose. Of errors nobody foresaw, the traceback."""
    if isinstance(error, (RelserveError, duckdb.Error)):
        return "\n".join([str(error), *getattr(error, "__notes__", ())])
    return "".join(traceback.format_exception(error)).rstrip()


def tell(error: BaseException) -> None:
    """Write an error to stderr; on a terminal its first words and its carets are red."""
    text = text_of(error)
    has_place = _CARETS.search(text) is not None  # which a broken line would move
    console(stderr=True).print(highlighted(text), soft_wrap=has_place)
    sys.stderr.flush()


def highlighted(text: str) -> Text:
    """A message with what to look at first in colour: what kind of error, and the caret's line."""
    shown = Text(text)
    if not shown.highlight_regex(_KIND, "bold red"):
        shown.highlight_regex(_FIRST_LINE, "red")
    shown.highlight_regex(_CARETS, "bold red")
    return shown
