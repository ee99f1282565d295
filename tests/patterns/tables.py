"""Patterns that stand in tables of the tree, so that the calls of `re` do not tell them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from relserve.call.hosted_names import HOSTS
from relserve.call.schema import leaves
from relserve.server.client import variables
from relserve.server.wire import sqlstates
from tests.patterns.collected import Pattern
from training.tiny.corpus import rows

# The call of `re` that uses each table, and how.
_TABLES: Mapping[str, tuple[str, int, list[str]]] = {
    "relserve/call/schema/leaves.py": ("fullmatch", re.ASCII, [c.reads for c in leaves._CLOCKS.values()]),
    "relserve/server/client/variables.py": ("fullmatch", 0, [text for text, _ in variables._ONLY.values()]),
    "relserve/server/wire/sqlstates.py": (
        "search",
        re.DOTALL,
        [text for rules in (*sqlstates._BY_WORDS.values(), sqlstates._EXISTS_ALREADY) for text, _ in rules],
    ),
    "relserve/server/wire/copy_fields.py": ("search", re.DOTALL, [re.escape(each) for each in "\"'\\,|"]),
    "relserve/text2sql/prompts/replies.py": ("finditer", 0, [r"\[", r"\{"]),
    "relserve/call/hosted_names.py": ("match", re.IGNORECASE, [host.own for host in HOSTS if host.own]),
    "training/tiny/corpus/drills.py": ("search", re.IGNORECASE, list(rows.MENTIONS.values())),
    "training/tiny/corpus/rows.py": ("findall", re.IGNORECASE, list(rows.MENTIONS.values())),
}
FILES = frozenset(_TABLES)


def in_tables() -> Iterator[Pattern]:
    """Each as the call uses it."""
    for place, (method, flags, texts) in _TABLES.items():
        for text in texts:
            yield Pattern(place, text, flags, (method,))
