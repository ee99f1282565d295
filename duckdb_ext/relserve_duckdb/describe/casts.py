"""Casts around the parameters of a text, or in their place, and the names of columns without them."""

from __future__ import annotations

import re
from collections.abc import Container

_HEAD = re.compile(  # the second is DuckDB's writing of `null`
    r"""CAST\((?:\$(\w++)|"system"\."main"\."nullif"\('\$(\w++)', '\$\w++'\)) AS """
)


def cast(kind: str) -> str:
    """The form of a parameter whose type is said."""
    return f"CAST({{}} AS {kind})"


def null(parameter: str, kind: str) -> str:
    """A NULL of a type in place of a parameter, which can be told from others in the name of a column."""
    return f"CAST(system.main.nullif('${parameter}', '${parameter}') AS {kind})"


def without_casts(name: str, parameters: Container[str]) -> str:
    """A column's name, which DuckDB makes of its expression, with these parameters as they were."""
    at, head = 0, _HEAD.search(name)
    while head is not None:
        parameter = head[1] or head[2]
        if parameter in parameters:
            end = _closing(name, head.start() + len("CAST"))
            name = f"{name[: head.start()]}${parameter}{name[end:]}"
        at = head.start() + 1
        head = _HEAD.search(name, at)
    return name


def _closing(text: str, opening: int) -> int:
    """The place behind the bracket that closes the one at `opening`."""
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    return len(text)
