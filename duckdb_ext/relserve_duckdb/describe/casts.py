"""Casts around the parameters of a text, or in their place, and the names of columns without them."""

from __future__ import annotations

from collections.abc import Iterable


def cast(kind: str) -> str:
    """The form of a parameter whose type is said."""
    return f"CAST({{}} AS {kind})"


def null(parameter: str, kind: str) -> str:
    """A NULL of a type in place of a parameter, which can be told from others in the name of a column."""
    return f"CAST(system.main.nullif('${parameter}', '${parameter}') AS {kind})"


def without_casts(name: str, parameters: Iterable[str]) -> str:
    """A column's name, which DuckDB makes of its expression, with these parameters as they were."""
    for parameter in parameters:
        own = f"${parameter}"
        for written in (own, f'"system".main."nullif"(\'{own}\', \'{own}\')'):
            name = _without(name, f"CAST({written} AS ", own)
    return name


def _without(name: str, head: str, own: str) -> str:
    start = 0
    while (start := name.find(head, start)) >= 0:
        end = _closing(name, start + len("CAST"))
        name = f"{name[:start]}{own}{name[end:]}"
        start += 1
    return name


def _closing(text: str, opening: int) -> int:
    """The place behind the bracket that closes the one at `opening`."""
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    return len(text)
