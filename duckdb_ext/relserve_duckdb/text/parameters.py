"""The parameters in a text: where they stand, and the text with other forms of them.

sqlglot takes `$1,$` of `$1,$2` for the beginning of a quoted text (seen in 30.0), so parameters are found
here, and it is given texts that it can read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from relserve_duckdb.text.lexical import COMMENT, DOLLARS, ESCAPED, LINE_COMMENT, NAME, OPEN_COMMENT, STRING

_TOKENS = re.compile(
    rf"(?s){ESCAPED}|{STRING}|{NAME}|{DOLLARS}|{LINE_COMMENT}|{COMMENT}|{OPEN_COMMENT}"
    r"|\w[\w$]*+|\$(?P<name>\w++)|\?(?P<number>\d*+)"
)


class ParameterPlace(NamedTuple):
    """A parameter in a text: from where to where, and its name, which is a number for $1 and ?."""

    start: int
    end: int
    name: str


def find_parameters(text: str) -> list[ParameterPlace]:
    """The parameters of a text, in its order; the first ? is called 1."""
    if "$" not in text and "?" not in text:
        return []
    found: list[ParameterPlace] = []
    num_marks = 0
    for match in _TOKENS.finditer(text):
        name = match["name"] or match["number"]
        if name is None:
            continue
        num_marks += name == ""
        found.append(ParameterPlace(match.start(), match.end(), name or str(num_marks)))
    return found


def with_parameters(text: str, places: Sequence[ParameterPlace], forms: Mapping[str, str]) -> str:
    """The text with other forms of its parameters; `{}` in a form is the parameter as it is written."""
    parts, done = [], 0
    for place in places:
        form = forms.get(place.name, "{}")
        parts += [text[done : place.start], form.replace("{}", text[place.start : place.end])]
        done = place.end
    return "".join([*parts, text[done:]])


def spaced(text: str) -> str:
    """The text with a space behind each parameter, so that sqlglot can read it."""
    places = find_parameters(text)
    return with_parameters(text, places, {place.name: "{} " for place in places})


def numbered(text: str) -> str:
    """The same with `$1` for the first `?`."""
    places = find_parameters(text)
    return with_parameters(text, places, {place.name: f"${place.name} " for place in places})


def masked(text: str) -> str:
    """A text of the same length that sqlglot can take apart: `$1` is `_1`, a name."""
    dollars = [place.start for place in find_parameters(text) if text[place.start] == "$"]
    return "_".join(text[last + 1 : each] for last, each in pairwise([-1, *dollars, len(text)]))
