"""The statements of the llm checks, as the files of tables/ name them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

TABLES = Path(__file__).parent.parent / "tables"
NAMED = re.compile(r"-- name: (\w+)\n(?:-- with: ([^\n]*)\n)?(.*?);\n", re.DOTALL)
VALUE = re.compile(r"'([^']*)'|(\d+)")

# A statement that makes a view with an llm call in it.
VIEW = (TABLES / "llm_view.sql").read_text(encoding="utf-8")


class Statement(NamedTuple):
    """One statement and the values of its parameters."""

    name: str
    text: str
    values: tuple[str | int, ...] = ()


def statements(file: str) -> list[Statement]:
    """Those of a file in tables/."""
    found = NAMED.findall((TABLES / file).read_text(encoding="utf-8"))
    return [Statement(name, text, _values(values)) for name, values, text in found]


def _values(text: str) -> tuple[str | int, ...]:
    return tuple(word or int(number) for word, number in VALUE.findall(text))


CALLS = statements("llm_calls.sql")
PREPARED = statements("llm_prepared.sql")
EXPLAINED = [each for each in CALLS if each.name in ("llm", "filter", "agg", "nested")]
