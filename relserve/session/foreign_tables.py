"""Whether a call or a question is about tables that the embedded models were not trained for; said once."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from relserve.call.hosted_names import START_HERE
from relserve.call.relquery import CallSite
from relserve.examples import TABLES
from relserve.session.history import History

NUM_ROWS = 32  # that are looked at
KNOWN_SHARE = 0.9  # of their words; of the shipped tables' rows nearly all, of real reviews at most 0.88
TEXT = (
    "'tiny', the default model, is trained for the shipped tables; on others its answers are poor. Name a "
    f"model: --model, RELSERVE_MODEL or relserve.connect(model=..); {START_HERE}"
)
TEXT_OF_QUESTIONS = (
    "'tiny-sql', the default model for questions, is small and trained for tables like the shipped ones; on "
    "others look at its SQL before you trust the rows, or name a model that writes SQL: --model, "
    f"RELSERVE_MODEL or model := '..'; {START_HERE}"
)

_WORD = re.compile(r"[^\W\d_]+")


class ForeignTables:
    """Says, once for those who share a history, that the default model is asked about other tables.

    A statement is judged by its first call: later ones may be about answers of this one.

    Args:
        say: tells a line to the person who waits.
    """

    def __init__(self, say: Callable[[str], None], history: History) -> None:
        self._say, self._history = say, history
        self._judged = 0  # the statement that was looked at

    def look(self, site: CallSite, rows: Sequence[Sequence[Any]], statement: int) -> None:
        """Look at the rows that a call is about to ask."""
        if site.options.model is not None or statement == self._judged:
            return
        self._judged = statement
        if are_foreign(site.binding.template.text, rows) and self._history.is_first(TEXT):
            self._say(TEXT)

    def look_at_tables(self, tables: Mapping[str, Collection[str]]) -> None:
        """Look at the tables that the default model for questions is asked about, with their columns."""
        shipped = _shipped_columns()
        is_foreign = any(frozenset(columns) != shipped.get(name) for name, columns in tables.items())
        if is_foreign and self._history.is_first(TEXT_OF_QUESTIONS):
            self._say(TEXT_OF_QUESTIONS)


def are_foreign(template: str, rows: Sequence[Sequence[Any]]) -> bool:
    """Whether words of these inputs, or of a prompt without inputs, are none of the shipped tables'.

    Inputs without a word tell nothing.
    """
    first = list(islice(rows, NUM_ROWS))
    words = list(_words(first)) if any(first) else _WORD.findall(template.casefold())
    return bool(words) and sum(word in _known_words() for word in words) < KNOWN_SHARE * len(words)


def _words(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    for row in rows:
        for value in row:
            if value is not None:
                yield from _WORD.findall(str(value).casefold())


@functools.cache
def _shipped_columns() -> dict[str, frozenset[str]]:
    """The columns of the shipped tables, as the first line of each file names them."""
    heads = {name: path.read_text(encoding="utf-8").partition("\n")[0] for name, path in TABLES.items()}
    return {name: frozenset(head.split(",")) for name, head in heads.items()}


@functools.cache
def _known_words() -> frozenset[str]:
    """Every word of the shipped tables, their columns' names included."""
    return frozenset(
        word
        for path in TABLES.values()
        for word in _WORD.findall(path.read_text(encoding="utf-8").casefold())
    )
